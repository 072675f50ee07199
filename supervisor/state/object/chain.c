#include "object/chain.h"

#include "record/object-row.h"
#include "record/rows.h"

#include <errno.h>
#include <inttypes.h>

int chain_entry(Txn *t, const char *id, uint64_t n, Entry *ret, Diag *reterr) {
        Bytes line;
        uint64_t seq;
        Diag why = {0};
        int r = object_entry_seq(t, id, n, &seq);

        if (r == 0)
                r = body_get(t, seq, NULL, &line);
        if (r == -ENOENT)
                return diag(reterr, ENGINE_E_BAD_CHAIN, "object %s: entry %" PRIu64 " is not there", id, n);
        if (r == 0)
                r = entry_parse(line.p, line.n, ret, &why);
        return r > 0 ? diag(reterr, ENGINE_E_BAD_CHAIN, "object %s: entry %" PRIu64 ": %s", id, n, why.text) : r;
}

int chain_read(Txn *t, const char *id, uint64_t from, uint64_t to, ObjectBundle *b, Diag *reterr) {
        int r = 0;

        for (uint64_t n = from; r == 0 && n < to; n++) {
                if (!GROW(b->entries, b->n))
                        return -ENOMEM;
                b->entries[b->n] = ENTRY_NULL;
                r = chain_entry(t, id, n, &b->entries[b->n], reterr);
                b->n += r == 0;
        }
        return r;
}

static int chain_is_same(Txn *t, const char *id, const Entry *e, uint64_t n, bool *ret, Diag *reterr) {
        _cleanup_entry_ Entry own = ENTRY_NULL;
        int r = chain_entry(t, id, n, &own, reterr);

        if (r == 0)
                *ret = memcmp(own.hash, e->hash, ENTRY_HASH_BYTES) == 0;
        return r;
}

/* Each entry has the hash of the entry before: chains with the same entry n have the same entries before n. */
int chain_common(Txn *t, const char *id, uint64_t here, const ObjectBundle *b, uint64_t *ret, Diag *reterr) {
        uint64_t low = 0, high = MIN(here, (uint64_t)b->n); /* agree below low; high: no more than that */
        bool same = true;

        for (uint64_t n = high; low < high; n = low + (high - low + 1) / 2) {
                int r = chain_is_same(t, id, &b->entries[n - 1], n - 1, &same, reterr);

                if (r != 0)
                        return r;
                if (same)
                        low = n;
                else
                        high = n - 1;
        }
        *ret = low;
        return 0;
}
