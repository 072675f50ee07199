/* Runs: supervisor, CLI. Time in microseconds. */
#pragma once

#include "base/util.h"

#include <time.h>

#define CLOCK_TEXT_MAX 32

uint64_t clock_real_usec(void);      /* since 1970, CLOCK_REALTIME */
uint64_t clock_mono_usec(void);      /* CLOCK_MONOTONIC */
static inline struct timespec clock_timespec(uint64_t usec) {
        return (struct timespec){(time_t)(usec / 1000000), (long)(usec % 1000000) * 1000};
}
/* RFC 3339 in UTC with six decimals: 2026-11-21T10:29:41.000123Z. Returns out. */
const char *clock_format(uint64_t real_usec, char out[static CLOCK_TEXT_MAX]);
/* Reads the output of clock_format(). Returns 0 or -EINVAL. */
int clock_parse(const char *text, uint64_t *ret_real_usec);
/* A time written by a person: "2026-11-21", "2026-11-21T10:29", with seconds and decimals, always UTC, with or without
 * Z; or an age: "90s", "30m", "12h", "7d". Returns 0 or -EINVAL. */
int clock_parse_moment(const char *text, uint64_t now_usec, uint64_t *ret_real_usec);
