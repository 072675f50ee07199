#include "base/clock.h"

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

const char *clock_format(uint64_t real_usec, char out[static CLOCK_TEXT_MAX]) {
        time_t s = (time_t)(real_usec / 1000000);
        struct tm tm;
        size_t n;

        gmtime_r(&s, &tm);
        n = strftime(out, CLOCK_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(out + n, CLOCK_TEXT_MAX - n, ".%06uZ", (unsigned)(real_usec % 1000000));
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
