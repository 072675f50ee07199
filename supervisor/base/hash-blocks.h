/* Runs: supervisor, CLI. SHA-256's compression with the processor's own instructions, where available. With libsodium's
 * portable code the first `run --exec` of a program of 100 MB (node) takes 2.5 times as long, and `audit` and `verify`
 * take 1.09 times as long. */
#pragma once

#include "base/util.h"

/* True where the processor has the SHA extensions; asked once. */
bool hash_blocks_can(void);
/* The same when the processor was asked already, else false: asking takes longer than hashing a few bytes. */
bool hash_blocks_known(void);
/* The compression function (FIPS 180-4 section 6.2.2) over n_blocks of 64 bytes. Only where hash_blocks_can(). */
void hash_blocks(uint32_t state[static 8], const uint8_t *p, size_t n_blocks);
