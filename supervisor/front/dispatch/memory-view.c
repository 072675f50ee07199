/* Runs: supervisor. memory.view and memory.refs: why a record is there, and the references from and to a record (G-73).
 * The region sees edges to the kinds of its rights, and the number of further edges. */
#include "dispatch/memory-target.h"

#include "memory/records.h"
#include "memory/refs.h"

#include <errno.h>
#include <string.h>

/* The rights that decide about an edge. */
typedef struct ViewRight {
        const Dispatch *d;
        const MemoryTarget *of;
} ViewRight;

static bool view_may(const void *user, Kind kind) {
        const ViewRight *v = user;
        const Grant *g = v->d->grant;
        const char *scope = kind_class(kind) == CLASS_CANON    ? g->canon
                            : kind_class(kind) == CLASS_KERNEL ? g->kernels
                                                               : NULL;

        return memory_may(v->of, MEMORY_READ, kind) || (scope && strcmp(scope, v->of->scope) == 0);
}

/* Keeps the visible edges of a list. */
static void view_filter(const ViewRight *v, json_t *list, uint64_t *hidden) {
        for (size_t i = json_array_size(list); i-- > 0;) {
                const char *kind = json_text(json_object_get(json_array_get(list, i), "kind"));

                if (!kind || view_may(v, kind_from_name(kind)))
                        continue;
                json_array_remove(list, i);
                ++*hidden;
        }
}

typedef struct ViewAsk {
        const char *scope, *kind, *id;
} ViewAsk;

static int view_take(Dispatch *d, json_t *params, MemoryTarget *of, Txn **t, Record *rec, Diag *reterr) {
        ViewAsk a = {0};
        int r;

        if (json_take(params, "{s:s, s:s, s?:s}", "kind", &a.kind, "id", &a.id, "scope", &a.scope) < 0)
                return dispatch_bad_params(params, "{kind: string, id: string, scope?: string}", reterr);
        r = memory_take_target(d, params, a.scope, a.kind, a.id, MEMORY_READ, of, reterr)
                        ?: memory_begin_read(d, t, reterr);
        return r ?: memory_end_read(of, memory_find(*t, of->scope, of->kind, of->id, rec, reterr), NULL, reterr);
}

static int view_read(Dispatch *d, const MemoryTarget *of, const Record *rec) {
        d->memory_records++;
        return dispatch_read(d, &d->remembered, of->scope, kind_name(of->kind), of->id, rec->version);
}

/* A record with very many edges or changes would make a view of any size. */
static int view_check_size(Txn *t, const ViewRight *v, const Record *rec, json_t **ret_in, uint64_t *hidden,
                           Diag *reterr) {
        const EdgeBound bound = {.may = view_may, .user = v, .most = MEMORY_EDGES_MAX};
        bool cut = rec->version > MEMORY_EDGES_MAX;
        int r = cut ? 0 : memory_edges(t, &rec->key, true, &bound, ret_in, hidden, &cut);

        return r < 0 || !cut ? r
                             : diag(reterr, RPC_E_TOO_LARGE, "more than %d records refer to the record, or it has more "
                                    "changes: memory.refs and memory.history give parts", MEMORY_EDGES_MAX);
}

int dispatch_do_memory_view(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        _cleanup_json_ json_t *view = NULL, *in = NULL;
        _cleanup_record_ Record rec = RECORD_NULL;
        _cleanup_txn_ Txn *t = NULL;
        MemoryTarget of = {0};
        const ViewRight v = {d, &of};
        uint64_t hidden = 0;
        int r = view_take(d, params, &of, &t, &rec, reterr);

        if (r == 0)
                r = view_check_size(t, &v, &rec, &in, &hidden, reterr);
        if (r == 0)
                r = memory_end_read(&of, memory_view(t, of.scope, of.kind, of.id, &view, reterr), NULL, reterr);
        if (r != 0)
                return r;
        view_filter(&v, json_object_get(view, "invalidation"), &hidden);
        view_filter(&v, json_object_get(view, "cleanup"), &hidden);
        if (json_object_set(json_object_get(view, "lineage"), "incoming", in) < 0 ||
            json_object_set_new(view, "version", json_u64(rec.version)) < 0 ||
            json_object_set_new(view, "hidden", json_u64(hidden)) < 0)
                return -ENOMEM;
        r = view_read(d, &of, &rec) ?: dispatch_read_rows(d, &d->remembered, of.scope, NULL, NULL, in);
        return r ?: dispatch_answer(json_pack("{s:O}", "view", view), ret_result);
}

int dispatch_do_memory_refs(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        _cleanup_json_ json_t *in = NULL, *out = NULL;
        _cleanup_record_ Record rec = RECORD_NULL;
        _cleanup_txn_ Txn *t = NULL;
        MemoryTarget of = {0};
        const ViewRight v = {d, &of};
        const EdgeBound bound = {.may = view_may, .user = &v, .most = MEMORY_EDGES_MAX};
        uint64_t hidden = 0;
        bool cut = false;
        int r = view_take(d, params, &of, &t, &rec, reterr);

        if (r == 0)
                r = memory_end_read(&of, memory_edges(t, &rec.key, false, &bound, &out, &hidden, &cut)
                                                 ?: memory_edges(t, &rec.key, true, &bound, &in, &hidden, &cut),
                                    NULL, reterr);
        if (r == 0)
                r = view_read(d, &of, &rec)
                        ?: dispatch_read_rows(d, &d->remembered, of.scope, NULL, NULL, in)
                        ?: dispatch_read_rows(d, &d->remembered, of.scope, NULL, NULL, out);
        return r ?: dispatch_answer(json_pack("{s:s, s:s, s:s, s:s, s:o, s:O, s:O, s:o, s:b}", "scope", of.scope,
                                              "kind", kind_name(of.kind), "id", of.id, "state",
                                              memory_end_state(rec.state), "version", json_u64(rec.version),
                                              "outgoing", out, "incoming", in, "hidden", json_u64(hidden), "cut",
                                              (int)cut),
                                    ret_result);
}
