#include "record/event.h"
#include "record/rows.h"
#include "engine/scope.h"
#include "memory/digest.h"
#include "memory/records.h"
#include "memory/refs.h"

#include <errno.h>
#include <string.h>

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
