/* Runs: supervisor. A region's saves and deletions of typed memory, held until the region's end. An invocation that
 * breaks a budget commits no write (I-24), so a save is judged at its request and takes effect at the region's end:
 *
 *  request     a write transaction replays all held writes that the new write touches, then applies the new write; the
 *              transaction is aborted, whatever the verdict. A refusal leaves mutation.refused, in its own transaction
 *  read        the same replay, and the read inside of it: only the region itself sees its held writes
 *  region end  all held writes in the transaction of the end, each with its verdict of that moment; or memory.discarded
 *
 * Before the end no table and no ledger has a held write: a supervisor that dies leaves no trace of them. An aborted
 * transaction costs no flush, and leaves the transactions of the same batch intact (store/txn.c). A judgement cannot
 * know the number of its future event: a generated id keeps the unique number of the region's beginning. */
#include "dispatch/dispatch-internal.h"

#include "engine/delete.h"
#include "engine/region-row.h"
#include "region/region-key.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *held_id(const HeldMemory *h) {
        return *h->made ? h->made : h->id;
}

static Mutation held_mutation(const Dispatch *d, const HeldMemory *h, const KeySet *keys) {
        return (Mutation){.scope = h->scope, .kind = h->kind, .op = h->deletes ? OP_DELETE : OP_SAVE, .id = held_id(h),
                          .type = h->type, .payload = h->payload, .refs = h->refs, .expect = h->expect,
                          .region = d->region, .keys = keys, .one_of_many = true,
                          .may_supersede = true}; /* memory.c checked the right */
}

static int held_delete(const Dispatch *d, Txn *t, const HeldMemory *h, const KeySet *keys, Diag *reterr) {
        _cleanup_json_ json_t *went = NULL;
        Deletion x = {.scope = h->scope, .kind = h->kind, .id = h->id, .bounded = true, .reason = h->reason,
                      .keys = keys, .region = d->region};
        int r = engine_delete(t, &x, &went, reterr);

        /* The dependents may be of families that the region may not see. */
        return r == ENGINE_E_DEPENDENTS ? diag(reterr, r, "records that refer to this record must be deleted first")
                                        : r;
}

/* Returns 0, EngineCode with a message, -errno. */
static int held_apply(const Dispatch *d, Txn *t, const HeldMemory *h, const KeySet *keys, Mutated *ret, Diag *reterr) {
        Mutation m = held_mutation(d, h, keys);

        return h->deletes ? held_delete(d, t, h, keys, reterr) : engine_mutate(t, &m, ret, reterr);
}

/* Applies all held writes. The region's end will record a refusal after a later write of another region. */
static int held_replay(Dispatch *d, Txn *t) {
        Mutated done;
        Diag why;
        int r = 0;

        for (size_t i = 0; r >= 0 && i < d->n_memory; i++) {
                r = held_apply(d, t, &d->memory[i], NULL, &done, &why);
                d->memory[i].version = r == 0 && !d->memory[i].deletes ? done.version : 0;
        }
        return MIN(r, 0);
}

static int held_begin(Dispatch *d, Txn **ret, Diag *reterr) {
        int r;

        if (d->memory_bytes > MEMORY_AGAIN_BYTES - d->memory_again)
                return diag(reterr, RPC_E_TOO_MANY, "held writes were replayed for answers up to the bound of %d bytes "
                            "in all", MEMORY_AGAIN_BYTES);
        d->memory_again += d->memory_bytes;
        if (store_begin(d->store, true, ret, reterr) != 0)
                return RPC_E_INTERNAL;
        r = held_replay(d, *ret);
        if (r == 0)
                return 0;
        store_abort(TAKE_PTR(*ret));
        return diag(reterr, RPC_E_INTERNAL, "memory: %s", store_strerror(r));
}

int dispatch_memory_look(Dispatch *d, Txn **ret, Diag *reterr) {
        if (d->n_memory > 0)
                return held_begin(d, ret, reterr);
        return store_begin(d->store, false, ret, reterr) == 0 ? 0 : RPC_E_INTERNAL;
}

/* Makes an id of the number of the region's beginning, which is unique, and of the number of the region's requests. */
static int held_make_id(Dispatch *d, Txn *t, HeldMemory *h) {
        _cleanup_json_ json_t *row = NULL;
        uint64_t allocated;
        int r = region_json_get(t, d->region, &row);

        if (r == ENGINE_E_NO_REGION || (r == 0 && json_get_u64(json_object_get(row, "allocated"), &allocated) < 0))
                return -EUCLEAN;
        if (r < 0)
                return r;
        snprintf(h->made, sizeof(h->made), "%.32s-%" PRIu64 "-%" PRIu64, kind_name(h->kind), allocated,
                 d->memory_writes);
        if (h->expect == MUTATION_ANY)
                h->expect = 0;
        return 0;
}

static bool held_is_target(const json_t *ref, const HeldMemory *h) {
        const char *kind = json_text(json_object_get(ref, "kind")), *id = json_text(json_object_get(ref, "id"));

        return kind && id && kind_from_name(kind) == h->kind && strcmp(id, held_id(h)) == 0;
}

/* Is the verdict independent of the held writes? True: no held write names the record, and h has no reference. */
static bool held_is_independent(const Dispatch *d, const HeldMemory *h) {
        const json_t *ref;
        size_t k;

        if (h->deletes || json_array_size(h->refs) > 0)
                return false;
        for (size_t i = 0; h->id && i < d->n_memory; i++) {
                const HeldMemory *other = &d->memory[i];

                if (strcmp(other->scope, h->scope) != 0)
                        continue;
                if (other->kind == h->kind && strcmp(held_id(other), h->id) == 0)
                        return false;
                json_array_foreach((json_t *)other->refs, k, ref)
                        if (held_is_target(ref, h))
                                return false;
        }
        return true;
}

/* Returns 0, EngineCode with a message, -errno. */
static int held_judge(Dispatch *d, Txn *t, HeldMemory *h, Mutated *ret, Diag *reterr) {
        _cleanup_keys_ const KeySet *keys = NULL;
        int r = h->deletes || h->id ? 0 : held_make_id(d, t, h);

        if (r < 0)
                return r;
        keys = region_keys_hold();
        return held_apply(d, t, h, keys, ret, reterr);
}

/* Records the engine's refusal. */
static int held_record_refusal(Dispatch *d, const HeldMemory *h, EngineCode code, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        Mutation m = held_mutation(d, h, NULL);
        int r;

        m.id = h->id; /* the request named no generated id */
        if (store_begin(d->store, true, &t, reterr) != 0)
                return RPC_E_INTERNAL;
        r = engine_mutation_refused(t, &m, code);
        if (r < 0)
                return diag(reterr, RPC_E_INTERNAL, "memory: %s", store_strerror(r));
        if (store_commit(TAKE_PTR(t), reterr) != 0)
                return RPC_E_INTERNAL;
        d->recorded = true;
        return (int)rpc_of_engine(code);
}

static int held_add(Dispatch *d, const HeldMemory *h) {
        if (!GROW(d->memory, d->n_memory))
                return -ENOMEM;
        d->memory[d->n_memory++] = *h;
        json_incref(h->params);
        d->memory_bytes += h->bytes;
        return 0;
}

int dispatch_memory_hold(Dispatch *d, HeldMemory *h, Mutated *ret, Diag *reterr) {
        Txn *t = NULL;
        int r;

        /* Refused writes are events as well, and no region may write the ledger without end. */
        if (d->memory_writes >= MEMORY_WRITES_MAX)
                return diag(reterr, RPC_E_TOO_MANY, "%d saves and deletions of one invocation are the most, the "
                            "refused ones with them", MEMORY_WRITES_MAX);
        if (d->n_memory >= MEMORY_HELD_MAX)
                return diag(reterr, RPC_E_TOO_MANY,
                            "%d saves and deletions are held until the region's end, and no more", MEMORY_HELD_MAX);
        h->bytes = json_dumpb(h->params, NULL, 0, JSON_COMPACT);
        if (h->bytes == 0 || h->bytes > MEMORY_HELD_BYTES - d->memory_bytes)
                return diag(reterr, RPC_E_TOO_LARGE, "%zu bytes are held of saves and deletions: %zu more are beyond "
                            "%d", d->memory_bytes, h->bytes, MEMORY_HELD_BYTES);
        d->memory_writes++;
        if (held_is_independent(d, h))
                r = store_begin(d->store, true, &t, reterr) == 0 ? 0 : RPC_E_INTERNAL;
        else
                r = held_begin(d, &t, reterr);
        if (r != 0)
                return r;
        r = held_judge(d, t, h, ret, reterr);
        store_abort(t);
        if (r < 0)
                return diag(reterr, RPC_E_INTERNAL, "memory: %s", store_strerror(r));
        if (r > 0)
                return rpc_of_engine((EngineCode)r) == RPC_E_INTERNAL ? (int)RPC_E_INTERNAL
                               : held_record_refusal(d, h, (EngineCode)r, reterr);
        return held_add(d, h);
}

bool dispatch_memory_is_held(const Dispatch *d, const char *scope, const char *kind, const char *id, uint64_t version) {
        Kind k = d->n_memory > 0 ? kind_from_name(kind) : KIND_NONE;

        for (size_t i = 0; i < d->n_memory; i++)
                if (d->memory[i].version == version && d->memory[i].kind == k &&
                    strcmp(held_id(&d->memory[i]), id) == 0 && strcmp(d->memory[i].scope, scope) == 0)
                        return true;
        return false;
}

static int held_commit_all(Dispatch *d, Txn *t, json_t *refused, uint64_t *ret_committed) {
        _cleanup_keys_ const KeySet *keys = region_keys_hold();
        int r = 0;

        for (size_t i = 0; r >= 0 && i < d->n_memory; i++) {
                const HeldMemory *h = &d->memory[i];
                Mutated done;
                Diag why;

                r = held_apply(d, t, h, keys, &done, &why);
                *ret_committed += r == 0;
                if (r > 0 && json_array_append_new(refused, json_pack("{s:s, s:s, s:s, s:s, s:s}", "op",
                                                                      h->deletes ? "delete" : "save", "scope", h->scope,
                                                                      "kind", kind_name(h->kind), "id", held_id(h),
                                                                      "code", engine_code_name((EngineCode)r))) < 0)
                        r = -ENOMEM;
        }
        return MIN(r, 0);
}

int dispatch_memory_end(Dispatch *d, Txn *t, bool keep, const char *reason) {
        _cleanup_json_ json_t *refused = json_array(), *fields = NULL;
        uint64_t committed = 0;
        int r = 0;

        json_decref(d->memory_end);
        d->memory_end = NULL;
        if (!refused)
                return -ENOMEM;
        if (d->n_memory == 0)
                return 0;
        if (keep)
                r = held_commit_all(d, t, refused, &committed);
        else {
                fields = json_pack("{s:o, s:s}", "count", json_u64(d->n_memory), "reason", reason);
                r = fields ? engine_event(t, d->region, "memory.discarded", fields, NULL) : -ENOMEM;
        }
        if (r < 0)
                return r;
        d->memory_end = json_pack("{s:o, s:o, s:o, s:O}", "held", json_u64(d->n_memory), "committed",
                                  json_u64(committed), "discarded", json_u64(keep ? 0 : d->n_memory), "refused",
                                  refused);
        return d->memory_end ? 0 : -ENOMEM;
}
