#include "engine/claim.h"
#include "engine/reason.h"
#include "refs/graph.h"
#include "memory/records.h"
#include "memory/refs.h"

#include <errno.h>

static int view_support(Txn *t, const RecordKey *k, json_t **ret) {
        Support s;
        int r = graph_support(t, k, &s);

        if (r == 0)
                *ret = json_pack("{s:o, s:o, s:f}", "strong", json_u64(s.strong), "weak", json_u64(s.weak), "score",
                                 s.score);
        return r == 0 && !*ret ? -ENOMEM : r;
}

/* The origin: the references to the record now, and the events that made the record. */
static int view_lineage(Txn *t, const Record *rec, json_t **ret) {
        _cleanup_json_ json_t *in = NULL, *events = json_array();
        _cleanup_change_walk_ ChangeWalk w = {0};
        uint64_t seq;
        Op op;
        int r = events ? memory_refs_of(t, &rec->key, true, false, &in) : -ENOMEM;

        if (r == 0)
                r = change_walk(t, &rec->key, &w);
        while (r == 0 && (r = change_walk_next(&w, &seq, &op)) == 0)
                /* earlier events belong to a previous record with the same id */
                if (seq >= rec->created && json_array_append_new(events, json_u64(seq)) < 0)
                        r = -ENOMEM;
        if (r != -ENOENT)
                return r;
        *ret = json_pack("{s:O, s:O}", "incoming", in, "events", events);
        return *ret ? 0 : -ENOMEM;
}

/* The targets of the record's references that do not hold any more. */
static int view_invalidation(Txn *t, const RecordKey *k, json_t **ret) {
        _cleanup_json_ json_t *a = json_array();
        _cleanup_ref_walk_ RefWalk w = {0};
        Ref ref;
        int r = a ? ref_walk(t, k, false, &w) : -ENOMEM;

        while (r == 0 && (r = ref_walk_next(&w, &ref)) == 0) {
                const char *cause;
                RecordState state;
                json_t *o;

                r = graph_state(t, &ref.target, &state);
                if (r < 0 || record_state_live(state))
                        continue;
                o = memory_edge(&ref.target, &ref, NULL);
                cause = state == RECORD_ARCHIVED ? "weakened" : memory_end_state(state);
                if (json_array_append_new(a, o) < 0 || json_object_set_new(o, "cause", json_string(cause)) < 0)
                        r = -ENOMEM;
        }
        if (r != -ENOENT)
                return r;
        *ret = TAKE_PTR(a);
        return 0;
}

static int view_cleanup(Txn *t, const RecordKey *k, json_t **ret) {
        _cleanup_json_ json_t *a = json_array();
        Reason v[REASONS_MAX];
        size_t n = 0;
        int r = a ? reasons_of(t, k, UINT32_MAX, v, &n) : -ENOMEM;

        for (size_t i = 0; r == 0 && i < n; i++)
                if (json_array_append_new(a, reason_json(&v[i])) < 0)
                        r = -ENOMEM;
        if (r == 0)
                *ret = TAKE_PTR(a);
        return r;
}

int memory_view(Txn *t, const char *scope, Kind kind, const char *id, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *s = NULL, *l = NULL, *i = NULL, *c = NULL;
        _cleanup_record_ Record rec = RECORD_NULL;
        int r = memory_find(t, scope, kind, id, &rec, reterr)
                ?: view_support(t, &rec.key, &s)
                ?: view_lineage(t, &rec, &l)
                ?: view_invalidation(t, &rec.key, &i)
                ?: view_cleanup(t, &rec.key, &c);

        if (r != 0)
                return r;
        *ret = json_pack("{s:s, s:s, s:s, s:s, s:O, s:O, s:O, s:O}", "scope", scope, "kind", kind_name(kind), "id", id,
                         "state", record_state_name(rec.state), "support", s, "lineage", l, "invalidation", i,
                         "cleanup", c);
        r = *ret ? disputes_put(t, &rec, *ret) : -ENOMEM;
        if (r < 0)
                json_decref(TAKE_PTR(*ret));
        return r;
}
