/* Runs: supervisor. Reads of an agent that wants to act (G-73): context.read, kernel.read, note.list, pending.list. Each
 * part of an answer needs a grant: the core "kernels", belief "canon", a lane "memory" of the family, notes and their
 * fate "notes" with "read". A region sees only the notes of the own run. Answers are bounded. */
#include "dispatch/memory-target.h"

#include "base/clock.h"
#include "belief/own-notes.h"
#include "engine/claim.h"
#include "engine/past.h"
#include "engine/scope.h"
#include "memory/context.h"
#include "memory/records.h"
#include "memory/ruleset.h"

#include <errno.h>
#include <string.h>

static_assert(CONTEXT_TIERS - CONTEXT_MEMORY == MEMORY_FAMILIES, "a lane for each family");

static bool own_is(const char *granted, const char *scope) {
        return granted && strcmp(granted, scope) == 0;
}

static unsigned own_tiers(const Grant *g, const char *scope) {
        const MemoryRight *right = memory_right_of(g->memory, g->n_memory, scope);
        unsigned tiers = (own_is(g->kernels, scope) ? 1U << CONTEXT_CORE : 0) |
                         (own_is(g->canon, scope) ? 1U << CONTEXT_BELIEF : 0);

        for (unsigned i = 0; i < MEMORY_FAMILIES; i++)
                if (memory_right_has(right, MEMORY_READ, i))
                        tiers |= 1U << (CONTEXT_MEMORY + i);
        return tiers;
}

static int own_take_number(const json_t *said, const char *name, size_t least, size_t standard, size_t most,
                           size_t *ret, Diag *reterr) {
        *ret = standard;
        if (!said)
                return 0;
        if (!json_is_integer(said) || json_integer_value(said) < (json_int_t)least ||
            json_integer_value(said) > (json_int_t)most)
                return diag(reterr, RPC_E_INVALID_PARAMS, "%s is to be an integer from %zu to %zu", name, least, most);
        *ret = (size_t)json_integer_value(said);
        return 0;
}

int dispatch_keep_disputes(const Dispatch *d, const char *scope, json_t *rows) {
        const ContextAsk ask = {.tiers = own_tiers(d->grant, scope)};
        unsigned classes = context_classes(&ask);
        json_t *row;
        size_t i;
        int r = json_is_object(rows) ? disputes_keep(rows, classes) : 0;

        json_array_foreach(rows, i, row)
                r = r ?: disputes_keep(row, classes);
        return r;
}

/* *ret_at: the moment, as said, or NULL. */
static int context_take_params(const Dispatch *d, json_t *params, ContextAsk *ret, const char **ret_at, Diag *reterr) {
        const Grant *g = d->grant;
        json_t *lane = NULL, *bytes = NULL;
        size_t n;
        int r;

        *ret_at = NULL;
        *ret = (ContextAsk){.scope = g->canon ?: g->kernels ?: g->n_memory > 0 ? g->memory[0].scope : SCOPE_DEFAULT,
                            .look = CONTEXT_LOOK_ROWS, .now_usec = clock_real_usec(), .upto = PAST_NOW};
        if (json_take(params, "{s?:s, s?:s, s?:o, s?:o, s?:s}", "scope", &ret->scope, "query", &ret->query, "lane", &lane,
                      "bytes", &bytes, "at", ret_at) < 0)
                return dispatch_bad_params(params, "{scope?: string, query?: string, lane?: integer, bytes?: integer, "
                                           "at?: string}", reterr);
        r = own_take_number(lane, "lane", 1, CONTEXT_LANE_STANDARD, CONTEXT_LANE_MAX, &n, reterr)
                        ?: own_take_number(bytes, "bytes", CONTEXT_BYTES_MIN, CONTEXT_BYTES_STANDARD, CONTEXT_BYTES_MAX,
                                           &ret->bytes, reterr);
        ret->lane = (unsigned)n;
        ret->tiers = own_tiers(g, ret->scope);
        if (r == 0 && ret->tiers == 0)
                return diag(reterr, RPC_E_NOT_GRANTED, "this region may read no context of the scope: \"kernels\", "
                            "\"canon\" or \"memory\" (read) of its manifest must name the scope, and the policy must "
                            "allow it");
        return r;
}

/* Notes the reads of an answer: the kernels, the rows, the records. */
static int context_note_reads(Dispatch *d, const ContextAsk *ask, const json_t *o) {
        json_t *kernels = json_object_get(o, "kernels"), *rows, *version, *lane;
        const char *name;
        size_t i;
        int r = 0;

        json_object_foreach(kernels, name, version)
                if (json_integer_value(version) > 0) /* 0: no write was committed yet */
                        r = r ?: dispatch_read(d, &d->remembered, ask->scope, kind_name(ruleset_from_name(name)), "kernel",
                                       json_number(kernels, name));
        json_object_foreach(json_object_get(o, "belief"), name, rows) {
                d->belief_rows += json_array_size(rows);
                r = r ?: dispatch_read_rows(d, &d->belief, ask->scope, name, NULL, rows);
        }
        json_array_foreach(json_object_get(o, "advisory"), i, lane) {
                const char *family = json_str(lane, "lane");

                rows = json_object_get(lane, "records");
                d->memory_records += json_array_size(rows);
                for (size_t k = 0; r == 0 && k < MEMORY_FAMILIES; k++)
                        if (strcmp(family, class_name(kind_class(memory_families[k]))) == 0)
                                r = dispatch_read_rows(d, &d->remembered, ask->scope, kind_name(memory_families[k]),
                                                       NULL, rows);
        }
        return r;
}

static int own_failed(int r, const char *what, Diag *reterr) {
        return r > 0 ? (int)rpc_of_engine((EngineCode)r)
                     : diag(reterr, RPC_E_INTERNAL, "%s: %s", what, store_strerror(r));
}

int dispatch_do_context_read(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        json_t *o = NULL;
        const char *at;
        ContextAsk ask;
        int r = context_take_params(d, params, &ask, &at, reterr);

        if (r != 0)
                return r;
        if (d->memory_reads >= MEMORY_READS_MAX)
                return diag(reterr, RPC_E_TOO_MANY, "%d reads of memory and context are the most of one invocation",
                            MEMORY_READS_MAX);
        d->memory_reads++;
        d->belief_reads += ask.tiers >> CONTEXT_BELIEF & 1;
        r = dispatch_memory_look(d, &t, reterr);
        if (r != 0)
                return r;
        r = (at ? past_moment(t, at, ask.now_usec, &ask.upto, reterr) : 0) ?: memory_context(t, &ask, &o, reterr);
        if (r == ENGINE_E_NO_SCOPE && strcmp(ask.scope, SCOPE_DEFAULT) == 0) /* no write was committed yet */
                r = memory_context_empty(&ask, &o, reterr);
        if (r != 0)
                return own_failed(r, "context", reterr);
        r = context_note_reads(d, &ask, o);
        if (r != 0) {
                json_decref(o);
                return r;
        }
        return dispatch_answer(o, ret_result);
}

typedef struct KernelAsk {
        const Dispatch *d;
        Txn *t;
        RecordKey key;
        const char *scope;
} KernelAsk;

static int kernel_put_disputes(const KernelAsk *k, json_t *rule) {
        return disputes_put_rule(k->t, &k->key, json_str(rule, "id"), rule)
                       ?: dispatch_keep_disputes(k->d, k->scope, rule);
}

/* The entries after an id, of a section unless section is NULL, in the room of an answer. */
static int kernel_page(const KernelAsk *k, const json_t *rules, const char *section, const char *after, size_t limit,
                       json_t **ret, const char **ret_next) {
        _cleanup_json_ json_t *list = json_array();
        size_t i, room = BELIEF_ROWS_BYTES;
        const char *last = NULL;
        json_t *rule;

        if (!list)
                return -ENOMEM;
        json_array_foreach((json_t *)rules, i, rule) {
                const char *id = json_str(rule, "id");
                int r;

                if ((after && strcmp(id, after) <= 0) ||
                    (section && !json_text_is(json_object_get(rule, "section"), section)))
                        continue;
                r = json_array_size(list) == limit ? 0
                                                   : kernel_put_disputes(k, rule) ?: context_take(list, rule, &room);
                if (r < 0)
                        return r;
                if (r == 0) { /* the largest entry has room in an answer */
                        *ret_next = last;
                        break;
                }
                last = id;
        }
        *ret = TAKE_PTR(list);
        return 0;
}

int dispatch_do_kernel_read(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        _cleanup_json_ json_t *rules = NULL, *page = NULL;
        const char *kernel, *section = NULL, *after = NULL, *next = NULL;
        MemoryTarget of = {.scope = d->grant->kernels};
        _cleanup_txn_ Txn *t = NULL;
        json_t *said = NULL;
        uint64_t version = 0, scope = 0;
        KernelAsk ask;
        size_t limit;
        int r;

        if (json_take(params, "{s:s, s?:s, s?:s, s?:o}", "kernel", &kernel, "section", &section, "after", &after,
                      "limit", &said) < 0)
                return dispatch_bad_params(params, "{kernel: \"agent\" or \"world\", section?: string, after?: string, "
                                           "limit?: integer}", reterr);
        of.kind = ruleset_from_name(kernel);
        if (!of.kind)
                return diag(reterr, RPC_E_INVALID_PARAMS, "kernel is to be \"agent\" or \"world\"");
        r = dispatch_take_limit(said, OWN_ROWS_STANDARD, OWN_ROWS_MAX, &limit, reterr);
        if (r != 0)
                return r;
        if (!of.scope)
                return diag(reterr, RPC_E_NOT_GRANTED, "this region may read no kernel: the manifest must say "
                            "\"kernels\", and the policy must allow it");
        r = memory_begin_read(d, &t, reterr);
        if (r == 0)
                r = memory_end_read(&of, ruleset_rules(t, of.scope, of.kind, 0, &rules, NULL, &version, reterr),
                                    &rules, reterr);
        if (r == 0 && version > 0) /* 0: no scope yet, and no rules */
                r = scope_find(t, of.scope, &scope, reterr);
        ask = (KernelAsk){.d = d, .t = t, .key = record_key_of(scope, of.kind, RULESET_ID), .scope = of.scope};
        r = r ?: kernel_page(&ask, rules, section, after, limit, &page, &next);
        if (r == 0 && version > 0)
                r = dispatch_read(d, &d->remembered, of.scope, kind_name(of.kind), "kernel", version);
        return r ?: dispatch_answer(json_pack("{s:s, s:s, s:o, s:O, s:s*}", "scope", of.scope, "kernel", kernel,
                                              "version", json_u64(version), "rules", page, "next", next),
                                    ret_result);
}

static int own_take(Dispatch *d, json_t *params, size_t standard, size_t most, OwnAsk *ret, Diag *reterr) {
        json_t *after = NULL, *said = NULL;
        int r;

        *ret = (OwnAsk){.run = dispatch_run(d), .bytes = BELIEF_ROWS_BYTES, .look = OWN_LOOK_NOTES,
                        .belief = own_is(d->grant->canon, d->grant->notes ?: "")};
        if (json_take(params, "{s?:o, s?:o}", "after", &after, "limit", &said) < 0)
                return dispatch_bad_params(params, "{after?: integer, limit?: integer}", reterr);
        r = dispatch_take_limit(said, standard, most, &ret->limit, reterr);
        if (r == 0 && after && (!json_is_integer(after) || json_integer_value(after) < 0))
                r = diag(reterr, RPC_E_INVALID_PARAMS, "after is to be what \"next\" of an answer said");
        if (r != 0)
                return r;
        ret->after = after ? (uint64_t)json_integer_value(after) : 0;
        if (!d->grant->notes || !d->grant->own_notes)
                return diag(reterr, RPC_E_NOT_GRANTED, "this region may not read the notes of its run: \"notes\" of the "
                            "manifest must say \"read\": true, and the policy must allow it");
        if (d->own_reads >= OWN_READS_MAX)
                return diag(reterr, RPC_E_TOO_MANY, "%d reads of notes and pending items are the most of one "
                            "invocation", OWN_READS_MAX);
        d->own_reads++;
        d->belief_reads += ret->belief; /* the answer names rows of shared belief */
        return 0;
}

/* Rows of shared belief that an answer about a note names; their versions are those of now. */
static int own_note_rows(Dispatch *d, Txn *t, const OwnAsk *ask, const char *kind, const char *id) {
        _cleanup_record_ Record rec = RECORD_NULL;
        RecordKey k;
        int r;

        if (!ask->belief || !id || memory_key(t, d->grant->notes, kind_from_name(kind), id, &k, NULL) != 0)
                return 0;
        r = record_get(t, &k, &rec);
        d->belief_rows += r == 0;
        if (r == 0)
                r = dispatch_read(d, &d->belief, d->grant->notes, kind, id, rec.version);
        return r == -ENOENT ? 0 : r;
}

static json_t *own_answer(const OwnAsk *ask, const char *member, json_t *rows, uint64_t next) {
        return json_pack("{s:s, s:O, s:o*}", "run", ask->run, member, rows, "next", next ? json_u64(next) : NULL);
}

int dispatch_do_note_list(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        _cleanup_json_ json_t *rows = NULL;
        _cleanup_txn_ Txn *t = NULL;
        uint64_t next = 0;
        json_t *row;
        OwnAsk ask;
        size_t i;
        int r = own_take(d, params, OWN_ROWS_STANDARD, OWN_ROWS_MAX, &ask, reterr);

        if (r != 0)
                return r;
        if (store_begin(d->store, false, &t, reterr) != 0)
                return RPC_E_INTERNAL;
        r = own_notes(t, &ask, &rows, &next);
        json_array_foreach(rows, i, row) {
                r = r ?: own_note_rows(d, t, &ask, json_str(row, "bucket"), json_text(json_object_get(row, "id")));
                r = r ?: dispatch_note_read(d, json_number(row, "note"), json_text(json_object_get(row, "region")));
        }
        return r < 0 ? own_failed(r, "notes", reterr) : dispatch_answer(own_answer(&ask, "notes", rows, next), ret_result);
}

int dispatch_do_pending_list(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        static const ResolvePolicy policy = RESOLVE_POLICY_DEFAULT;
        const Trying by = {.policy = &policy, .region = d->region};
        _cleanup_json_ json_t *rows = NULL;
        _cleanup_txn_ Txn *t = NULL;
        uint64_t next = 0;
        size_t i, k;
        json_t *row, *candidate;
        OwnAsk ask;
        int r = own_take(d, params, PENDING_ROWS_STANDARD, PENDING_ROWS_MAX, &ask, reterr);

        if (r != 0)
                return r;
        if (store_begin(d->store, false, &t, reterr) != 0)
                return RPC_E_INTERNAL;
        r = own_pending(t, &ask, &by, &rows, &next);
        json_array_foreach(rows, i, row) {
                json_array_foreach(json_object_get(json_object_get(row, "now"), "candidates"), k, candidate)
                        r = r ?: own_note_rows(d, t, &ask, json_str(row, "kind"),
                                               json_text(json_object_get(candidate, "id")));
                json_array_foreach(json_object_get(row, "candidates"), k, candidate)
                        r = r ?: own_note_rows(d, t, &ask, json_str(row, "kind"),
                                               json_text(json_object_get(candidate, "id")));
                r = r ?: dispatch_note_read(d, json_number(row, "number"), json_text(json_object_get(row, "region")));
        }
        return r < 0 ? own_failed(r, "pending items", reterr)
                     : dispatch_answer(own_answer(&ask, "items", rows, next), ret_result);
}
