#include "engine/scope.h"

#include "engine/note.h"
#include "engine/pass-history.h"
#include "engine/project.h"
#include "engine/wait.h"
#include "record/event.h"

#include <errno.h>

/* Erases the payloads of all events about the scope: of records, passes and pending requests. */
static int scope_erase(Txn *t, uint64_t scope) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint8_t prefix[8];
        Bytes k, v;
        int r;

        be64_put(prefix, scope);
        r = cursor_open(t, TABLE_CHANGE, BYTES(prefix, 8), &c);
        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0 && bytes_begin(k, BYTES(prefix, 8))) {
                if (k.n < 9 + 8)
                        return -EUCLEAN;
                r = table_del(t, TABLE_BODY, BYTES((const uint8_t *)k.p + k.n - 8, 8));
                if (r == -ENOENT)
                        r = 0;
        }
        r = r == -ENOENT || r == 0 ? pass_erase(t, scope) : r;
        return r == 0 ? wait_erase(t, scope) : r;
}

int engine_scope_delete(Txn *t, const char *who, const char *name, const char *reason, uint64_t *ret_seq,
                        uint64_t *ret_records, Diag *reterr) {
        _cleanup_json_ json_t *fields = NULL, *entry = NULL;
        _cleanup_record_walk_ RecordWalk w = {0};
        _cleanup_record_ Record rec = RECORD_NULL;
        uint64_t scope, seq, n = 0;
        int r = scope_find(t, name, &scope, reterr) ?: engine_runs_end(t, who, scope, reterr);

        if (r != 0)
                return r;
        r = record_walk(t, scope, KIND_NONE, &w);
        while (r == 0 && (r = record_walk_next(&w, &rec)) == 0)
                n++;
        if (r != -ENOENT)
                return r;
        record_walk_deinit(&w);
        fields = json_pack("{s:s, s:o, s:o, s:s*}", "name", name, "scope", json_u64(scope), "records", json_u64(n),
                           "reason", reason);
        r = fields ? scope_erase(t, scope) : -ENOMEM;
        if (r == 0)
                r = event_record(t, &(Event){.type = "scope.deleted", .who = who, .fields = fields}, &seq, &entry)
                        ?: project_event(t, seq, entry, NULL, NULL);
        if (r < 0)
                return r;
        *ret_seq = seq;
        *ret_records = n;
        return 0;
}
