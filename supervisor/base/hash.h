/* Runs: supervisor, CLI. SHA-256 (FIPS 180-4, by libsodium), hexadecimal and base64. */
#pragma once

#include "base/util.h"

#define HASH_BYTES 32
#define HASH_HEX_MAX 65

void hash_bytes(const void *p, size_t n, uint8_t ret[static HASH_BYTES]);
/* Of head and p, concatenated; head has less than 64 bytes. */
void hash_two(const void *head, size_t n_head, const void *p, size_t n, uint8_t ret[static HASH_BYTES]);
/* SHA-256's compression (FIPS 180-4 section 6.2.2) over n_blocks of 64 bytes with the processor's own instructions;
 * only where hash_blocks_can(), asked once. With libsodium's portable code the first `run --exec` of a program of 100
 * MB (node) takes 2.5 times as long, and `audit` and `verify` take 1.09 times as long. */
bool hash_blocks_can(void);
void hash_blocks(uint32_t state[static 8], const uint8_t *p, size_t n_blocks);
/* Before much hashing: asks the processor for its instructions. */
void hash_many(void);
/* From here on -EINTR ends the hashing of a file of any size as soon as SIGTERM, SIGINT or SIGHUP is pending: for a
 * process with these signals blocked, which end the process. */
void hash_heed_signals(void);
/* Hashes a whole file, read from its start. Returns 0 or -errno; -EFBIG beyond max_bytes. */
int hash_fd(int fd, uint64_t max_bytes, uint8_t ret[static HASH_BYTES], uint64_t *ret_bytes);
/* As hash_fd(), and writes the hashed bytes to `to` (-1: no copy). Returns 1, with errno, when `to` cannot be
 * written. */
int hash_copy(int fd, int to, uint64_t max_bytes, uint8_t ret[static HASH_BYTES], uint64_t *ret_bytes);
/* A hash for tables in memory with keys from outside. With a fixed hash, an attacker can send keys that all collide,
 * and a megabyte of words then takes minutes. SipHash-2-4 (libsodium) has a random key per process, and no hash value
 * leaves the process. head: tells equal bytes of different kinds apart, such as the field. */
uint64_t siphash(uint32_t head, const void *p, size_t n);
/* Lower-case, NUL-terminated; out holds 2n + 1. Returns out. */
const char *hex_encode(const void *p, size_t n, char *out);
/* The hash of p in hexadecimal. Returns out. */
static inline const char *hash_hex(const void *p, size_t n, char out[static HASH_HEX_MAX]) {
        uint8_t hash[HASH_BYTES];

        hash_bytes(p, n, hash);
        return hex_encode(hash, sizeof(hash), out);
}
/* Reads exactly 2 * n_out lower- or upper-case digits. Returns 0 or -EINVAL. */
int hex_decode(const char *text, void *out, size_t n_out);
/* Standard alphabet with padding (RFC 4648 section 4). Returns an owned string, NULL when out of memory. */
char *base64_encode(const void *p, size_t n);
/* Strict: padding required, no white space. Returns bytes decoded, or -EINVAL / -ENOSPC. */
ssize_t base64_decode(const char *text, size_t n_text, void *out, size_t n_out);
