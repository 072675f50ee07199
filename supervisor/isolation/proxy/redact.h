/* Runs: lethe-proxy. Takes a secret out of a stream of bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The secret's places become stars, so that no length changes. The secret may be split over pieces: a possible beginning
 * of the secret is held back until the next piece (Knuth, Morris, Pratt 1977). */
typedef struct Redact {
        const char *secret; /* lent; NULL: no search */
        size_t n;
        const uint16_t *borders; /* lent, of redact_borders(), n entries */
        size_t held;             /* bytes held back: a beginning of the secret */
        uint64_t found;
} Redact;

/* For each beginning of the secret: the length of the longest shorter beginning at its end. */
void redact_borders(const char *secret, size_t n, uint16_t *ret);
/* Writes the bytes to pass on to out, with room for n + r->n bytes. Returns the number of bytes. */
size_t redact_feed(Redact *r, const char *bytes, size_t n, char *out);
/* The held bytes at the end of the stream; out has room for r->n. */
size_t redact_end(Redact *r, char *out);
