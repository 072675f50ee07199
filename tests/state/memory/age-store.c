/* Runs: tests. age-store STORE VERSION [--hold]: makes of a store one as a Lethe of version 2 left it, whose index knows neither which rows have ended nor
 * which records were removed, or one of version 3
 * without claims, or one of a version that is yet to come. --hold: has it open until its standard input ends. */
#include "index/index.h"
#include "store/hooks.h"
#include "store/table.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Rows of the index that this version made first: key: scope, kind, and then field. */
static int drop(Txn *t, Table table) {
        for (;;) {
                _cleanup_cursor_ Cursor *c = NULL;
                uint8_t key[512];
                size_t n = 0;
                Bytes k, v;
                int r = cursor_open(t, table, BYTES(NULL, 0), &c);

                while (r == 0 && n == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                        uint8_t kind = ((const uint8_t *)k.p)[8], field = ((const uint8_t *)k.p)[9];

                        if ((kind & 0x80 && kind >= 0xc0) || (table == TABLE_TERM && field == INDEX_LIVE)) {
                                memcpy(key, k.p, k.n);
                                n = k.n;
                        }
                }
                if (n == 0)
                        return r;
                r = table_del(t, table, BYTES(key, n));
                if (r < 0)
                        return r;
        }
}

int main(int argc, char **argv) {
        _cleanup_store_ Store *s = NULL;
        uint8_t version[8] = {0};
        Diag d = {0};
        Txn *t;
        char c;

        if (argc < 3 || store_open(argv[1], STORE_WRITE, &s, &d) != 0 || store_begin(s, true, &t, &d) != 0) {
                fprintf(stderr, "%s\n", d.text);
                return 1;
        }
        version[7] = (uint8_t)(argv[2][0] - '0');
        if (version[7] <= 3 && table_del_prefix(t, TABLE_CLAIM, BYTES(NULL, 0)) < 0)
                return 1;
        if (version[7] == 2) {
                drop(t, TABLE_TERM);
                drop(t, TABLE_DOC);
        }
        if (table_put(t, TABLE_META, BYTES_STR("version"), BYTES(version, 8)) < 0 || store_commit(t, &d) != 0)
                return 1;
        puts("aged");
        fflush(stdout);
        while (argc > 3 && read(STDIN_FILENO, &c, 1) > 0)
                ;
        return 0;
}
