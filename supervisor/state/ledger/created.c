#include "ledger/ledger.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "store/hooks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int ledger_created(Txn *t, Diag *reterr) {
        _cleanup_json_ json_t *e = NULL;
        _cleanup_free_ char *entry = NULL;
        const Store *s = txn_store(t);
        uint64_t now = clock_real_usec();
        char vkey[VKEY_MAX], time[CLOCK_TEXT_MAX], who[32];
        size_t n;
        int r;

        note_vkey(store_origin(s), store_public_key(s), vkey);
        snprintf(who, sizeof(who), "uid:%u", (unsigned)getuid());
        e = json_pack("{s:s, s:s, s:s, s:s, s:s, s:i}", "type", "ledger.created", "time", clock_format(now, time),
                      "origin", store_origin(s), "vkey", vkey, "who", who, "version", 1);
        if (!e)
                return -ENOMEM;
        r = json_canonical(e, &entry, &n);
        if (r == 0)
                r = ledger_append(t, entry, n, now, NULL);
        if (r < 0)
                return r;
        n = strlen(vkey);
        vkey[n++] = '\n';
        return io_write_file(store_dir_fd(s), "vkey", vkey, n, 0644, true);
}
