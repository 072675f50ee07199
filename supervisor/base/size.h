/* Runs: supervisor, CLI. Sizes, durations and counts in the form written by people. */
#pragma once

#include "base/util.h"

/* "64", "64k", "128m", "1g", "1t", also with "b" or "ib" behind; powers of 1024. Returns 0, -EINVAL, -ERANGE (>
 * 2^53-1). */
int size_parse(const char *text, uint64_t *ret_bytes);
/* "500us", "250ms", "30s", "5m", "1h", or a bare number of seconds, with or without decimals ("0.5", "1.5s"). Returns
 * 0, -EINVAL, or -ERANGE (beyond 2^53-1 us). */
int duration_parse(const char *text, uint64_t *ret_usec);
/* Plain decimal. Returns 0, -EINVAL, -ERANGE (beyond COUNT_MOST). */
#define COUNT_MOST ((UINT64_C(1) << 53) - 1)
int count_parse(const char *text, uint64_t *ret);
/* A number from 0 to 1. Returns 0 or -EINVAL. */
int fraction_parse(const char *text, double *ret);

#define SIZE_TEXT_MAX 32
/* "128 MiB", "1.5 GiB", "713 B". Returns out. */
const char *size_format(uint64_t bytes, char out[static SIZE_TEXT_MAX]);
/* "250 ms", "1.2 s", "48 us". Returns out. */
const char *duration_format(uint64_t usec, char out[static SIZE_TEXT_MAX]);
