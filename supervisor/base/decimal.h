/* Runs: supervisor, CLI. The decimal digits of a double, as ECMAScript's Number::toString chooses them (ECMA-262
 * 6.1.6.1.20, RFC 8785 3.2.2.3). */
#pragma once

#include "base/util.h"

#define DECIMAL_DIGITS_MAX 24

/* The fewest digits that read back as |d|; among equally short digits, the closest to |d|. d: finite and not 0. |d| =
 * 0.DIGITS * 10^exp10. The digits end with NUL, and not with a zero. Returns the number of digits. */
int decimal_shortest(double d, char ret[static DECIMAL_DIGITS_MAX], int *ret_exp10);

/* The decimal digits of v, without a NUL. Returns how many there are. */
int decimal_digits(uint64_t v, char ret[static DECIMAL_DIGITS_MAX]);
