/* Runs: supervisor, CLI. Typed values in a text. */
#include "cognition/phrases.h"

#include "base/ascii.h"

static const char *const phrase_type_names[PHRASE_TYPES] = {
        [PHRASE_DATE] = "date",   [PHRASE_UNTIL] = "until", [PHRASE_TIME] = "time", [PHRASE_MONEY] = "money",
        [PHRASE_COUNT] = "count", [PHRASE_FROM] = "from",   [PHRASE_TO] = "to",     [PHRASE_PLACE] = "place",
        [PHRASE_NAME] = "name",   [PHRASE_THING] = "thing", [PHRASE_CODE] = "code",
};

const char *phrase_type_name(PhraseType t) {
        return phrase_type_names[t];
}

PhraseType phrase_type_of(const char *name, size_t n) {
        size_t i = 0;

        while (i < PHRASE_TYPES && (phrase_type_names[i][0] != name[0] || strncmp(phrase_type_names[i], name, n) != 0 ||
                                    phrase_type_names[i][n] != '\0'))
                i++;
        return (PhraseType)i;
}

/* A cursor in a text: words of [at, end). Outside of the range stands an empty word without class. */
typedef struct PhraseScan {
        const PhraseText *t;
        size_t end;
} PhraseScan;

static const PhraseWord *phrase_at(const PhraseScan *s, size_t i) {
        static const PhraseWord none = {.gap = 2};

        return i < s->end ? &s->t->word[i] : &none;
}

static bool phrase_says(const PhraseScan *s, size_t i, const char *word) {
        const PhraseWord *w = phrase_at(s, i);

        return i < s->end && s->t->low[w->at] == word[0] && strlen(word) == w->n &&
               memcmp(s->t->low + w->at, word, w->n) == 0;
}

static bool phrase_class_at(const PhraseScan *s, size_t i, uint32_t class) {
        return phrase_at(s, i)->class & class;
}

/* The digits at the beginning of the word; 0: no digit. */
static unsigned phrase_digits(const PhraseScan *s, size_t i, size_t *ret_n) {
        const PhraseWord *w = phrase_at(s, i);
        unsigned v = 0;
        size_t n = 0;

        for (; i < s->end && n < w->n && n < 6 && ascii_digit(s->t->low[w->at + n]); n++)
                v = 10 * v + (unsigned)(s->t->low[w->at + n] - '0');
        *ret_n = n;
        return v;
}

/* "3rd": 3. 0: no ordinal. */
static unsigned phrase_ordinal(const PhraseScan *s, size_t i) {
        const PhraseWord *w = phrase_at(s, i);
        size_t n;
        unsigned v = phrase_digits(s, i, &n);
        const char *tail = s->t->low + w->at + n;

        if (n == 0 || n > 2 || w->n != n + 2 || v > 31)
                return 0;
        return memcmp(tail, "st", 2) == 0 || memcmp(tail, "nd", 2) == 0 || memcmp(tail, "rd", 2) == 0 ||
                               memcmp(tail, "th", 2) == 0
                       ? v
                       : 0;
}

/* "14": a whole number of one or two digits. */
static bool phrase_short_number(const PhraseScan *s, size_t i, unsigned *ret) {
        size_t n;

        *ret = phrase_digits(s, i, &n);
        return n > 0 && n <= 2 && n == phrase_at(s, i)->n;
}

static size_t phrase_of_month(const PhraseScan *s, size_t i) {
        if (phrase_says(s, i, "of") && phrase_class_at(s, i + 1, PW_THIS) && phrase_says(s, i + 2, "month"))
                return i + 3;
        if (phrase_class_at(s, i, PW_THIS) && phrase_says(s, i + 1, "month"))
                return i + 2;
        return i;
}

static size_t phrase_year(const PhraseScan *s, size_t i) {
        size_t at = i + phrase_says(s, i, ","), n;
        unsigned y = phrase_digits(s, at, &n);

        return n == 4 && phrase_at(s, at)->n == 4 && y >= 1900 && y < 2200 ? at + 1 : i;
}

static size_t phrase_date(const PhraseScan *s, size_t i) {
        const PhraseWord *w = phrase_at(s, i);
        const char *low = s->t->low + w->at;
        size_t at = i;
        unsigned v;

        if (phrase_class_at(s, i, PW_MONTH)) {
                at = i + 1 + phrase_says(s, i + 1, "the");
                if (phrase_ordinal(s, at) || (phrase_short_number(s, at, &v) && v >= 1 && v <= 31))
                        return phrase_year(s, at + 1);
                return i;
        }
        if (phrase_says(s, i, "the") && phrase_ordinal(s, i + 1) && phrase_of_month(s, i + 2) == i + 2 &&
            !(phrase_says(s, i + 2, "of") && phrase_class_at(s, i + 3, PW_MONTH)) &&
            !phrase_class_at(s, i + 2, PW_MONTH))
                return i + 2;
        if (phrase_ordinal(s, i)) {
                at = i + 1 + (phrase_says(s, i + 1, "of") && phrase_class_at(s, i + 2, PW_MONTH));
                return phrase_class_at(s, at, PW_MONTH) ? phrase_year(s, at + 1) : phrase_of_month(s, i + 1);
        }
        if (phrase_short_number(s, i, &v) && phrase_class_at(s, i + 1, PW_MONTH) && !phrase_says(s, i + 1, "may"))
                return phrase_year(s, i + 2);
        if (w->n == 10 && low[4] == '-' && low[7] == '-' && w->digit)
                return i + 1;
        if (w->digit && w->n >= 3 && memchr(low, '/', w->n))
                return i + 1;
        at = i + phrase_class_at(s, i, PW_THIS);
        if (phrase_class_at(s, at, PW_DAY)) {
                at++;
                if (phrase_class_at(s, at, PW_THIS) && phrase_says(s, at + 1, "week"))
                        at += 2;
                return at;
        }
        if (phrase_class_at(s, i, PW_THIS) && !phrase_says(s, i, "following") &&
            (phrase_says(s, i + 1, "week") || phrase_says(s, i + 1, "month") || phrase_says(s, i + 1, "weekend") ||
             phrase_says(s, i + 1, "year")))
                return i + 2;
        if (phrase_says(s, i, "later") && phrase_says(s, i + 1, "today"))
                return i + 2;
        if (phrase_says(s, i, "day") && phrase_says(s, i + 1, "after") && phrase_says(s, i + 2, "tomorrow"))
                return i + 3;
        if (phrase_says(s, i, "today") || phrase_says(s, i, "tomorrow") || phrase_says(s, i, "tonight") ||
            phrase_says(s, i, "yesterday"))
                return i + 1;
        if (phrase_says(s, i, "in") && (phrase_class_at(s, i + 1, PW_NUMBER) || phrase_short_number(s, i + 1, &v)) &&
            (phrase_says(s, i + 2, "days") || phrase_says(s, i + 2, "weeks") || phrase_says(s, i + 2, "months")))
                return i + 3;
        return i;
}

/* "in the evening", "at night" behind a time. */
static size_t phrase_part(const PhraseScan *s, size_t i) {
        if (phrase_says(s, i, "in") && phrase_says(s, i + 1, "the") && phrase_class_at(s, i + 2, PW_PART))
                return i + 3;
        if (phrase_says(s, i, "at") && phrase_says(s, i + 1, "night"))
                return i + 2;
        return i;
}

static bool phrase_meridiem(const PhraseScan *s, size_t i) {
        return phrase_says(s, i, "am") || phrase_says(s, i, "pm") || phrase_says(s, i, "a.m.") ||
               phrase_says(s, i, "p.m.") || phrase_says(s, i, "a.m") || phrase_says(s, i, "p.m");
}

/* "14:30", "3": an hour, with minutes or without; *ret_clear: surely a time. */
static bool phrase_hour(const PhraseScan *s, size_t i, bool *ret_clear) {
        const PhraseWord *w = phrase_at(s, i);
        const char *low = s->t->low + w->at;
        size_t n;
        unsigned v = phrase_digits(s, i, &n);

        *ret_clear = false;
        if (n == 0 || n > 2 || v > 24)
                return phrase_class_at(s, i, PW_NUMBER);
        if (w->n == n)
                return true;
        *ret_clear = true;
        if (w->n == n + 2 && (memcmp(low + n, "am", 2) == 0 || memcmp(low + n, "pm", 2) == 0))
                return true;
        if (w->n < n + 3 || low[n] != ':' || !ascii_digit(low[n + 1]) || !ascii_digit(low[n + 2]))
                return false;
        return w->n == n + 3 ||
               (w->n == n + 5 && (memcmp(low + n + 3, "am", 2) == 0 || memcmp(low + n + 3, "pm", 2) == 0));
}

static size_t phrase_time(const PhraseScan *s, size_t i) {
        bool clear;

        if (phrase_says(s, i, "noon") || phrase_says(s, i, "midnight"))
                return i + 1;
        if ((phrase_says(s, i, "half") || phrase_says(s, i, "quarter")) &&
            (phrase_says(s, i + 1, "past") || phrase_says(s, i + 1, "to")) && phrase_hour(s, i + 2, &clear))
                return phrase_part(s, i + 3 + phrase_meridiem(s, i + 3));
        if (phrase_class_at(s, i, PW_PART) && phrase_hour(s, i + 1, &clear) &&
            !phrase_class_at(s, i + 2, PW_UNIT | PW_SPAN) && (clear || phrase_at(s, i + 1)->digit))
                return i + 2 + phrase_meridiem(s, i + 2);
        if (phrase_hour(s, i, &clear)) {
                if (phrase_meridiem(s, i + 1))
                        return phrase_part(s, i + 2);
                if (phrase_says(s, i + 1, "o'clock"))
                        return phrase_part(s, i + 2);
                if (phrase_part(s, i + 1) > i + 1)
                        return phrase_part(s, i + 1);
                if (clear)
                        return i + 1;
        }
        return i;
}

static size_t phrase_money(const PhraseScan *s, size_t i) {
        static const char *const units[] = {"dollars", "dollar", "usd", "bucks", "euros", "euro", "eur", "pounds", "cents",
                                            "gbp", "francs", "chf", "kroner", "kronor", "kr", "nok", "sek", "dkk", "yen",
                                            "jpy", "yuan", "cny", "rupees", "inr", "pesos", "zloty", "pln"};
        static const char *const signs[] = {"\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5"}; /* bytes of a word, as of letters */
        const PhraseWord *w = phrase_at(s, i);

        if (phrase_says(s, i, "$") && phrase_at(s, i + 1)->digit && !phrase_at(s, i + 1)->foreign)
                return i + 2;
        for (size_t k = 0; k < ARRAY_SIZE(signs) && i < s->end; k++) {
                size_t n = strlen(signs[k]);

                if (w->n < n || memcmp(s->t->low + w->at, signs[k], n) != 0)
                        continue;
                if (w->n > n ? ascii_digit(s->t->low[w->at + n]) : phrase_at(s, i + 1)->digit)
                        return i + 1 + (w->n == n);
        }
        if (!w->digit)
                return i;
        for (size_t k = 0; k < ARRAY_SIZE(units); k++)
                if (phrase_says(s, i + 1, units[k]))
                        return i + 2;
        return i;
}

/* A word of content, in lower case or in upper case. */
static bool phrase_content(const PhraseScan *s, size_t i) {
        const PhraseWord *w = phrase_at(s, i);

        if (i < s->end && !w->capital && w->letter) {
                const char *low = s->t->low + w->at, *mark = memchr(low, '\'', w->n);

                if (mark && phrase_class(low, (size_t)(mark - low), NULL) & PW_STOP)
                        return false; /* "you've" */
        }
        return i < s->end && w->letter && !(w->class & (PW_STOP | PW_DAY | PW_UNIT)) && !w->foreign &&
               (w->n > 1 || w->digit || w->capital);
}

/* "925-671-3845", "hat001", "evt-12": letters and digits in one word. */
static bool phrase_code(const PhraseScan *s, size_t i) {
        const PhraseWord *w = phrase_at(s, i);
        size_t digits = 0, letters = 0, dashes = 0;

        if (!w->letter || w->n < 4)
                return false;
        for (size_t k = 0; k < w->n; k++) {
                digits += ascii_digit(s->t->low[w->at + k]);
                letters += ascii_letter(s->t->low[w->at + k]);
                dashes += s->t->low[w->at + k] == '-';
        }
        return (digits >= 7 && dashes >= 1) || (digits > 0 && letters > 0 && digits + letters >= 4);
}

/* The end of a run of capitalised words that begins at i; i: none. */
static size_t phrase_name(const PhraseScan *s, size_t i) {
        const PhraseWord *w = phrase_at(s, i);
        bool upper = w->capital && w->n >= 2 && w->n <= 4 && !(w->class & (PW_QUESTION | PW_YES | PW_NO | PW_PLACE));
        size_t at = i + 1;

        for (size_t k = 0; k < w->n && upper; k++)
                upper = s->t->text[w->at + k] >= 'A' && s->t->text[w->at + k] <= 'Z';
        if (upper && w->class & PW_STOP && i + 1 < s->end && phrase_at(s, i + 1)->capital)
                upper = false; /* a text in capitals */
        if (!w->capital || !w->letter || w->foreign || w->class & (PW_DAY | PW_MONTH) ||
            (w->class & PW_STOP && !upper &&
             (w->begins || w->n == 1 || w->class & (PW_PART | PW_QUESTION | PW_YES | PW_NO))))
                return i;
        for (;;) {
                const PhraseWord *next = phrase_at(s, at);
                if (at - i >= 8 || at >= s->end || next->gap == 2)
                        break;
                if (phrase_says(s, at, ",") && phrase_at(s, at + 1)->capital && phrase_at(s, at + 1)->n == 2) {
                        at += 2; /* "Sacramento, CA" */
                        break;
                }
                if (next->letter && (next->capital || next->digit) && !next->begins &&
                    !(next->class & (PW_DAY | PW_MONTH)) && !(next->digit && next->n > 3 &&
                      (w->begins || next->n > 8 || !memchr(s->t->low + next->at, '.', next->n)))) {
                        at++;
                        continue;
                }
                if ((next->class & PW_JOIN || phrase_says(s, at, "&")) && phrase_at(s, at + 1)->capital &&
                    !(phrase_at(s, at + 1)->class & (PW_DAY | PW_MONTH)) && !(next->class & (PW_FROM | PW_TO)) &&
                    !phrase_says(s, at, "in") && !phrase_says(s, at, "at") && !phrase_says(s, at, "on") &&
                    !phrase_says(s, at, "and") && !phrase_says(s, at, "for")) {
                        at += 2;
                        continue;
                }
                break;
        }
        if (at == i + 1 && w->class & PW_STOP && !upper)
                return i;
        return at;
}

/* A run of words of content. */
static size_t phrase_thing(const PhraseScan *s, size_t i, size_t max) {
        size_t at = i;

        while (at - i < max && phrase_content(s, at) &&
               (at == i || (phrase_at(s, at)->gap == 1 && !phrase_at(s, at)->begins))) {
                at++;
                if (at - i < max &&
                    (phrase_says(s, at, "vs") || phrase_says(s, at, "versus") || phrase_says(s, at, "v") ||
                     phrase_says(s, at, "&")) &&
                    phrase_content(s, at + 1))
                        at++;
        }
        return at;
}

/* The words as said, sanitised: no brackets, commas or quotes, one blank between. */
static void phrase_id(const PhraseScan *s, size_t at, size_t end, bool digits, char *out) {
        size_t n = 0;

        for (size_t i = at; i < end; i++) {
                const PhraseWord *w = phrase_at(s, i);
                const char *c = s->t->text + w->at;
                char number[4];
                size_t n_c = w->n;

                if (!w->letter && *c != '$' && *c != '&' && *c != '#')
                        continue;
                if (digits && w->class & PW_NUMBER) {
                        c = number;
                        n_c = (size_t)snprintf(number, sizeof(number), "%u", w->number);
                } else if (*c == '&') {
                        c = "and";
                        n_c = 3;
                }
                if (n + n_c + 2 > PHRASE_ID_MAX)
                        break;
                if (n > 0 && out[n - 1] != '$' && out[n - 1] != '#' && (w->gap > 0 || !w->letter || i > at))
                        out[n++] = ' ';
                memcpy(out + n, c, n_c);
                n += n_c;
        }
        out[n] = '\0';
}

/* The type of a place or name, by the words before it. */
static PhraseType phrase_role(const PhraseScan *s, size_t at, size_t i, PhraseType otherwise) {
        for (size_t k = 1; k <= 2 && i >= at + k; k++) {
                const PhraseWord *w = phrase_at(s, i - k);
                if (w->class & PW_FROM)
                        return PHRASE_FROM;
                if (w->class & PW_TO && !(w->class & PW_VERB))
                        return PHRASE_TO;
                if (w->class & PW_PLACE)
                        return PHRASE_PLACE;
                if (!(w->class & PW_ARTICLE))
                        break;
        }
        return otherwise;
}

/* Does a word before the date say "until"? */
static bool phrase_ends_span(const PhraseScan *s, size_t at, size_t i) {
        for (size_t k = 1; k <= 4 && i >= at + k; k++) {
                const PhraseWord *w = phrase_at(s, i - k);
                if (!w->letter || w->class & PW_FROM)
                        return false;
                if (w->class & PW_UNTIL)
                        return !(w->class & PW_TO) || (k == 1 && i == at + 1 && at > 0); /* "from … to …" */
        }
        return false;
}

static bool phrase_take(const PhraseScan *s, size_t at, size_t end, PhraseType type, size_t *cursor, PhraseValue *ret) {
        ret->type = type;
        ret->at = at;
        ret->end = end;
        phrase_id(s, at, end, type == PHRASE_COUNT && !phrase_class_at(s, end - 1, PW_SPAN), ret->id);
        *cursor = end;
        return ret->id[0] != '\0';
}

/* "Dr. Shah": the title says nothing. */
static bool phrase_title(const PhraseScan *s, size_t i) {
        static const char *const titles[] = {"dr", "mr", "mrs", "ms", "prof"};

        for (size_t k = 0; k < ARRAY_SIZE(titles); k++)
                if (phrase_says(s, i, titles[k]))
                        return phrase_at(s, i)->capital && phrase_at(s, i + 1 + phrase_says(s, i + 1, "."))->capital;
        return false;
}

/* "page Maria Lopez", "past 15:30": a verb before a name, a bound before a value. */
static bool phrase_leads(const PhraseScan *s, size_t i, size_t to) {
        bool bound = phrase_says(s, i, "past") || phrase_says(s, i, "below") || phrase_says(s, i, "above") ||
                     phrase_says(s, i, "beyond");

        return (bound && to > i + 1 && phrase_at(s, i + 1)->digit) ||
               (to == i + 3 && phrase_says(s, i, "page") && phrase_at(s, i + 1)->capital && phrase_at(s, i + 2)->capital);
}

bool phrase_value(const PhraseText *t, size_t *at, size_t end, PhraseValue *ret) {
        const PhraseScan s = {t, MIN(end, t->n)};
        size_t from = *at;

        for (size_t i = from; i < s.end; i++) {
                const PhraseWord *w = phrase_at(&s, i);
                size_t to;
                unsigned v;

                if (w->foreign || (!w->letter && !phrase_says(&s, i, "$") && w->n == 1) || phrase_title(&s, i))
                        continue;
                if ((to = phrase_money(&s, i)) > i)
                        return phrase_take(&s, i, to, PHRASE_MONEY, at, ret);
                if ((to = phrase_time(&s, i)) > i)
                        return phrase_take(&s, i, to, PHRASE_TIME, at, ret);
                if ((to = phrase_date(&s, i)) > i)
                        return phrase_take(&s, i, to, phrase_ends_span(&s, from, i) ? PHRASE_UNTIL : PHRASE_DATE, at,
                                           ret);
                if (phrase_code(&s, i))
                        return phrase_take(&s, i, i + 1, PHRASE_CODE, at, ret);
                if (w->digit && phrase_short_number(&s, i, &v) && phrase_at(&s, i + 1)->gap == 1) {
                        if (phrase_class_at(&s, i + 1, PW_SPAN | PW_UNIT))
                                return phrase_take(&s, i, i + 2, PHRASE_COUNT, at, ret);
                        if (phrase_at(&s, i + 1)->capital && (to = phrase_name(&s, i + 1)) > i + 1 && to > i + 2)
                                return phrase_take(&s, i, to, PHRASE_COUNT, at, ret);
                        return phrase_take(&s, i, phrase_thing(&s, i + 1, 4), PHRASE_COUNT, at, ret);
                }
                if (w->class & PW_NUMBER &&
                    (phrase_class_at(&s, i + 1, PW_SPAN | PW_UNIT) || phrase_content(&s, i + 1) || w->number > 1))
                        return phrase_take(&s, i,
                                           phrase_class_at(&s, i + 1, PW_SPAN | PW_UNIT) ? i + 2
                                                                                         : phrase_thing(&s, i + 1, 4),
                                           PHRASE_COUNT, at, ret);
                if (w->digit) {
                        to = phrase_at(&s, i + 1)->capital ? phrase_name(&s, i + 1) : phrase_thing(&s, i + 1, 4);
                        return phrase_take(&s, i, to > i + 1 ? to : i + 1,
                                           w->n > 2 && to > i + 1 && phrase_at(&s, i + 1)->capital ? PHRASE_CODE : PHRASE_COUNT, at, ret);
                }
                if ((to = phrase_name(&s, i)) > i && (to > i + 1 || !w->begins)) {
                        PhraseType role = phrase_role(&s, from, i, PHRASE_NAME);

                        if (to == i + 1 && phrase_at(&s, to)->gap == 1 && phrase_content(&s, to) &&
                            !phrase_at(&s, to)->digit)
                                to = phrase_thing(&s, to, role == PHRASE_NAME ? 1 : 2); /* "San diego" */
                        return phrase_take(&s, i, to, role, at, ret);
                }
                if ((to = phrase_thing(&s, i, 6)) == i + 1 && !w->capital && w->n > 4 &&
                    memcmp(t->low + w->at + w->n - 2, "ly", 2) == 0 && !phrase_says(&s, i, "family"))
                        continue; /* an adverb */
                if (phrase_leads(&s, i, to))
                        continue;
                if (to > i)
                        return phrase_take(&s, i, to, phrase_role(&s, from, i, PHRASE_THING), at, ret);
        }
        *at = s.end;
        return false;
}
