#include "base/clock.h"

#include "base/size.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static uint64_t now(clockid_t id) {
        struct timespec ts;

        clock_gettime(id, &ts);
        return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t clock_real_usec(void) {
        return now(CLOCK_REALTIME);
}

uint64_t clock_mono_usec(void) {
        return now(CLOCK_MONOTONIC);
}

/* Not gmtime_r(): the C library reads the time zone's files for it, which a short run would feel. The calendar's rule repeats every 400
 * years of 146,097 days; years are counted from March here, so that a leap day is the last of its year. */
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
        snprintf(out, CLOCK_TEXT_MAX, "%04u-%02u-%02uT%02u:%02u:%02u.%06uZ", (unsigned)(year % 10000), month % 100, day % 100,
                 second / 3600 % 100, second / 60 % 60, second % 60, (unsigned)(real_usec % 1000000));
        return out;
}

int clock_parse(const char *text, uint64_t *ret_real_usec) {
        struct tm tm = {0};
        char again[CLOCK_TEXT_MAX];
        uint64_t real_usec;
        unsigned usec;
        int used = 0;
        time_t s;

        if (strlen(text) != 27 ||
            sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%6uZ%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
                   &tm.tm_min, &tm.tm_sec, &usec, &used) != 7 ||
            used != 27)
                return -EINVAL;
        tm.tm_year -= 1900;
        tm.tm_mon -= 1;
        s = timegm(&tm);
        if (s < 0)
                return -EINVAL;
        real_usec = (uint64_t)s * 1000000 + usec;
        /* sscanf takes signs and blanks, timegm a 13th month: only what clock_format writes is right. */
        if (strcmp(clock_format(real_usec, again), text) != 0)
                return -EINVAL;
        *ret_real_usec = real_usec;
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
