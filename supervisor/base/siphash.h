/* Runs: supervisor, CLI. A hash for tables in memory with keys from outside. With a fixed hash, an attacker can send
 * keys that all collide, and a megabyte of words then takes minutes. SipHash-2-4 (libsodium) has a random key per
 * process, and no hash value leaves the process. */
#pragma once

#include "base/util.h"

/* head: tells equal bytes of different kinds apart, such as the field. */
uint64_t siphash(uint32_t head, const void *p, size_t n);
