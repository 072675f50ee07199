#include "index/postings.h"

#include <errno.h>
#include <string.h>

size_t term_key(uint64_t scope, uint8_t kind, uint8_t field, const char *term, size_t n,
                uint8_t ret[static TERM_KEY_MAX]) {
        assert(n > 0 && n <= TERM_BYTES_MAX);
        be64_put(ret, scope);
        ret[8] = kind;
        ret[9] = field;
        memcpy(ret + 10, term, n);
        ret[10 + n] = 0;
        return 11 + n;
}

void doc_key(uint64_t scope, uint8_t kind, uint64_t number, uint8_t ret[static DOC_KEY_BYTES]) {
        be64_put(ret, scope);
        ret[8] = kind;
        be64_put(ret + 9, number);
}

bool chunk_sane(Bytes chunk) {
        return chunk.n > 0 && chunk.n <= CHUNK_BYTES_MAX && chunk.n % POSTING_BYTES == 0;
}

/* Index of the entry for `low`, or of the first entry above; *ret_there: found. */
static size_t chunk_find(const uint8_t *chunk, size_t n, uint8_t low, bool *ret_there) {
        size_t a = 0, b = n;

        while (a < b) {
                size_t mid = (a + b) / 2;

                if (chunk[mid * POSTING_BYTES] < low)
                        a = mid + 1;
                else
                        b = mid;
        }
        *ret_there = a < n && chunk[a * POSTING_BYTES] == low;
        return a;
}

static size_t chunk_copy(uint8_t *to, const uint8_t *from, size_t n) {
        if (n > 0)
                memcpy(to, from, n);
        return n;
}

int chunk_put(Bytes chunk, Posting p, uint8_t *ret) {
        const uint8_t *from = chunk.p;
        size_t at, n;
        bool there;

        if (chunk.n > 0 && !chunk_sane(chunk))
                return -EUCLEAN;
        at = POSTING_BYTES * chunk_find(from, chunk.n / POSTING_BYTES, p.low, &there);
        n = chunk_copy(ret, from, at);
        memcpy(ret + n, (uint8_t[]){p.low, p.times, (uint8_t)(p.length >> 8), (uint8_t)p.length}, POSTING_BYTES);
        n += POSTING_BYTES;
        if (there)
                at += POSTING_BYTES;
        if (n + chunk.n - at > CHUNK_BYTES_MAX)
                return -EUCLEAN; /* 256 entries, and not sorted */
        return (int)(n + chunk_copy(ret + n, from + at, chunk.n - at));
}

int chunk_drop(Bytes chunk, uint8_t low, uint8_t *ret) {
        const uint8_t *from = chunk.p;
        size_t at, n;
        bool there;

        if (!chunk_sane(chunk))
                return -EUCLEAN;
        at = POSTING_BYTES * chunk_find(from, chunk.n / POSTING_BYTES, low, &there);
        if (!there)
                return -EUCLEAN;
        n = chunk_copy(ret, from, at);
        at += POSTING_BYTES;
        return (int)(n + chunk_copy(ret + n, from + at, chunk.n - at));
}

void ids_key(uint64_t scope, uint8_t kind, uint64_t number, uint8_t ret[static IDS_KEY_BYTES]) {
        be64_put(ret, scope);
        ret[8] = kind;
        ret[9] = 0xFF;
        be64_put(ret + 10, number >> 6);
}

/* The length of the entry at p, 0 for no valid entry. */
static size_t ids_entry(const uint8_t *p, const uint8_t *end) {
        return end - p >= 3 && p[0] <= IDS_LOW && p[1] > 0 && p[1] <= end - p - 2 ? (size_t)2 + p[1] : 0;
}

int ids_change(Bytes row, uint8_t low, const char *id, size_t n, uint8_t ret[static IDS_BYTES_MAX]) {
        const uint8_t *p = row.p, *end = row.n > 0 ? p + row.n : p;
        bool done = false;
        int last = -1;
        size_t o = 0;

        while (p < end || !done) {
                size_t size = p < end ? ids_entry(p, end) : 0;

                if (p < end && (size == 0 || p[0] <= last))
                        return -EUCLEAN;
                if (!done && (p == end || p[0] >= low)) {
                        bool there = p < end && p[0] == low;

                        if (n == 0 && !there)
                                return -EUCLEAN;
                        if (n > 0) {
                                ret[o++] = low;
                                ret[o++] = (uint8_t)n;
                                o += chunk_copy(ret + o, (const uint8_t *)id, n);
                        }
                        if (there)
                                p += size;
                        last = low;
                        done = true;
                        continue;
                }
                last = p[0];
                o += chunk_copy(ret + o, p, size);
                p += size;
        }
        return (int)o;
}

int ids_seek(const uint8_t **p, const uint8_t *end, uint8_t low, Bytes *ret) {
        for (size_t size; *p < end && (size = ids_entry(*p, end)) > 0 && **p <= low; *p += size)
                if (**p == low) {
                        *ret = BYTES(*p + 2, (*p)[1]);
                        return 0;
                }
        return -EUCLEAN;
}

int doc_open(Bytes row, DocReader *ret) {
        const uint8_t *p = row.p;

        if (row.n < 2 || p[0] == 0 || p[0] > row.n - 1)
                return -EUCLEAN;
        *ret = (DocReader){.p = p + 1 + p[0], .end = p + row.n, .id = (const char *)p + 1, .n_id = p[0]};
        return 0;
}

int doc_next(DocReader *d, Term *ret) {
        if (d->left == 0) {
                if (d->p == d->end)
                        return 0;
                if (d->end - d->p < 7)
                        return -EUCLEAN;
                d->field = d->p[0];
                d->length = (uint16_t)(d->p[1] << 8 | d->p[2]);
                d->left = (uint32_t)d->p[3] << 24 | (uint32_t)d->p[4] << 16 | (uint32_t)d->p[5] << 8 | d->p[6];
                d->p += 7;
                if (d->left == 0 || d->field >= TERMS_FIELDS)
                        return -EUCLEAN;
        }
        if (d->end - d->p < 3 || d->p[0] == 0 || d->p[0] > TERM_BYTES_MAX || d->p[0] > d->end - d->p - 2)
                return -EUCLEAN;
        *ret = (Term){.p = (const char *)d->p + 2, .n = d->p[0], .times = d->p[1], .field = d->field};
        d->p += 2 + ret->n;
        d->left--;
        return 1;
}

int doc_encode(const char *id, const Term *terms, size_t n, const Tokenizer *bag, uint8_t **ret, size_t *ret_n) {
        size_t n_id = strlen(id), room = 1 + n_id + (size_t)7 * TERMS_FIELDS;
        uint8_t *out, *o;

        assert(n_id > 0 && n_id < 256);
        for (size_t i = 0; i < n; i++)
                room += 2 + (size_t)terms[i].n;
        o = out = malloc(room);
        if (!out)
                return -ENOMEM;
        *o++ = (uint8_t)n_id;
        memcpy(o, id, n_id);
        o += n_id;
        for (size_t i = 0, end; i < n; i = end) {
                unsigned length = tokenizer_length(bag, terms[i].field);
                uint32_t count;

                for (end = i; end < n && terms[end].field == terms[i].field;)
                        end++;
                count = (uint32_t)(end - i);
                memcpy(o,
                       (uint8_t[]){terms[i].field, (uint8_t)(length >> 8), (uint8_t)length, (uint8_t)(count >> 24),
                                   (uint8_t)(count >> 16), (uint8_t)(count >> 8), (uint8_t)count}, 7);
                o += 7;
                for (size_t k = i; k < end; k++) {
                        *o++ = terms[k].n;
                        *o++ = terms[k].times;
                        memcpy(o, terms[k].p, terms[k].n);
                        o += terms[k].n;
                }
        }
        *ret = out;
        *ret_n = (size_t)(o - out);
        return 0;
}

int stats_decode(Bytes row, IndexStats *ret) {
        const uint8_t *p = row.p, *end = p + row.n;

        *ret = (IndexStats){0};
        if (row.n < 8 || (row.n - 8) % 17 || row.n > STATS_BYTES_MAX)
                return -EUCLEAN;
        ret->docs = be64_get(p);
        for (p += 8; p < end; p += 17) {
                if (p[0] >= TERMS_FIELDS)
                        return -EUCLEAN;
                ret->field[p[0]].docs = be64_get(p + 1);
                ret->field[p[0]].length = be64_get(p + 9);
        }
        return 0;
}

size_t stats_encode(const IndexStats *s, uint8_t ret[static STATS_BYTES_MAX]) {
        size_t n = 8;

        be64_put(ret, s->docs);
        for (uint8_t f = 0; f < TERMS_FIELDS; f++) {
                if (s->field[f].docs == 0)
                        continue;
                ret[n] = f;
                be64_put(ret + n + 1, s->field[f].docs);
                be64_put(ret + n + 9, s->field[f].length);
                n += 17;
        }
        return n;
}
