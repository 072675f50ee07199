#include "memory/digest.h"

#include "engine/claim.h"
#include "engine/scope.h"
#include "memory/propose.h"
#include "memory/records.h"
#include "memory/refs.h"

#include <errno.h>

static int scan_edge(Txn *t, const RecordKey *end, const Ref *ref, json_t *list) {
        _cleanup_record_ Record rec = RECORD_NULL;
        json_t *event, *o;
        int r = record_get(t, end, &rec);

        if (r < 0 && r != -ENOENT)
                return r;
        event = r == 0 && rec.state == RECORD_ARCHIVED ? json_object_get(rec.row, "closed") : NULL;
        o = memory_edge(end, ref, memory_end_state(r == 0 ? rec.state : RECORD_NONE));
        if (json_array_append_new(list, o) < 0 || (event && json_object_set(o, "event", event) < 0))
                return -ENOMEM;
        return memory_edge_granted(t, ref, o);
}

static int scan_edges(Txn *t, const RecordKey *k, bool incoming, json_t *list) {
        _cleanup_ref_walk_ RefWalk w = {0};
        Ref ref;
        int r = ref_walk(t, k, incoming, &w);

        while (r == 0 && (r = ref_walk_next(&w, &ref)) == 0)
                r = scan_edge(t, incoming ? &ref.source : &ref.target, &ref, list);
        return r == -ENOENT ? 0 : r;
}

/* The younger records that say the opposite: the digest proposes that the elder goes. */
static int scan_disputes(Txn *t, const Record *rec, json_t **ret) {
        _cleanup_json_ json_t *list = json_array();
        Disputes d;
        int r = list ? disputes_of(t, rec, NULL, &d) : -ENOMEM;

        for (size_t i = 0; r == 0 && i < d.n; i++) {
                _cleanup_record_ Record other = RECORD_NULL;

                if (*d.v[i].rule)
                        continue;
                r = record_get(t, &d.v[i].key, &other);
                if (r == 0 && other.content > rec->content &&
                    json_array_append_new(list, json_pack("{s:s, s:s}", "kind", kind_name(d.v[i].key.kind), "id",
                                                          d.v[i].key.id)) < 0)
                        r = -ENOMEM;
        }
        if (r == 0 && json_array_size(list) > 0)
                *ret = TAKE_PTR(list);
        return r;
}

static int scan_add(Txn *t, const Record *rec, unsigned reasons, const json_t *unsupported, json_t *records) {
        _cleanup_json_ json_t *in = json_array(), *out = json_array();
        json_t *since = json_object_get(json_object_get(unsupported, kind_name(rec->key.kind)), rec->key.id);
        _cleanup_json_ json_t *younger = NULL;
        int r = in && out ? scan_edges(t, &rec->key, true, in) : -ENOMEM;

        if (r == 0)
                r = scan_edges(t, &rec->key, false, out);
        if (r == 0 && reasons & 1U << REASON_DISPUTED_BY)
                r = scan_disputes(t, rec, &younger);
        if (r == 0 && json_array_append_new(records, json_pack("{s:s, s:s, s:s, s:O, s:O, s:O*, s:O*}", "kind",
                                                               kind_name(rec->key.kind), "id", rec->key.id, "state",
                                                               record_state_name(rec->state), "in", in, "out", out,
                                                               "since", since, "disputed", younger)) < 0)
                r = -ENOMEM;
        return r;
}

/* The records that the last pass found without support. */
static int scan_seen_unsupported(Txn *t, uint64_t seq, json_t **ret) {
        _cleanup_json_ json_t *body = NULL;
        int r = seq ? record_body(t, seq, &body) : -ENOENT;

        if (r == 0)
                *ret = json_incref(json_object_get(body, "unsupported"));
        return r == -ENOENT ? 0 : r;
}

int memory_scan(Txn *t, const char *scope, unsigned reasons, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *records = json_array(), *names = memory_reason_names(reasons), *unsupported = NULL;
        _cleanup_record_walk_ RecordWalk w = {0};
        _cleanup_record_ Record rec = RECORD_NULL;
        uint64_t number, last, seq;
        int r = records && names ? scope_find(t, scope, &number, reterr) : -ENOMEM;

        if (r == 0)
                r = pass_last(t, number, &last, &seq);
        if (r == 0 && reasons & 1U << REASON_UNSUPPORTED_SINCE)
                r = scan_seen_unsupported(t, seq, &unsupported);
        if (r == 0)
                r = record_walk(t, number, KIND_NONE, &w);
        if (r != 0)
                return r;
        while ((r = record_walk_next(&w, &rec)) == 0) {
                if (memory_is_family(rec.key.kind) && (rec.state == RECORD_ACTIVE || rec.state == RECORD_ARCHIVED))
                        r = scan_add(t, &rec, reasons, unsupported, records);
                if (r < 0)
                        return r;
        }
        if (r != -ENOENT)
                return r;
        *ret = json_pack("{s:i, s:s, s:o, s:O, s:O}", "version", PROPOSE_VERSION, "scope", scope, "pass",
                         json_u64(last + 1), "reasons", names, "records", records);
        return *ret ? 0 : -ENOMEM;
}
