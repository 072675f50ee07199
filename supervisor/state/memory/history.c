#include "base/clock.h"
#include "record/event.h"
#include "engine/reason.h"
#include "memory/records.h"

#include <errno.h>
#include <string.h>

static const char *change_of(Op op, uint64_t version) {
        switch (op) {
        case OP_SAVE:
                return version == 1 ? "created" : "updated";
        case OP_ARCHIVE:
                return "archived";
        case OP_RESTORE:
                return "restored";
        case OP_REMOVE:
                return "removed";
        case OP_DELETE:
                return "deleted";
        case OP_PATCH:
                return "patched";
        case OP_NONE:
        case OP_UPSERT:
        case OP_APPEND:
        case OP_INVALIDATE:
        case OP_RESOLVE:
                break;
        }
        return op_name(op);
}

static int one(Txn *t, uint64_t seq, Op op, json_t **ret) {
        static const char *const kept[] = {"version", "time", "who", "region", "pass", "reason", "dependents", "with"};
        _cleanup_json_ json_t *entry = NULL, *o = json_pack("{s:o}", "seq", json_u64(seq)), *body = NULL;
        const json_t *reason;
        uint64_t version;
        int r = o ? event_get(t, seq, &entry) : -ENOMEM;

        if (r == 0 && json_get_u64(json_object_get(entry, "version"), &version) < 0)
                r = -EUCLEAN;
        if (r < 0)
                return r;
        for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
                json_t *v = json_object_get(entry, kept[i]);

                if (v && json_object_set(o, kept[i], v) < 0)
                        return -ENOMEM;
        }
        r = op == OP_DELETE ? record_body(t, seq, &body) : 0;
        if (r < 0 && r != -ENOENT)
                return r;
        reason = json_object_get(body, "reason"); /* of a deletion: what a person said */
        if (json_object_set_new(o, "change", json_string(change_of(op, version))) < 0 || (reason && json_object_set(o, "reason", (json_t *)reason) < 0))
                return -ENOMEM;
        /* The hash of what was deleted; of what is there, load has the payload itself. */
        if (op == OP_DELETE && json_object_get(entry, "payload") && json_object_set(o, "payload", json_object_get(entry, "payload")) < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}

int memory_changes(Txn *t, const char *scope, Kind kind, const char *id, uint64_t after, size_t limit, json_t **ret, uint64_t *ret_next, Diag *reterr) {
        _cleanup_json_ json_t *a = json_array();
        _cleanup_change_walk_ ChangeWalk w = {0};
        char quoted[400];
        uint64_t number, seq, last = 0;
        bool known = false;
        RecordKey k;
        Op op;
        int r = a ? scope_find(t, scope, &number, reterr) : -ENOMEM;

        *ret_next = 0;
        if (r != 0)
                return r;
        if (!record_id_valid(kind, id))
                return diag(reterr, ENGINE_E_BAD_NAME, "\"%s\" is not an id of %s: %s", diag_quote(id, strlen(id), quoted, sizeof(quoted)), kind_name(kind),
                            record_id_rule(kind));
        k = record_key_of(number, kind, id);
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
                r = one(t, seq, op, &o);
                if (r == 0 && json_array_append_new(a, o) < 0)
                        r = -ENOMEM;
        }
        if (r < 0 && r != -ENOENT)
                return r;
        if (!known)
                return diag(reterr, ENGINE_E_NO_RECORD, "there has never been a record %s of %s in scope %s", id, kind_name(kind), scope);
        *ret = TAKE_PTR(a);
        return 0;
}

int memory_history(Txn *t, const char *scope, Kind kind, const char *id, json_t **ret, Diag *reterr) {
        uint64_t next;

        return memory_changes(t, scope, kind, id, 0, SIZE_MAX, ret, &next, reterr);
}
