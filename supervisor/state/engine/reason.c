#include "engine/reason.h"

#include "engine/claim.h"
#include "engine/engine.h"
#include "engine/pass-history.h"

#include <errno.h>
#include <string.h>

static const char *const names[REASON_COUNT_] = {
        [REASON_BROKEN_REF] = "broken_ref",
        [REASON_SUPERSEDED_BY] = "superseded_by",
        [REASON_RETIRED_DEPENDENCY] = "retired_dependency",
        [REASON_UNSUPPORTED_SINCE] = "unsupported_since",
        [REASON_DISPUTED_BY] = "disputed_by",
};

const char *reason_name(ReasonCode c) {
        return c < REASON_COUNT_ ? names[c] : NULL;
}

ReasonCode reason_from_name(const char *name) {
        return (ReasonCode)(name_index(names, REASON_COUNT_, name) % REASON_COUNT_);
}

static int reason_compare(const void *a, const void *b) {
        const Reason *x = a, *y = b;

        if (x->code != y->code)
                return (x->code > y->code) - (x->code < y->code);
        return record_key_compare(&x->ref, &y->ref);
}

typedef struct ReasonList {
        Reason *v;
        size_t n;
        unsigned wanted;
} ReasonList;

static void reason_add(ReasonList *l, const Reason *one) {
        if (!(l->wanted & 1U << one->code) || l->n == REASONS_MAX)
                return;
        for (size_t i = 0; i < l->n; i++)
                if (reason_compare(&l->v[i], one) == 0) /* known by another role */
                        return;
        l->v[l->n++] = *one;
}

/* Checks the targets of the record. */
static int reason_check_targets(Txn *t, const RecordKey *k, ReasonList *l) {
        _cleanup_ref_walk_ RefWalk w = {0};
        Ref ref;
        int r = ref_walk(t, k, false, &w);

        while (r == 0 && (r = ref_walk_next(&w, &ref)) == 0) {
                _cleanup_record_ Record target = RECORD_NULL;
                uint64_t closed = 0;

                if (strcmp(ref.role, REF_ROLE_SUPERSEDES) == 0) /* a replaced target is expected to be gone */
                        continue;
                r = record_get(t, &ref.target, &target);
                if (r < 0 && r != -ENOENT)
                        return r;
                if (r == -ENOENT || target.state == RECORD_REMOVED)
                        reason_add(l, &(Reason){.code = REASON_BROKEN_REF, .ref = ref.target});
                else if (target.state == RECORD_ARCHIVED && ref.strong) {
                        if (json_get_u64(json_object_get(target.row, "closed"), &closed) < 0)
                                return -EUCLEAN;
                        reason_add(l, &(Reason){.code = REASON_RETIRED_DEPENDENCY, .ref = ref.target, .event = closed});
                }
                r = 0;
        }
        return r == -ENOENT ? 0 : r;
}

/* Checks the sources of edges to the record. */
static int reason_check_sources(Txn *t, const RecordKey *k, ReasonList *l) {
        _cleanup_ref_walk_ RefWalk w = {0};
        Ref ref;
        int r = ref_walk(t, k, true, &w);

        while (r == 0 && (r = ref_walk_next(&w, &ref)) == 0) {
                RecordState state;

                r = graph_state(t, &ref.source, &state);
                if (r == 0 && state == RECORD_ACTIVE)
                        r = graph_supersedes(t, &ref);
                if (r > 0)
                        reason_add(l, &(Reason){.code = REASON_SUPERSEDED_BY, .ref = ref.source});
                r = MIN(r, 0);
        }
        return r == -ENOENT ? 0 : r;
}

static int reason_check_support(Txn *t, const RecordKey *k, ReasonList *l) {
        Support s;
        uint64_t since;
        int r = graph_support(t, k, &s);

        if (r < 0 || s.strong + s.weak > 0)
                return r;
        r = pass_unsupported_since(t, k, &since);
        if (r == 0)
                reason_add(l, &(Reason){.code = REASON_UNSUPPORTED_SINCE, .pass = since});
        return r == -ENOENT ? 0 : r;
}

/* Records that say the opposite; a rule of a kernel is no record. */
static int reason_check_disputes(Txn *t, const RecordKey *k, ReasonList *l) {
        _cleanup_record_ Record rec = RECORD_NULL;
        Disputes d;
        int r = record_get(t, k, &rec);

        if (r == 0)
                r = disputes_of(t, &rec, NULL, &d);
        for (size_t i = 0; r == 0 && i < d.n; i++)
                if (!*d.v[i].rule)
                        reason_add(l, &(Reason){.code = REASON_DISPUTED_BY, .ref = d.v[i].key});
        return r == -ENOENT ? 0 : r;
}

int reasons_of(Txn *t, const RecordKey *k, unsigned wanted, Reason ret[static REASONS_MAX], size_t *ret_n) {
        ReasonList l = {.v = ret, .wanted = wanted};
        int r = 0;

        if (wanted & (1U << REASON_BROKEN_REF | 1U << REASON_RETIRED_DEPENDENCY))
                r = reason_check_targets(t, k, &l);
        if (r == 0 && wanted & 1U << REASON_SUPERSEDED_BY)
                r = reason_check_sources(t, k, &l);
        if (r == 0 && wanted & 1U << REASON_UNSUPPORTED_SINCE)
                r = reason_check_support(t, k, &l);
        if (r == 0 && wanted & 1U << REASON_DISPUTED_BY)
                r = reason_check_disputes(t, k, &l);
        if (r < 0)
                return r;
        qsort(ret, l.n, sizeof(*ret), reason_compare);
        *ret_n = l.n;
        return 0;
}

int reason_holds(Txn *t, const RecordKey *k, const Reason *reason) {
        Reason v[REASONS_MAX];
        size_t n;
        int r = reasons_of(t, k, 1U << reason->code, v, &n);

        for (size_t i = 0; r == 0 && i < n; i++)
                if (reason_compare(&v[i], reason) == 0 && v[i].event == reason->event && v[i].pass == reason->pass)
                        return 1;
        return r;
}

json_t *reason_json(const Reason *r) {
        bool ref = r->ref.kind != KIND_NONE;

        return json_pack("{s:s, s:s*, s:s*, s:o*, s:o*}", "reason", reason_name(r->code), "kind",
                         ref ? kind_name(r->ref.kind) : NULL, "id", ref ? r->ref.id : NULL, "event",
                         r->event ? json_u64(r->event) : NULL, "pass", r->pass ? json_u64(r->pass) : NULL);
}

int reason_parse(const json_t *o, uint64_t scope, Reason *ret, Diag *reterr) {
        const char *name = json_text(json_object_get(o, "reason")), *kind = json_text(json_object_get(o, "kind")),
                   *id = json_text(json_object_get(o, "id"));
        const json_t *event = json_object_get(o, "event"), *pass = json_object_get(o, "pass");
        Reason r = {.code = name ? reason_from_name(name) : REASON_NONE};
        size_t members = 1U + (kind != NULL) + (id != NULL) + (event != NULL) + (pass != NULL);
        Kind k = kind ? kind_from_name(kind) : KIND_NONE;
        bool fits;

        if (!r.code)
                return diag(reterr, ENGINE_E_BAD_PAYLOAD, "the reason's type is unknown");
        if (r.code == REASON_UNSUPPORTED_SINCE)
                fits = !kind && !id && pass;
        else
                fits = k && id && record_id_valid(k, id) && !pass;
        fits = fits && json_object_size(o) == members && (r.code == REASON_RETIRED_DEPENDENCY) == (event != NULL);
        if (!fits || (event && json_get_u64(event, &r.event) < 0) || (pass && json_get_u64(pass, &r.pass) < 0))
                return diag(reterr, ENGINE_E_BAD_PAYLOAD, "a reason %s has other members", name);
        if (k)
                r.ref = record_key_of(scope, k, id);
        *ret = r;
        return 0;
}
