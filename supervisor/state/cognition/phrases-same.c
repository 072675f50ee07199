/* Runs: supervisor, CLI. Forms of one value: "9th of March" and "March 9th", "half past 6 in the evening" and "6:30
 * pm", "SD" and "San Diego". */
#include "cognition/phrases.h"

#include "base/ascii.h"

size_t phrase_norm(const char *s, char *out, size_t n_out) {
        size_t n = 0;
        bool gap = false;

        for (; *s && n + 2 < n_out; s++) {
                if (!ascii_letter(*s) && !ascii_digit(*s)) {
                        gap = n > 0;
                        continue;
                }
                if (gap)
                        out[n++] = ' ';
                gap = false;
                out[n++] = ascii_lower(*s);
        }
        out[n] = '\0';
        return n;
}

static bool phrase_stands(const char *part, const char *norm) {
        char p[2 * PHRASE_ID_MAX];
        size_t n = phrase_norm(part, p, sizeof(p));

        if (n == 0)
                return false;
        for (const char *at = norm; (at = strstr(at, p)); at++)
                if ((at == norm || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
                        return true;
        return false;
}

size_t phrase_within_of(const char *const *parts, size_t n, const char *whole) {
        char w[4 * PHRASE_ID_MAX];
        size_t found = 0;

        phrase_norm(whole, w, sizeof(w));
        for (size_t i = 0; i < n; i++)
                found += phrase_stands(parts[i], w);
        return found;
}

bool phrase_within(const char *part, const char *whole) {
        return phrase_within_of(&part, 1, whole) > 0;
}

/* "March 9th", "the 9th": month (0: none) and day. */
static bool phrase_read_date(const char *norm, unsigned *ret_month, unsigned *ret_day) {
        unsigned month = 0, day = 0, words = 0;

        if (!strpbrk(norm, "0123456789"))
                return false;
        for (const char *w = norm; *w; w += *w == ' ') {
                size_t n = strcspn(w, " ");
                uint8_t number;
                uint32_t class = phrase_class(w, n, &number);

                if (class & PW_MONTH)
                        month = number;
                else if (ascii_digit(*w) && n <= 4)
                        day = (unsigned)strtoul(w, NULL, 10);
                else if (class & PW_DAY)
                        return false;
                w += n;
                words++;
        }
        *ret_month = month;
        *ret_day = day;
        return day >= 1 && day <= 31 && words <= 5;
}

static inline bool phrase_time_word(const char *low, const char *word) {
        return low[0] == word[0] && strcmp(low, word) == 0;
}

/* Minutes since midnight; *ret_half: morning or afternoon is open. */
static bool phrase_read_time(const char *s, unsigned *ret, bool *ret_half) {
        unsigned hour = 99, minute = 0;
        bool pm = false, am = false, half = false, quarter = false, before = false;

        for (const char *w = s; *w; w += *w == ' ') {
                size_t n = strcspn(w, " ");
                char low[16] = {0};
                uint8_t number;

                for (size_t i = 0; i < n && i + 1 < sizeof(low); i++)
                        low[i] = ascii_lower(w[i]);
                if (phrase_time_word(low, "noon") || phrase_time_word(low, "midnight")) {
                        *ret = low[0] == 'n' ? 720 : 0;
                        *ret_half = false;
                        return true;
                }
                if (strchr(low, 'm')) {
                        pm |= strstr(low, "pm") || strstr(low, "p.m");
                        am |= strstr(low, "am") || strstr(low, "a.m") || phrase_time_word(low, "morning");
                }
                pm |= phrase_time_word(low, "afternoon") || phrase_time_word(low, "evening") ||
                      phrase_time_word(low, "night");
                half |= phrase_time_word(low, "half");
                quarter |= phrase_time_word(low, "quarter");
                before |= phrase_time_word(low, "to");
                if (ascii_digit(low[0])) {
                        char *end;
                        hour = (unsigned)strtoul(low, &end, 10);
                        if (*end == ':')
                                minute = (unsigned)strtoul(end + 1, NULL, 10);
                } else if (phrase_class(low, strlen(low), &number) & PW_NUMBER) {
                        hour = number;
                }
                w += n;
        }
        if (hour > 24)
                return false;
        *ret_half = !pm && !am && hour <= 12;
        if (pm && hour < 12)
                hour += 12;
        if (am && hour == 12)
                hour = 0;
        *ret = 60 * hour + minute + (half ? 30 : 0) + (quarter && !before ? 15 : 0) - (quarter && before ? 15 : 0);
        return true;
}

/* "sd" for "san diego". */
static bool phrase_initials(const char *shorter, const char *longer) {
        size_t n = 0;

        for (const char *w = longer; *w; w += *w == ' ') {
                if (shorter[n] != *w)
                        return false;
                n++;
                w += strcspn(w, " ");
        }
        return n >= 2 && (shorter[n] == '\0' || (strcmp(shorter + n, "c") == 0 && n == 2)); /* NYC */
}

/* "sacramento" for "sacramento ca". */
static bool phrase_tail(const char *shorter, const char *longer) {
        size_t n = strlen(shorter), m = strlen(longer);

        return m == n + 3 && memcmp(longer, shorter, n) == 0 && longer[n] == ' ';
}

void phrase_form(const char *s, PhraseForm *ret) {
        bool half = false;

        phrase_norm(s, ret->norm, sizeof(ret->norm));
        ret->time = phrase_read_time(s, &ret->minutes, &half) && (strchr(s, ':') || !half);
        ret->half = half;
        ret->date = phrase_read_date(ret->norm, &ret->month, &ret->day);
}

bool phrase_form_same(const PhraseForm *a, const PhraseForm *b) {
        const char *x = a->norm, *y = b->norm;

        if (!x[0] || !y[0])
                return false;
        if (strcmp(x, y) == 0)
                return true;
        if (a->time && b->time)
                return a->minutes == b->minutes || ((a->half || b->half) && a->minutes % 720 == b->minutes % 720);
        if (a->date && b->date)
                return a->day == b->day && (a->month == b->month || a->month == 0 || b->month == 0);
        if (ascii_digit(x[0]) || ascii_digit(y[0]))
                return false;
        return phrase_tail(x, y) || phrase_tail(y, x) || phrase_initials(x, y) || phrase_initials(y, x);
}

bool phrase_same(const char *a, const char *b) {
        PhraseForm x, y;

        phrase_form(a, &x);
        phrase_form(b, &y);
        return phrase_form_same(&x, &y);
}
