/* Runs: supervisor, CLI. A hash for tables in memory whose keys others choose: a fixed one lets them send keys that all
 * go to one place, and a megabyte of words then takes minutes. This one (SipHash-2-4, libsodium's) has a key drawn anew
 * by each process, and none of its values leave it. */
#pragma once

#include "base/util.h"

/* head: what tells equal bytes apart, such as the field that they stand in. */
uint64_t siphash(uint32_t head, const void *p, size_t n);
