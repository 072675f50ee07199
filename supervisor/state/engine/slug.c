#include "engine/slug.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void slug_make(const char *text, Kind kind, char out[static SLUG_BYTES + 1]) {
        size_t n = 0, words = 0;
        bool in_word = false;

        for (; *text && n < SLUG_BYTES; text++) {
                char c = *text >= 'A' && *text <= 'Z' ? (char)(*text + 32) : *text;
                bool letter = c >= 'a' && c <= 'z', part = letter || (c >= '0' && c <= '9');

                if (part && !in_word) {
                        if (words == SLUG_WORDS || (n == 0 && !letter))
                                break;
                        words++;
                        if (n > 0)
                                out[n++] = '_';
                }
                if (part && n < SLUG_BYTES)
                        out[n++] = c;
                in_word = part;
        }
        while (n > 0 && out[n - 1] == '_')
                n--;
        out[n] = '\0';
        if (n < 2)
                snprintf(out, SLUG_BYTES + 1, "%s", kind_name(kind));
}

int slug_new(Txn *t, uint64_t scope, Kind kind, const char *text, char ret[static RECORD_ID_MAX]) {
        char base[SLUG_BYTES + 1];

        slug_make(text, kind, base);
        for (unsigned i = 1; i; i++) {
                _cleanup_change_walk_ ChangeWalk w = {0};
                RecordKey key;
                uint64_t seq;
                Op op;
                int r;

                if (i == 1)
                        snprintf(ret, RECORD_ID_MAX, "%s", base);
                else
                        snprintf(ret, RECORD_ID_MAX, "%s_%u", base, i);
                key = record_key_of(scope, kind, ret);
                r = change_walk(t, &key, &w);
                if (r == 0)
                        r = change_walk_next(&w, &seq, &op);
                if (r == -ENOENT)
                        return 0;
                if (r < 0)
                        return r;
        }
        return -ENOSPC;
}
