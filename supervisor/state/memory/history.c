#include "record/event.h"
#include "record/rows.h"
#include "memory/records.h"

#include <errno.h>
#include <string.h>

static const char *history_change_name(Op op, uint64_t version) {
        static const char *const names[] = {
                [OP_ARCHIVE] = "archived", [OP_RESTORE] = "restored", [OP_REMOVE] = "removed",
                [OP_DELETE] = "deleted",   [OP_PATCH] = "patched",
        };

        if (op == OP_SAVE)
                return version == 1 ? "created" : "updated";
        return (size_t)op < ARRAY_SIZE(names) && names[op] ? names[op] : op_name(op);
}

static int history_change(Txn *t, uint64_t seq, Op op, json_t **ret) {
        static const char *const kept[] = {"version", "time", "who", "region", "pass", "reason", "dependents", "with"};
        _cleanup_json_ json_t *entry = NULL, *o = json_pack("{s:o}", "seq", json_u64(seq)), *body = NULL;
        const json_t *reason;
        uint64_t version;
        int r = o ? event_get(t, seq, &entry) : -ENOMEM;

        if (r == 0 && json_get_u64(json_object_get(entry, "version"), &version) < 0)
                r = -EUCLEAN;
        if (r < 0)
                return r;
        if (JSON_ROW_KEEP(o, entry, kept) < 0)
                return -ENOMEM;
        r = op == OP_DELETE ? record_body(t, seq, &body) : 0;
        if (r < 0 && r != -ENOENT)
                return r;
        reason = json_object_get(body, "reason"); /* the person's reason for a deletion */
        if (json_object_set_new(o, "change", json_string(history_change_name(op, version))) < 0 ||
            (reason && json_object_set(o, "reason", (json_t *)reason) < 0))
                return -ENOMEM;
        /* A deletion shows the hash of the payload; memory_load() shows the payload of an existing record. */
        if (op == OP_DELETE && json_object_get(entry, "payload") &&
            json_object_set(o, "payload", json_object_get(entry, "payload")) < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}

int memory_changes(Txn *t, const char *scope, Kind kind, const char *id, uint64_t after, size_t limit, json_t **ret,
                   uint64_t *ret_next, Diag *reterr) {
        _cleanup_json_ json_t *a = json_array();
        _cleanup_change_walk_ ChangeWalk w = {0};
        uint64_t seq, last = 0;
        bool known = false;
        RecordKey k;
        Op op;
        int r = a ? memory_key(t, scope, kind, id, &k, reterr) : -ENOMEM;

        *ret_next = 0;
        if (r != 0)
                return r;
        r = change_walk(t, &k, &w);
        while (r == 0 && (r = change_walk_next(&w, &seq, &op)) == 0) {
                json_t *o = NULL;

                known = true;
                if (seq <= after)
                        continue;
                if (json_array_size(a) == limit) {
                        *ret_next = last;
                        break;
                }
                last = seq;
                r = history_change(t, seq, op, &o);
                if (r == 0 && json_array_append_new(a, o) < 0)
                        r = -ENOMEM;
        }
        if (r < 0 && r != -ENOENT)
                return r;
        if (!known)
                return diag(reterr, ENGINE_E_NO_RECORD, "there has never been a record %s of %s in scope %s", id,
                            kind_name(kind), scope);
        *ret = TAKE_PTR(a);
        return 0;
}

int memory_history(Txn *t, const char *scope, Kind kind, const char *id, json_t **ret, Diag *reterr) {
        uint64_t next;

        return memory_changes(t, scope, kind, id, 0, SIZE_MAX, ret, &next, reterr);
}
