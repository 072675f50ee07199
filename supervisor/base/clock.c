#include "base/clock.h"

#include "base/size.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static uint64_t clock_now(clockid_t id) {
        struct timespec ts;

        clock_gettime(id, &ts);
        return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t clock_real_usec(void) {
        return clock_now(CLOCK_REALTIME);
}

uint64_t clock_mono_usec(void) {
        return clock_now(CLOCK_MONOTONIC);
}

static void clock_digits(char *out, unsigned n, unsigned v) {
        for (; n > 0; v /= 10)
                out[--n] = (char)('0' + v % 10);
}

/* Not gmtime_r(): the C library would read the time zone's files, slow for a short run. The rule of the calendar
 * repeats every 400 years of 146,097 days. Years begin in March here, so that a leap day ends its year. */
const char *clock_format(uint64_t real_usec, char out[static CLOCK_TEXT_MAX]) {
        uint64_t s = real_usec / 1000000, days = s / 86400 + 719468; /* since 1 March of the year 0 */
        unsigned second = (unsigned)(s % 86400), of_cycle = (unsigned)(days % 146097), year_of, of_year, month, day;
        uint64_t year;

        year_of = (of_cycle - of_cycle / 1460 + of_cycle / 36524 - of_cycle / 146096) / 365;
        of_year = of_cycle - (365 * year_of + year_of / 4 - year_of / 100);
        month = (5 * of_year + 2) / 153;
        day = of_year - (153 * month + 2) / 5 + 1;
        month = month < 10 ? month + 3 : month - 9;
        year = days / 146097 * 400 + year_of + (month <= 2);
        strcpy(out, "0000-00-00T00:00:00.000000Z"); /* no printf(): each event has such a time */
        clock_digits(out, 4, (unsigned)(year % 10000));
        clock_digits(out + 5, 2, month);
        clock_digits(out + 8, 2, day);
        clock_digits(out + 11, 2, second / 3600);
        clock_digits(out + 14, 2, second / 60 % 60);
        clock_digits(out + 17, 2, second % 60);
        clock_digits(out + 20, 6, (unsigned)(real_usec % 1000000));
        return out;
}

int clock_parse(const char *text, uint64_t *ret_real_usec) {
        static const char form[] = "dddd-dd-ddTdd:dd:dd.ddddddZ";
        static const unsigned char lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        unsigned n[7] = {0}, field = 0, year, of_year, last;
        uint64_t days;

        for (size_t i = 0; i < sizeof(form); i++)
                if (form[i] != 'd') {
                        if (text[i] != form[i])
                                return -EINVAL;
                        field++;
                } else if (text[i] >= '0' && text[i] <= '9')
                        n[field] = n[field] * 10 + (unsigned)(text[i] - '0');
                else
                        return -EINVAL;
        if (n[0] < 1970 || n[1] < 1 || n[1] > 12 || n[3] > 23 || n[4] > 59 || n[5] > 59)
                return -EINVAL;
        last = lengths[n[1] - 1] + (n[1] == 2 && n[0] % 4 == 0 && (n[0] % 100 != 0 || n[0] % 400 == 0));
        if (n[2] < 1 || n[2] > last)
                return -EINVAL;
        /* As in clock_format(): the year begins in March. */
        year = n[0] - (n[1] <= 2);
        of_year = (153 * (n[1] > 2 ? n[1] - 3 : n[1] + 9) + 2) / 5 + n[2] - 1;
        days = UINT64_C(365) * year + year / 4 - year / 100 + year / 400 + of_year - 719468;
        *ret_real_usec = (days * 86400 + n[3] * 3600 + n[4] * 60 + n[5]) * 1000000 + n[6];
        return 0;
}

int clock_parse_moment(const char *text, uint64_t now_usec, uint64_t *ret_real_usec) {
        static const char rest[] = "T00:00:00.000000";
        char whole[CLOCK_TEXT_MAX], days[CLOCK_TEXT_MAX];
        size_t n = strlen(text);
        uint64_t ago;

        if (n > 0 && n < sizeof(days) && strchr("smhd", text[n - 1])) {
                memcpy(days, text, n);
                days[n] = 0;
                if (text[n - 1] == 'd') {
                        days[n - 1] = 0;
                        if (count_parse(days, &ago) < 0 || __builtin_mul_overflow(ago, UINT64_C(86400000000), &ago))
                                return -EINVAL;
                } else if (duration_parse(days, &ago) < 0)
                        return -EINVAL;
                if (ago > now_usec)
                        return -EINVAL;
                *ret_real_usec = now_usec - ago;
                return 0;
        }
        if (n > 10 && text[n - 1] == 'Z')
                n--;
        if (n < 10 || n > 26 || (n > 10 && n != 16 && n != 19 && n < 21))
                return -EINVAL;
        snprintf(whole, sizeof(whole), "%.*s%sZ", (int)n, text, rest + (n - 10));
        return clock_parse(whole, ret_real_usec);
}
