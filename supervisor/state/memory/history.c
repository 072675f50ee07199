#include "memory/digest.h"

#include "record/event.h"
#include "record/rows.h"
#include "memory/records.h"
#include "memory/refs.h"

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

/* A pass with its run record. */
static int why_pass(Txn *t, uint64_t seq, json_t **ret) {
        static const char *const kept[] = {"pass", "time", "routine", "archived", "removed", "who", "proposed_by"};
        _cleanup_json_ json_t *entry = NULL, *body = NULL, *o = json_pack("{s:o}", "seq", json_u64(seq));
        int r = o ? event_get(t, seq, &entry) : -ENOMEM;

        if (r == 0)
                r = record_body(t, seq, &body);
        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        if (JSON_ROW_KEEP(o, entry, kept) < 0 || json_object_set(o, "record", body) < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}

int memory_passes(Txn *t, const char *scope, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *a = json_array();
        uint64_t number, last, seq;
        int r = a ? scope_find(t, scope, &number, reterr) : -ENOMEM;

        if (r == 0)
                r = pass_last(t, number, &last, &seq);
        while (r == 0 && seq) {
                json_t *o = NULL;

                r = why_pass(t, seq, &o);
                if (r == 0 && json_array_insert_new(a, 0, o) < 0)
                        r = -ENOMEM;
                if (r == 0)
                        r = pass_before(t, seq, &seq);
        }
        if (r == 0)
                *ret = TAKE_PTR(a);
        return r;
}

static json_t *why_candidate(const json_t *passes, const json_t *pass, const char *kind, const char *id) {
        for (size_t i = 0; i < json_array_size(passes); i++) {
                const json_t *p = json_array_get(passes, i),
                             *list = json_object_get(json_object_get(p, "record"), "candidates");

                for (size_t k = 0; json_equal(json_object_get(p, "pass"), pass) && k < json_array_size(list); k++) {
                        json_t *o = json_array_get(list, k);

                        if (json_text_is(json_object_get(o, "kind"), kind) &&
                            json_text_is(json_object_get(o, "id"), id))
                                return o;
                }
        }
        return NULL;
}

/* The record's changes by a pass, a restore or a deletion, each with the evidence at that time. */
static int why_changes(Txn *t, const char *scope, Kind kind, const char *id, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *history = NULL, *passes = NULL, *a = json_array();
        json_t *o;
        size_t i;
        int r = a ? memory_history(t, scope, kind, id, &history, reterr) : -ENOMEM;

        if (r == 0)
                r = memory_passes(t, scope, &passes, reterr);
        if (r != 0)
                return r;
        json_array_foreach(history, i, o) {
                const char *change = json_text(json_object_get(o, "change"));
                json_t *candidate = why_candidate(passes, json_object_get(o, "pass"), kind_name(kind), id);

                if (strcmp(change, "created") == 0 || strcmp(change, "updated") == 0)
                        continue;
                if ((candidate && json_object_set(o, "candidate", candidate) < 0) || json_array_append(a, o) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(a);
        return 0;
}

int memory_why(Txn *t, const char *scope, Kind kind, const char *id, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *changes = NULL, *view = NULL, *refs = NULL;
        _cleanup_record_ Record rec = RECORD_NULL;
        int r = why_changes(t, scope, kind, id, &changes, reterr);

        if (r != 0)
                return r;
        r = memory_find(t, scope, kind, id, &rec, reterr);
        if (r == ENGINE_E_NO_RECORD) {
                *ret = json_pack("{s:s, s:s, s:s, s:s, s:O, s:[], s:[]}", "scope", scope, "kind", kind_name(kind), "id",
                                 id, "state", "deleted", "changes", changes, "now", "blockers");
                return *ret ? 0 : -ENOMEM;
        }
        if (r == 0)
                r = memory_view(t, scope, kind, id, &view, reterr) ?: memory_refs(t, scope, kind, id, &refs, reterr);
        if (r != 0)
                return r;
        *ret = json_pack("{s:s, s:s, s:s, s:s, s:O, s:O, s:O}", "scope", scope, "kind", kind_name(kind), "id", id,
                         "state", record_state_name(rec.state), "changes", changes, "now",
                         json_object_get(view, "cleanup"), "blockers", json_object_get(refs, "blockers"));
        return *ret ? 0 : -ENOMEM;
}
