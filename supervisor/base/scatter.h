/* Runs: supervisor, CLI. A hash for tables in memory whose keys others choose: a fixed one lets them send keys that all go to one place, and a megabyte
 * of words then takes minutes. This one is drawn anew by each process, and none of its values leave it. */
#pragma once

#include "base/util.h"

#define SCATTER_BYTES_MAX 64

/* head: below 2^24, told apart as the bytes are. n: at most SCATTER_BYTES_MAX. */
uint32_t scatter(uint32_t head, const void *p, size_t n);
