/* Runs: supervisor. memory.*: the memory service (schema/memory.md) as a region reaches it: the scopes and families that it was granted, and of others not even
 * whether they are there. A save or a deletion is judged when it is asked for and held until the region's end (write-buffer.c); what is refused leaves its
 * code. An answer looks at so much and no more: the rest is for the next request. */
#include "dispatch/dispatch-internal.h"

#include "base/clean.h"
#include "base/clock.h"
#include "refs/graph.h"
#include "memory/records.h"

#include <errno.h>
#include <string.h>

static const Kind families[MEMORY_FAMILIES] = {KIND_MEMORY, KIND_KNOWLEDGE, KIND_SKILL}; /* as memory_family_words */

/* What a request speaks of, and may. */
typedef struct Of {
        const MemoryRight *right;
        const char *scope;
        Kind kind;
        const char *id;
} Of;

static int bad(Diag *reterr, const char *what) {
        return diag(reterr, RPC_E_INVALID_PARAMS, "%s", what);
}

static int not_granted(MemoryAccess a, Diag *reterr) {
        return diag(reterr, RPC_E_NOT_GRANTED, "this region may not %s it: \"memory\" of its manifest would have to ask for scope and family, and the policy to allow it",
                    memory_access_words[a]);
}

/* The scope that was said, else the first that the manifest names. */
static int take_scope(const Dispatch *d, const char *scope, MemoryAccess a, Of *ret, Diag *reterr) {
        const Grant *g = d->grant;

        ret->right = scope ? memory_right_of(g->memory, g->n_memory, scope) : g->n_memory > 0 ? &g->memory[0] : NULL;
        if (!ret->right || !ret->right->may[a])
                return not_granted(a, reterr);
        ret->scope = ret->right->scope;
        ret->kind = KIND_NONE;
        ret->id = NULL;
        return 0;
}

static bool may(const Of *of, MemoryAccess a, Kind k) {
        for (unsigned i = 0; i < MEMORY_FAMILIES; i++)
                if (families[i] == k)
                        return memory_right_has(of->right, a, i);
        return false;
}

static int take_of(const Dispatch *d, json_t *params, const char *scope, const char *kind, const char *id, MemoryAccess a, Of *ret, Diag *reterr) {
        int r = take_scope(d, scope, a, ret, reterr);

        if (r != 0)
                return r;
        ret->id = id;
        ret->kind = kind_from_name(kind);
        return may(ret, a, ret->kind) ? 0 : not_granted(a, reterr);
}

static int take_limit(const json_t *said, size_t standard, size_t most, size_t *ret, Diag *reterr) {
        *ret = standard;
        if (!said)
                return 0;
        if (!json_is_integer(said) || json_integer_value(said) < 1 || json_integer_value(said) > (json_int_t)most)
                return diag(reterr, RPC_E_INVALID_PARAMS, "limit is to be an integer from 1 to %zu", most);
        *ret = (size_t)json_integer_value(said);
        return 0;
}

/* What may be looked at for one answer. */
static MemoryBound bound_of(const Of *of) {
        MemoryBound b = {.records = MEMORY_LOOK_RECORDS, .text = MEMORY_LOOK_TEXT};

        for (unsigned i = 0; i < MEMORY_FAMILIES; i++)
                if (memory_right_has(of->right, MEMORY_READ, i))
                        b.classes |= 1U << kind_class(families[i]);
        return b;
}

static int begin_read(Dispatch *d, Txn **ret, Diag *reterr) {
        if (d->memory_reads >= MEMORY_READS_MAX)
                return diag(reterr, RPC_E_TOO_MANY, "%d reads of memory are the most of one invocation", MEMORY_READS_MAX);
        d->memory_reads++;
        return dispatch_memory_look(d, ret, reterr);
}

/* What a read of the memory service came to. Without *rows: it was of one record, which is not there when nobody wrote into the scope yet. */
static int end_read(const Of *of, int r, json_t **rows, Diag *reterr) {
        if (r == ENGINE_E_NO_SCOPE && strcmp(of->scope, SCOPE_DEFAULT) == 0) {
                if (rows)
                        return (*rows = json_array()) ? 0 : -ENOMEM;
                r = diag(reterr, ENGINE_E_NO_RECORD, "there is no memory yet");
        }
        if (r == ENGINE_E_BAD_NAME)
                r = ENGINE_E_NO_RECORD; /* nothing has such an id */
        return r == 0 ? 0 : r > 0 ? (int)rpc_of_engine((EngineCode)r) : diag(reterr, RPC_E_INTERNAL, "memory: %s", store_strerror(r));
}

static int answer(json_t *o, json_t **ret_result) {
        *ret_result = o;
        return o ? 0 : -ENOMEM;
}

/* A reference says of its target that it is there: of families that this region neither reads nor saves nothing is said. A reference that ends its target needs
 * the right to save there: a digest archives what is superseded, and then removes it (I-98). */
static int check_refs(const Of *of, const json_t *refs, Diag *reterr) {
        for (size_t i = 0; i < json_array_size(refs); i++) {
                const json_t *ref = json_array_get(refs, i), *role = json_object_get(ref, "role");
                const char *name = json_text(json_object_get(ref, "kind"));
                Kind k = name ? kind_from_name(name) : KIND_NONE;

                if (json_text_is(role, REF_ROLE_SUPERSEDES) && !may(of, MEMORY_WRITE, k))
                        return diag(reterr, RPC_E_NOT_GRANTED, "refs[%zu]: role \"%s\" ends the record that it names, and this region may not save %s in scope %s: \"write\" "
                                    "of its memory would have to name that family", i, REF_ROLE_SUPERSEDES, k ? kind_name(k) : "records of that kind", of->scope);
                if (memory_is_family(k) && !may(of, MEMORY_READ, k) && !may(of, MEMORY_WRITE, k))
                        return diag(reterr, RPC_E_NOT_GRANTED, "refs[%zu]: this region may neither read nor save %s", i, kind_name(k));
        }
        return 0;
}

int dispatch_do_memory_save(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *scope = NULL, *kind, *id = NULL, *type = NULL;
        json_t *payload, *refs = NULL, *expect = NULL;
        HeldMemory h;
        Mutated done;
        Of of;
        int r;

        if (json_take(params, "{s:s, s:o, s?:s, s?:s, s?:s, s?:o, s?:o}", "kind", &kind, "payload", &payload, "scope", &scope, "id", &id,
                           "type", &type, "refs", &refs, "expect", &expect) < 0)
                return dispatch_bad_params(params, "{kind: string, payload: object, scope?: string, id?: string, type?: string, refs?: array, expect?: integer}", reterr);
        r = take_of(d, params, scope, kind, id, MEMORY_WRITE, &of, reterr);
        if (r != 0)
                return r;
        if (!json_is_object(payload) || (refs && !json_is_array(refs)))
                return bad(reterr, "payload is to be an object, and refs an array");
        if (expect && (!json_is_integer(expect) || json_integer_value(expect) < 0 || json_integer_value(expect) > JSON_INTEGER_MOST))
                return bad(reterr, "expect is to be a version: an integer from 0 to 2^53-1");
        r = check_refs(&of, refs, reterr);
        if (r != 0)
                return r;
        h = (HeldMemory){.params = params, .scope = of.scope, .kind = of.kind, .id = id, .type = type, .payload = payload, .refs = refs,
                         .expect = expect ? (uint64_t)json_integer_value(expect) : MUTATION_ANY};
        r = dispatch_memory_hold(d, &h, &done, reterr);
        if (r != 0)
                return r;
        return dispatch_answer_held(d, json_pack("{s:s, s:s, s:s, s:o, s:b, s:b}", "scope", of.scope, "kind", kind_name(of.kind), "id", done.id, "version",
                                             json_u64(done.version), "created", (int)done.created, "held", 1), ret_result);
}

int dispatch_do_memory_delete(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *scope = NULL, *kind, *id, *reason = NULL;
        HeldMemory h;
        Mutated done;
        Of of;
        int r;

        if (json_take(params, "{s:s, s:s, s?:s, s?:s}", "kind", &kind, "id", &id, "scope", &scope, "reason", &reason) < 0)
                return dispatch_bad_params(params, "{kind: string, id: string, scope?: string, reason?: string}", reterr);
        r = take_of(d, params, scope, kind, id, MEMORY_DELETE, &of, reterr);
        if (r != 0)
                return r;
        if (reason && strlen(reason) > MEMORY_REASON_MAX)
                return diag(reterr, RPC_E_TOO_LARGE, "a reason of %zu bytes: at most %d are allowed", strlen(reason), MEMORY_REASON_MAX);
        if (reason && clean_check("reason", reason, strlen(reason), true, reterr) != 0)
                return RPC_E_BAD_PAYLOAD;
        h = (HeldMemory){.params = params, .deletes = true, .scope = of.scope, .kind = of.kind, .id = id, .reason = reason};
        r = dispatch_memory_hold(d, &h, &done, reterr);
        if (r != 0)
                return r;
        return dispatch_answer_held(d, json_pack("{s:s, s:[{s:s, s:s}], s:b}", "scope", of.scope, "deleted", "kind", kind_name(of.kind), "id", id, "held", 1), ret_result);
}

static int read_rows(Dispatch *d, const Of *of, const json_t *rows) {
        return dispatch_read_rows(d, &d->remembered, of->scope, kind_name(of->kind), of->id, rows);
}

static int read_one(Dispatch *d, const Of *of, json_t *record) {
        _cleanup_json_ json_t *rows = json_pack("[O]", record);

        return rows ? read_rows(d, of, rows) : -ENOMEM;
}

int dispatch_do_memory_load(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *scope = NULL, *kind, *id;
        _cleanup_json_ json_t *record = NULL;
        _cleanup_txn_ Txn *t = NULL;
        Of of;
        int r;

        if (json_take(params, "{s:s, s:s, s?:s}", "kind", &kind, "id", &id, "scope", &scope) < 0)
                return dispatch_bad_params(params, "{kind: string, id: string, scope?: string}", reterr);
        r = take_of(d, params, scope, kind, id, MEMORY_READ, &of, reterr);
        if (r == 0)
                r = begin_read(d, &t, reterr);
        if (r == 0)
                r = end_read(&of, memory_load(t, of.scope, of.kind, of.id, &record, reterr), NULL, reterr);
        if (r != 0)
                return r;
        d->memory_records++;
        r = answer(json_pack("{s:O}", "record", record), ret_result);
        return r == 0 ? read_one(d, &of, record) : r;
}

int dispatch_do_memory_list(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *scope = NULL, *filter = "", *after = NULL;
        _cleanup_json_ json_t *rows = NULL;
        _cleanup_txn_ Txn *t = NULL;
        char next[MEMORY_PLACE_MAX] = "";
        json_t *said = NULL;
        RecordFilter f;
        MemoryBound b;
        size_t limit;
        Of of;
        int r;

        if (json_take(params, "{s?:s, s?:s, s?:s, s?:o}", "filter", &filter, "scope", &scope, "after", &after, "limit", &said) < 0)
                return dispatch_bad_params(params, "{filter?: string, scope?: string, after?: string, limit?: integer}", reterr);
        r = take_scope(d, scope, MEMORY_READ, &of, reterr);
        if (r == 0)
                r = take_limit(said, MEMORY_ROWS_STANDARD, MEMORY_ROWS_MAX, &limit, reterr);
        if (r != 0)
                return r;
        r = filter_parse(filter, strlen(filter), clock_real_usec(), &f, reterr);
        if (r != 0)
                return r > 0 ? RPC_E_BAD_QUERY : r;
        b = bound_of(&of);
        r = begin_read(d, &t, reterr);
        if (r != 0)
                return r;
        r = memory_page(t, of.scope, &f, &b, after, limit, &rows, next, reterr);
        if (r == ENGINE_E_BAD_NAME)
                return bad(reterr, "after is to be what \"next\" of an answer said");
        r = end_read(&of, r, &rows, reterr);
        if (r != 0)
                return r;
        d->memory_records += json_array_size(rows);
        r = read_rows(d, &of, rows);
        return r < 0 ? r : answer(json_pack("{s:O, s:s*}", "records", rows, "next", *next ? next : NULL), ret_result);
}

int dispatch_do_memory_search(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *scope = NULL, *query;
        _cleanup_query_ MemoryQuery q = QUERY_NULL;
        _cleanup_json_ json_t *rows = NULL;
        _cleanup_txn_ Txn *t = NULL;
        json_t *said = NULL;
        MemoryBound b;
        bool cut = false;
        size_t limit;
        Of of;
        int r;

        if (json_take(params, "{s:s, s?:s, s?:o}", "query", &query, "scope", &scope, "limit", &said) < 0)
                return dispatch_bad_params(params, "{query: string, scope?: string, limit?: integer}", reterr);
        r = take_scope(d, scope, MEMORY_READ, &of, reterr);
        if (r == 0)
                r = take_limit(said, QUERY_LIMIT_STANDARD, QUERY_LIMIT_MAX, &limit, reterr);
        if (r != 0)
                return r;
        r = query_parse(query, strlen(query), limit, clock_real_usec(), &q, reterr);
        if (r != 0)
                return r > 0 ? RPC_E_BAD_QUERY : r;
        b = bound_of(&of);
        r = begin_read(d, &t, reterr);
        if (r != 0)
                return r;
        r = memory_search_within(t, of.scope, &q, &b, &rows, &cut, reterr);
        if (r == ENGINE_E_BAD_PAYLOAD)
                return RPC_E_BAD_QUERY;
        r = end_read(&of, r, &rows, reterr);
        if (r != 0)
                return r;
        d->memory_records += json_array_size(rows);
        r = read_rows(d, &of, rows);
        return r < 0 ? r : answer(json_pack("{s:O, s:o*}", "records", rows, "cut", cut ? json_true() : NULL), ret_result);
}

int dispatch_do_memory_history(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *scope = NULL, *kind, *id;
        _cleanup_json_ json_t *changes = NULL;
        json_t *said = NULL, *after = NULL;
        _cleanup_txn_ Txn *t = NULL;
        uint64_t next = 0;
        size_t limit;
        Of of;
        int r;

        if (json_take(params, "{s:s, s:s, s?:s, s?:o, s?:o}", "kind", &kind, "id", &id, "scope", &scope, "after", &after, "limit", &said) < 0)
                return dispatch_bad_params(params, "{kind: string, id: string, scope?: string, after?: integer, limit?: integer}", reterr);
        r = take_of(d, params, scope, kind, id, MEMORY_READ, &of, reterr);
        if (r == 0)
                r = take_limit(said, MEMORY_ROWS_STANDARD, MEMORY_ROWS_MAX, &limit, reterr);
        if (r == 0 && after && (!json_is_integer(after) || json_integer_value(after) < 0))
                r = bad(reterr, "after is to be what \"next\" of an answer said");
        if (r == 0)
                r = begin_read(d, &t, reterr);
        if (r == 0)
                r = memory_changes(t, of.scope, of.kind, of.id, after ? (uint64_t)json_integer_value(after) : 0, limit, &changes, &next, reterr);
        if (r == 0)
                r = read_rows(d, &of, changes);
        if (r == 0 || !t)
                return r ? r : answer(json_pack("{s:O, s:o*}", "changes", changes, "next", next ? json_u64(next) : NULL), ret_result);
        return end_read(&of, r, NULL, reterr);
}

int dispatch_memory_summary(const Dispatch *d, json_t **ret) {
        *ret = NULL;
        if (d->memory_reads == 0)
                return 0;
        *ret = json_pack("{s:o, s:o}", "count", json_u64(d->memory_reads), "records", json_u64(d->memory_records));
        return *ret ? 0 : -ENOMEM;
}
