#include "engine/statement-value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIMILAR_WORDS_LEAST 5 /* two long objects with most words in common are one object in two wordings */

static const char *const months[] = {
        "january|jan", "february|feb", "march|mar",          "april|apr",   "may",          "june|jun",
        "july|jul",    "august|aug",   "september|sep|sept", "october|oct", "november|nov", "december|dec",
};

/* 1 to 12; 0: no month. */
static unsigned value_month(const StatementWord *w) {
        for (unsigned i = 0; i < ARRAY_SIZE(months); i++)
                if (words_have(months[i], w->p))
                        return i + 1;
        return 0;
}

/* A number with an ending, "11th": the day; 0: none. */
static unsigned value_day(const char *p) {
        char *end;
        unsigned long n = strtoul(p, &end, 10);

        return end != p && n >= 1 && n <= 31 && (*end == 0 || words_have("st|nd|rd|th", end)) ? (unsigned)n : 0;
}

static unsigned value_year(const char *p) {
        return strlen(p) == 4 && strspn(p, "0123456789") == 4 ? (unsigned)atoi(p) : 0;
}

static bool value_iso_date(const char *p, unsigned *y, unsigned *m, unsigned *d) {
        if (strlen(p) != 10 || p[4] != '-' || p[7] != '-' || strspn(p, "0123456789-") != 10)
                return false;
        *y = (unsigned)atoi(p);
        *m = (unsigned)atoi(p + 5);
        *d = (unsigned)atoi(p + 8);
        return *m >= 1 && *m <= 12 && *d >= 1 && *d <= 31;
}

static bool value_date(WordSpan s, Claim *ret) {
        unsigned y = 0, m = 0, d = 0;

        for (size_t i = 0; i < s.n; i++) {
                const char *p = s.w[i].p;
                unsigned month = m ? 0 : value_month(&s.w[i]), year = y ? 0 : value_year(p), day = d ? 0 : value_day(p);

                if (word_is_filler(&s.w[i]) || words_have("on|in|at|of|by|due|born", p) ||
                    (!m && value_iso_date(p, &y, &m, &d)))
                        continue;
                if (month)
                        m = month;
                else if (year)
                        y = year;
                else if (day)
                        d = day;
                else
                        return false;
        }
        if (m == 0)
                return false;
        ret->value[0] = VALUE_DATE;
        ret->value[2] = (uint8_t)(y >> 8);
        ret->value[3] = (uint8_t)y;
        ret->value[4] = (uint8_t)m;
        ret->value[5] = (uint8_t)d;
        ret->n_value = 6;
        return true;
}

static uint32_t value_hash(const char *p) {
        uint32_t h = 2166136261U; /* FNV-1a */

        for (; *p; p++)
                h = (h ^ (uint8_t)*p) * 16777619U;
        return h;
}

static bool value_number(const char *p, double *ret, const char **ret_unit) {
        static const char *const words[] = {"zero", "one", "two", "three", "four", "five", "six",
                                            "seven", "eight", "nine", "ten",   "eleven", "twelve"};
        char *end;

        *ret_unit = "";
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (strcmp(p, words[i]) == 0) {
                        *ret = (double)i;
                        return true;
                }
        if (*p < '0' || *p > '9' || strspn(p, "0123456789.") > 15)
                return false;
        *ret = strtod(p, &end);
        for (const char *c = end; *c; c++)
                if (*c < 'a' || *c > 'z')
                        return false; /* "22.11.1", "0x1f" */
        *ret_unit = end;
        return true;
}

/* A known unit: its measure's name, and how many of the measure it is. */
static const char *value_unit(const char *p, double *ret) {
        static const struct {
                const char *words, *measure;
                double times;
        } units[] = {
                {"ms|msec|millisecond|milliseconds", "time", 0.001},
                {"s|sec|secs|second|seconds", "time", 1},
                {"min|mins|minute|minutes", "time", 60},
                {"h|hr|hrs|hour|hours", "time", 3600},
                {"d|day|days", "time", 86400},
                {"week|weeks", "time", 604800},
                {"byte|bytes", "size", 1},
                {"k|kb|kib", "size", 1024},
                {"m|mb|mib", "size", 1048576},
                {"g|gb|gib", "size", 1073741824},
                {"tb|tib", "size", 1099511627776.0},
                {"percent|pct", "share", 1},
        };

        for (size_t i = 0; i < ARRAY_SIZE(units); i++)
                if (words_have(units[i].words, p)) {
                        *ret = units[i].times;
                        return units[i].measure;
                }
        return NULL;
}

typedef struct Amount {
        size_t end;           /* behind the number and its unit */
        double number, times; /* times: of the unit */
        const char *measure;  /* "time", "size", "share"; NULL: no known unit */
} Amount;

static bool value_amount(WordSpan s, size_t i, Amount *ret) {
        const char *within;

        *ret = (Amount){.end = i + 1, .times = 1};
        if (i >= s.n || !value_number(s.w[i].p, &ret->number, &within))
                return false;
        if (*within && !words_have("st|nd|rd|th", within)) {
                ret->measure = value_unit(within, &ret->times);
                if (!ret->measure)
                        return false;
        } else if (s.w[i].percent)
                ret->measure = "share";
        else if (i + 1 < s.n && (ret->measure = value_unit(s.w[i + 1].p, &ret->times)))
                ret->end++;
        ret->number *= ret->times;
        return true;
}

static void value_set_quantity(Claim *ret, const char *measure, double least, double most) {
        uint32_t unit = value_hash(measure ? measure : "");

        ret->value[0] = VALUE_QUANTITY;
        memcpy(ret->value + 2, &unit, 4);
        memcpy(ret->value + 6, &least, 8);
        memcpy(ret->value + 14, &most, 8);
        ret->n_value = 22;
}

/* "at least", "no more than" … before word i. */
static size_t value_bound(WordSpan s, size_t i, bool *least, bool *most) {
        static const struct {
                const char *words[3];
                bool least;
        } bounds[] = {
                {{"no", "less|fewer", "than"}, true},
                {{"not", "less|fewer", "than"}, true},
                {{"no", "more", "than"}, false},
                {{"not", "more", "than"}, false},
                {{"a", "minimum", "of"}, true},
                {{"a", "maximum", "of"}, false},
                {{"at", "least"}, true},
                {{"at", "most"}, false},
                {{"up", "to"}, false},
                {{"more", "than"}, true},
                {{"less|fewer", "than"}, false},
                {{"minimum", "of"}, true},
                {{"maximum", "of"}, false},
                {{"over|above"}, true},
                {{"under|below|within"}, false},
        };

        for (size_t k = 0; k < ARRAY_SIZE(bounds); k++) {
                size_t n = bounds[k].words[2] ? 3 : bounds[k].words[1] ? 2 : 1, j = 0;

                while (i >= n && j < n && words_have(bounds[k].words[j], s.w[i - n + j].p))
                        j++;
                if (i >= n && j == n) {
                        *(bounds[k].least ? least : most) = true;
                        return i - n;
                }
        }
        return i > 0 && words_have("exactly|about|around", s.w[i - 1].p) ? i - 1 : i;
}

bool value_quantity(WordSpan s, size_t *ret_from, size_t *ret_end, Claim *ret) {
        bool found = false, least, most;
        Amount a, b;

        for (size_t i = 0; i < s.n; i++) {
                if (!value_amount(s, i, &a))
                        continue;
                if (found)
                        return false;
                found = true;
                least = most = false;
                *ret_from = value_bound(s, i, &least, &most);
                if (i > 0 && words_have("between", s.w[i - 1].p) && word_span_has(s, a.end, "and") &&
                    value_amount(s, a.end + 1, &b)) {
                        value_set_quantity(ret, b.measure, a.measure ? a.number : a.number * b.times, b.number);
                        *ret_from = i - 1;
                        a.end = b.end;
                } else
                        value_set_quantity(ret, a.measure, most ? -HUGE_VAL : a.number, least ? HUGE_VAL : a.number);
                *ret_end = a.end;
                i = a.end - 1;
        }
        return found;
}

static int value_by_hash(const void *a, const void *b) {
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

        return (x > y) - (x < y);
}

void value_of_words(WordSpan s, Claim *ret) {
        uint32_t h[STATEMENT_WORDS_MAX];
        size_t n = 0, kept = 0;

        for (size_t i = 0; i < s.n; i++)
                if (!word_is_filler(&s.w[i]) && !words_have("of|in|on|at|to|is|are|be|was|by|for|with", s.w[i].p))
                        h[n++] = value_hash(s.w[i].stem);
        qsort(h, n, sizeof(*h), value_by_hash);
        for (size_t i = 0; i < n; i++)
                if (kept == 0 || h[i] != h[kept - 1])
                        h[kept++] = h[i];
        kept = MIN(kept, (size_t)CLAIM_WORDS_MAX);
        ret->value[0] = VALUE_WORDS;
        memcpy(ret->value + 2, h, kept * 4);
        ret->n_value = (uint8_t)(2 + kept * 4);
}

void value_of(WordSpan s, bool strict, Claim *ret) {
        size_t from, end;

        if (!value_date(s, ret) && !(value_quantity(s, &from, &end, ret) && from == 0 && end == s.n))
                value_of_words(s, ret);
        ret->value[1] = strict;
}

static bool value_dates_agree(const Claim *a, const Claim *b) {
        bool year = (a->value[2] == b->value[2] && a->value[3] == b->value[3]) || !(a->value[2] | a->value[3]) ||
                    !(b->value[2] | b->value[3]);

        return year && a->value[4] == b->value[4] &&
               (a->value[5] == b->value[5] || a->value[5] == 0 || b->value[5] == 0);
}

static bool value_quantities_agree(const Claim *a, const Claim *b) {
        double least[2], most[2];

        memcpy(&least[0], a->value + 6, 8);
        memcpy(&most[0], a->value + 14, 8);
        memcpy(&least[1], b->value + 6, 8);
        memcpy(&most[1], b->value + 14, 8);
        return memcmp(a->value + 2, b->value + 2, 4) == 0 && least[0] <= most[1] && least[1] <= most[0];
}

/* One object in two wordings: all words of one are among the other's, or most of two long ones are. */
static bool value_words_agree(const Claim *a, const Claim *b) {
        size_t n_a = (size_t)(a->n_value - 2) / 4, n_b = (size_t)(b->n_value - 2) / 4, less = MIN(n_a, n_b), both = 0;

        for (size_t i = 0, k = 0; i < n_a && k < n_b;) {
                uint32_t x, y;

                memcpy(&x, a->value + 2 + 4 * i, 4);
                memcpy(&y, b->value + 2 + 4 * k, 4);
                both += x == y;
                i += x <= y;
                k += y <= x;
        }
        return both == less || (less >= SIMILAR_WORDS_LEAST && 10 * both >= 7 * less);
}

static bool value_agrees(const Claim *a, const Claim *b) {
        if (a->value[0] != b->value[0])
                return !(a->value[1] || b->value[1]); /* words and a date: nothing is known, but for a triple */
        return a->value[0] == VALUE_DATE       ? value_dates_agree(a, b)
               : a->value[0] == VALUE_QUANTITY ? value_quantities_agree(a, b)
                                               : value_words_agree(a, b);
}

static const struct {
        ClaimTag a, b; /* those with values: where the values do not agree */
} opposed[] = {
        {CLAIM_REQUIRED, CLAIM_FORBIDDEN},        {CLAIM_PERMITTED, CLAIM_FORBIDDEN},
        {CLAIM_REQUIRED, CLAIM_EXEMPT},           {CLAIM_USES, CLAIM_USES_ONLY},
        {CLAIM_USES_ONLY, CLAIM_USES_ONLY},       {CLAIM_DONE_BY, CLAIM_DONE_ONLY_BY},
        {CLAIM_DONE_ONLY_BY, CLAIM_DONE_ONLY_BY}, {CLAIM_VALUE, CLAIM_VALUE},
};

bool claim_tags_opposed(ClaimTag a, ClaimTag b) {
        for (size_t i = 0; i < ARRAY_SIZE(opposed); i++)
                if ((opposed[i].a == a && opposed[i].b == b) || (opposed[i].a == b && opposed[i].b == a))
                        return true;
        return false;
}

bool claim_opposed(const Claim *a, const Claim *b) {
        return claim_tags_opposed(a->tag, b->tag) && (a->n_value == 0 || b->n_value == 0 || !value_agrees(a, b));
}

bool claims_opposed(const ClaimList *a, const ClaimList *b) {
        for (size_t i = 0; i < a->n; i++)
                for (size_t k = 0; k < b->n; k++)
                        if (memcmp(a->v[i].group, b->v[k].group, CLAIM_GROUP_BYTES) == 0 &&
                            claim_opposed(&a->v[i], &b->v[k]))
                                return true;
        return false;
}
