/* Runs: supervisor. memory.*: the memory service (schema/memory.md) for a region, limited to the granted scopes and
 * families; the existence of other scopes stays hidden. A save or a deletion is judged at its request and held until
 * the region's end (write-buffer.c); a refusal leaves its code. The work for an answer is bounded. */
#include "dispatch/memory-target.h"

#include "base/clean.h"
#include "base/clock.h"
#include "refs/graph.h"
#include "memory/records.h"

#include <errno.h>
#include <string.h>

static_assert(ARRAY_SIZE(memory_families) == MEMORY_FAMILIES, "as memory_family_words");

static int memory_not_granted(MemoryAccess a, Diag *reterr) {
        return diag(reterr, RPC_E_NOT_GRANTED, "this region may not %s the record: \"memory\" of its manifest must ask "
                    "for scope and family, and the policy must allow it", memory_access_words[a]);
}

int memory_take_scope(const Dispatch *d, const char *scope, MemoryAccess a, MemoryTarget *ret, Diag *reterr) {
        const Grant *g = d->grant;

        ret->right = scope ? memory_right_of(g->memory, g->n_memory, scope) : g->n_memory > 0 ? &g->memory[0] : NULL;
        if (!ret->right || !ret->right->may[a])
                return memory_not_granted(a, reterr);
        ret->scope = ret->right->scope;
        ret->kind = KIND_NONE;
        ret->id = NULL;
        return 0;
}

bool memory_may(const MemoryTarget *of, MemoryAccess a, Kind k) {
        for (unsigned i = 0; i < MEMORY_FAMILIES; i++)
                if (memory_families[i] == k)
                        return memory_right_has(of->right, a, i);
        return false;
}

int memory_take_target(const Dispatch *d, json_t *params, const char *scope, const char *kind, const char *id,
                              MemoryAccess a, MemoryTarget *ret, Diag *reterr) {
        int r = memory_take_scope(d, scope, a, ret, reterr);

        if (r != 0)
                return r;
        ret->id = id;
        ret->kind = kind_from_name(kind);
        return memory_may(ret, a, ret->kind) ? 0 : memory_not_granted(a, reterr);
}

/* The bounds of one answer. */
static MemoryBound memory_bound(const MemoryTarget *of) {
        MemoryBound b = {.records = MEMORY_LOOK_RECORDS, .text = MEMORY_LOOK_TEXT};

        for (unsigned i = 0; i < MEMORY_FAMILIES; i++)
                if (memory_right_has(of->right, MEMORY_READ, i))
                        b.classes |= 1U << kind_class(memory_families[i]);
        return b;
}

int memory_begin_read(Dispatch *d, Txn **ret, Diag *reterr) {
        if (d->memory_reads >= MEMORY_READS_MAX)
                return diag(reterr, RPC_E_TOO_MANY, "%d reads of memory are the most of one invocation",
                            MEMORY_READS_MAX);
        d->memory_reads++;
        return dispatch_memory_look(d, ret, reterr);
}

int memory_end_read(const MemoryTarget *of, int r, json_t **rows, Diag *reterr) {
        if (r == ENGINE_E_NO_SCOPE && strcmp(of->scope, SCOPE_DEFAULT) == 0) {
                if (rows)
                        return (*rows = json_array()) ? 0 : -ENOMEM;
                r = diag(reterr, ENGINE_E_NO_RECORD, "there is no memory yet");
        }
        if (r == ENGINE_E_BAD_NAME)
                r = ENGINE_E_NO_RECORD; /* no record has an invalid id */
        if (r < 0)
                return diag(reterr, RPC_E_INTERNAL, "memory: %s", store_strerror(r));
        return r == 0 ? 0 : (int)rpc_of_engine((EngineCode)r);
}

/* An accepted reference proves its target's existence: a region may refer only to families that the region reads or
 * saves. A reference that ends its target needs the right to save it: a digest removes superseded records (I-98). */
static int memory_check_refs(const MemoryTarget *of, const json_t *refs, Diag *reterr) {
        for (size_t i = 0; i < json_array_size(refs); i++) {
                const json_t *ref = json_array_get(refs, i), *role = json_object_get(ref, "role");
                const char *name = json_text(json_object_get(ref, "kind"));
                Kind k = name ? kind_from_name(name) : KIND_NONE;

                if (json_text_is(role, REF_ROLE_SUPERSEDES) && !memory_may(of, MEMORY_WRITE, k))
                        return diag(reterr, RPC_E_NOT_GRANTED, "refs[%zu]: role \"%s\" ends the named record, and this "
                                    "region may not save %s in scope %s: \"write\" of its memory must name the family",
                                    i, REF_ROLE_SUPERSEDES, k ? kind_name(k) : "records of that kind", of->scope);
                if (memory_is_family(k) && !memory_may(of, MEMORY_READ, k) && !memory_may(of, MEMORY_WRITE, k))
                        return diag(reterr, RPC_E_NOT_GRANTED, "refs[%zu]: this region may neither read nor save %s", i,
                                    kind_name(k));
        }
        return 0;
}

int dispatch_do_memory_save(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *scope = NULL, *kind, *id = NULL, *type = NULL;
        json_t *payload, *refs = NULL, *expect = NULL;
        HeldMemory h;
        Mutated done;
        json_int_t version = 0;
        MemoryTarget of;
        int r;

        if (json_take(params, "{s:s, s:o, s?:s, s?:s, s?:s, s?:o, s?:o}", "kind", &kind, "payload", &payload, "scope",
                      &scope, "id", &id, "type", &type, "refs", &refs, "expect", &expect) < 0)
                return dispatch_bad_params(params, "{kind: string, payload: object, scope?: string, id?: string, "
                                           "type?: string, refs?: array, expect?: integer}", reterr);
        r = memory_take_target(d, params, scope, kind, id, MEMORY_WRITE, &of, reterr);
        if (r != 0)
                return r;
        if (!json_is_object(payload) || (refs && !json_is_array(refs)))
                return diag(reterr, RPC_E_INVALID_PARAMS, "payload is to be an object, and refs an array");
        r = dispatch_take_version(expect, &version, reterr) ?: memory_check_refs(&of, refs, reterr);
        if (r != 0)
                return r;
        h = (HeldMemory){.params = params, .scope = of.scope, .kind = of.kind, .id = id, .type = type,
                         .payload = payload, .refs = refs, .expect = expect ? (uint64_t)version : MUTATION_ANY};
        r = dispatch_memory_hold(d, &h, &done, reterr);
        if (r != 0)
                return r;
        return dispatch_answer_held(d,
                                    json_pack("{s:s, s:s, s:s, s:o, s:b, s:b}", "scope", of.scope, "kind",
                                              kind_name(of.kind), "id", done.id, "version", json_u64(done.version),
                                              "created", (int)done.created, "held", 1),
                                    ret_result);
}

int dispatch_do_memory_delete(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *scope = NULL, *kind, *id, *reason = NULL;
        HeldMemory h;
        Mutated done;
        MemoryTarget of;
        int r;

        if (json_take(params, "{s:s, s:s, s?:s, s?:s}", "kind", &kind, "id", &id, "scope", &scope, "reason", &reason) <
            0)
                return dispatch_bad_params(params, "{kind: string, id: string, scope?: string, reason?: string}",
                                           reterr);
        r = memory_take_target(d, params, scope, kind, id, MEMORY_DELETE, &of, reterr);
        if (r != 0)
                return r;
        if (reason && strlen(reason) > MEMORY_REASON_MAX)
                return diag(reterr, RPC_E_TOO_LARGE, "a reason of %zu bytes: at most %d are allowed", strlen(reason),
                            MEMORY_REASON_MAX);
        if (reason && clean_check("reason", reason, strlen(reason), true, reterr) != 0)
                return RPC_E_BAD_PAYLOAD;
        h = (HeldMemory){
                .params = params, .deletes = true, .scope = of.scope, .kind = of.kind, .id = id, .reason = reason};
        r = dispatch_memory_hold(d, &h, &done, reterr);
        if (r != 0)
                return r;
        return dispatch_answer_held(d,
                                    json_pack("{s:s, s:[{s:s, s:s}], s:b}", "scope", of.scope, "deleted", "kind",
                                              kind_name(of.kind), "id", id, "held", 1),
                                    ret_result);
}

static int memory_note_rows(Dispatch *d, const MemoryTarget *of, const json_t *rows) {
        return dispatch_read_rows(d, &d->remembered, of->scope, kind_name(of->kind), of->id, rows);
}

static int memory_note_record(Dispatch *d, const MemoryTarget *of, json_t *record) {
        _cleanup_json_ json_t *rows = json_pack("[O]", record);

        return rows ? memory_note_rows(d, of, rows) : -ENOMEM;
}

/* The stored record, or an earlier one (M-64). */
static int memory_load_said(Txn *t, const MemoryTarget *of, uint64_t version, const char *at, json_t **ret,
                            Diag *reterr) {
        uint64_t upto = PAST_NOW;
        int r = at ? past_moment(t, at, clock_real_usec(), &upto, reterr) : 0;

        if (r != 0)
                return r;
        return version || at ? memory_load_past(t, of->scope, of->kind, of->id, version, upto, ret, reterr)
                             : memory_load(t, of->scope, of->kind, of->id, ret, reterr);
}

int dispatch_do_memory_load(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *scope = NULL, *kind, *id, *at = NULL;
        _cleanup_json_ json_t *record = NULL;
        _cleanup_txn_ Txn *t = NULL;
        json_int_t version = 0;
        json_t *said = NULL;
        MemoryTarget of;
        int r;

        if (json_take(params, "{s:s, s:s, s?:s, s?:o, s?:s}", "kind", &kind, "id", &id, "scope", &scope, "version",
                      &said, "at", &at) < 0)
                return dispatch_bad_params(
                        params, "{kind: string, id: string, scope?: string, version?: integer, at?: string}", reterr);
        r = memory_take_target(d, params, scope, kind, id, MEMORY_READ, &of, reterr);
        if (r == 0 && said && (!json_is_integer(said) || (version = json_integer_value(said)) < 1))
                r = diag(reterr, RPC_E_INVALID_PARAMS, "version is to be an integer from 1 on");
        if (r == 0 && said && at)
                r = diag(reterr, RPC_E_INVALID_PARAMS, "version and at do not go together");
        if (r == 0)
                r = memory_begin_read(d, &t, reterr);
        if (r == 0)
                r = memory_end_read(&of, memory_load_said(t, &of, (uint64_t)version, at, &record, reterr), NULL,
                                    reterr);
        if (r != 0)
                return r;
        d->memory_records++;
        r = dispatch_keep_disputes(d, of.scope, record)
                        ?: dispatch_answer(json_pack("{s:O}", "record", record), ret_result);
        return r == 0 ? memory_note_record(d, &of, record) : r;
}

/* Ends a read of several records: they are counted, and noted as read. Returns as memory_end_read(). */
static int memory_end_rows(Dispatch *d, const MemoryTarget *of, int r, json_t **rows, Diag *reterr) {
        r = memory_end_read(of, r, rows, reterr);
        if (r != 0)
                return r;
        d->memory_records += json_array_size(*rows);
        return dispatch_keep_disputes(d, of->scope, *rows) ?: memory_note_rows(d, of, *rows);
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
        MemoryTarget of;
        int r;

        if (json_take(params, "{s?:s, s?:s, s?:s, s?:o}", "filter", &filter, "scope", &scope, "after", &after, "limit",
                      &said) < 0)
                return dispatch_bad_params(params, "{filter?: string, scope?: string, after?: string, limit?: integer}",
                                           reterr);
        r = memory_take_scope(d, scope, MEMORY_READ, &of, reterr)
                        ?: dispatch_take_limit(said, MEMORY_ROWS_STANDARD, MEMORY_ROWS_MAX, &limit, reterr);
        if (r != 0)
                return r;
        r = filter_parse(filter, strlen(filter), clock_real_usec(), &f, reterr);
        if (r != 0)
                return r > 0 ? RPC_E_BAD_QUERY : r;
        b = memory_bound(&of);
        r = memory_begin_read(d, &t, reterr);
        if (r != 0)
                return r;
        r = memory_page(t, of.scope, &f, &b, after, limit, &rows, next, reterr);
        if (r == ENGINE_E_BAD_NAME)
                return diag(reterr, RPC_E_INVALID_PARAMS, "after is to be what \"next\" of an answer said");
        r = memory_end_rows(d, &of, r, &rows, reterr);
        if (r != 0)
                return r;
        return dispatch_answer(json_pack("{s:O, s:s*}", "records", rows, "next", *next ? next : NULL), ret_result);
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
        MemoryTarget of;
        int r;

        if (json_take(params, "{s:s, s?:s, s?:o}", "query", &query, "scope", &scope, "limit", &said) < 0)
                return dispatch_bad_params(params, "{query: string, scope?: string, limit?: integer}", reterr);
        r = memory_take_scope(d, scope, MEMORY_READ, &of, reterr)
                        ?: dispatch_take_limit(said, QUERY_LIMIT_STANDARD, QUERY_LIMIT_MAX, &limit, reterr);
        if (r != 0)
                return r;
        r = query_parse(query, strlen(query), limit, clock_real_usec(), &q, reterr);
        if (r != 0)
                return r > 0 ? RPC_E_BAD_QUERY : r;
        b = memory_bound(&of);
        r = memory_begin_read(d, &t, reterr);
        if (r != 0)
                return r;
        r = memory_search_within(t, of.scope, &q, &b, &rows, &cut, reterr);
        if (r == ENGINE_E_BAD_PAYLOAD)
                return RPC_E_BAD_QUERY;
        r = memory_end_rows(d, &of, r, &rows, reterr);
        if (r != 0)
                return r;
        return dispatch_answer(json_pack("{s:O, s:o*}", "records", rows, "cut", cut ? json_true() : NULL), ret_result);
}

int dispatch_do_memory_history(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *scope = NULL, *kind, *id;
        _cleanup_json_ json_t *changes = NULL;
        json_t *said = NULL, *after = NULL;
        _cleanup_txn_ Txn *t = NULL;
        uint64_t next = 0;
        size_t limit;
        MemoryTarget of;
        int r;

        if (json_take(params, "{s:s, s:s, s?:s, s?:o, s?:o}", "kind", &kind, "id", &id, "scope", &scope, "after",
                      &after, "limit", &said) < 0)
                return dispatch_bad_params(
                        params, "{kind: string, id: string, scope?: string, after?: integer, limit?: integer}", reterr);
        r = memory_take_target(d, params, scope, kind, id, MEMORY_READ, &of, reterr)
                        ?: dispatch_take_limit(said, MEMORY_ROWS_STANDARD, MEMORY_ROWS_MAX, &limit, reterr);
        if (r == 0 && after && (!json_is_integer(after) || json_integer_value(after) < 0))
                r = diag(reterr, RPC_E_INVALID_PARAMS, "after is to be what \"next\" of an answer said");
        r = r ?: memory_begin_read(d, &t, reterr);
        if (r != 0)
                return r;
        r = memory_changes(t, of.scope, of.kind, of.id, after ? (uint64_t)json_integer_value(after) : 0, limit,
                           &changes, &next, reterr);
        r = memory_end_read(&of, r, NULL, reterr) ?: memory_note_rows(d, &of, changes);
        if (r != 0)
                return r;
        return dispatch_answer(json_pack("{s:O, s:o*}", "changes", changes, "next", next ? json_u64(next) : NULL),
                               ret_result);
}
