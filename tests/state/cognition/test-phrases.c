#include "cognition/phrases.h"

#include <criterion/criterion.h>

// C-8: values of a text with their types; number words are digits
Test(phrases, values) {
        static const struct {
                const char *text, *type, *id;
        } rows[] = {
                {"I want it at 3 pm.", "time", "3 pm"},
                {"around half past 6 in the evening", "time", "half past 6 in the evening"},
                {"morning 11", "time", "morning 11"},
                {"at 14:30", "time", "14:30"},
                {"It is past 15:30.", "time", "15:30"},
                {"Please page Maria Lopez.", "name", "Maria Lopez"},
                {"11:30 in the morning", "time", "11:30 in the morning"},
                {"quarter to nine", "time", "quarter to nine"},
                {"at noon", "time", "noon"},
                {"at 10am", "time", "10am"},
                {"on March 7th", "date", "March 7th"},
                {"on the 9th of March", "date", "9th of March"},
                {"the 7th", "date", "the 7th"},
                {"7th of this month", "date", "7th of this month"},
                {"this Saturday", "date", "this Saturday"},
                {"Wednesday next week", "date", "Wednesday next week"},
                {"later today", "date", "later today"},
                {"the day after tomorrow", "date", "day after tomorrow"},
                {"on 2026-11-21", "date", "2026-11-21"},
                {"until the 10th", "until", "the 10th"},
                {"return it this Friday", "until", "this Friday"},
                {"it costs $3,550", "money", "$3,550"},
                {"for 500 dollars", "money", "500 dollars"},
                {"I need three bed rooms", "count", "3 bed rooms"},
                {"four tickets please", "count", "4 tickets"},
                {"for three days", "count", "three days"},
                {"from Concord", "from", "Concord"},
                {"to San Diego", "to", "San Diego"},
                {"in Long Beach, CA", "place", "Long Beach CA"},
                {"in san jose", "place", "san jose"},
                {"I like Girl In Red", "name", "Girl In Red"},
                {"a moderate italian restaurant", "thing", "moderate italian restaurant"},
                {"the cheapest business round trip", "thing", "cheapest business round trip"},
                {"padres vs brewers", "thing", "padres vs brewers"},
                {"call 925-671-3845", "code", "925-671-3845"},
                {"reservation EHGLP3", "thing", "reservation EHGLP3"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows) - 1; i++) {
                _cleanup_phrase_text_ PhraseText t = {0};
                size_t at = 0;
                PhraseValue v;

                cr_assert_eq(phrase_read(rows[i].text, strlen(rows[i].text), &t), 0);
                if (!phrase_value(&t, &at, t.n, &v)) {
                        cr_expect(false, "%s: no value", rows[i].text);
                        continue;
                }
                cr_expect(strcmp(phrase_type_name(v.type), rows[i].type) == 0 && strcmp(v.id, rows[i].id) == 0,
                          "%s: %s(%s)", rows[i].text, phrase_type_name(v.type), v.id);
        }
}

// C-8: aliases are one value
Test(phrases, same) {
        static const struct {
                const char *a, *b;
                bool same;
        } rows[] = {
                {"9th of March", "March 9th", true},
                {"the 9th", "March 9th", true},
                {"March 9th", "March 8th", false},
                {"half past 6 in the evening", "6:30 pm", true},
                {"morning 11", "11 am", true},
                {"14:30", "2:30 pm", true},
                {"3 pm", "3 am", false},
                {"11:30 am", "11 am", false},
                {"SD", "San Diego", true},
                {"NYC", "New York", true},
                {"LA", "Los Angeles", true},
                {"Sacramento, CA", "Sacramento", true},
                {"Fremont", "Fremont BART Station", false},
                {"Concord", "concord", true},
                {"Portland", "Seattle", false},
                {"2 tickets", "3 tickets", false},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                cr_expect_eq(phrase_same(rows[i].a, rows[i].b), rows[i].same, "%s, %s", rows[i].a, rows[i].b);
                cr_expect_eq(phrase_same(rows[i].b, rows[i].a), rows[i].same, "%s, %s", rows[i].b, rows[i].a);
        }
}
