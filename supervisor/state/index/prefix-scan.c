#include "index/rank.h"

#include <errno.h>
#include <string.h>

int prefix_scan(Txn *t, uint64_t scope, uint8_t kind, uint8_t field, const char *begin, size_t n, RankTerm *ret, size_t most, size_t *ret_n) {
        uint8_t k[TERM_KEY_MAX];
        size_t head = term_key(scope, kind, field, begin, n, k) - n - 1, found = 0;
        Bytes prefix = BYTES(k, head + n), key, v;
        _cleanup_cursor_ Cursor *c = NULL;
        int r = cursor_open(t, TABLE_TERM, prefix, &c);

        while (r == 0 && found < most && (r = cursor_next(c, &key, &v)) == 0 && bytes_begin(key, prefix)) {
                const char *term = (const char *)key.p + head;
                size_t bytes = key.n < head + 1 + 8 ? 0 : key.n - head - 1 - 8;

                if (bytes < n || bytes > TERM_BYTES_MAX)
                        return -EUCLEAN;
                if (found == 0 || ret[found - 1].n != bytes || memcmp(ret[found - 1].p, term, bytes) != 0)
                        ret[found++] = (RankTerm){.p = term, .n = (uint8_t)bytes};
        }
        *ret_n = found;
        return r == -ENOENT ? 0 : r;
}
