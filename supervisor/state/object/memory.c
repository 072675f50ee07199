#include "object/memory-inside.h"

#include "base/hash.h"
#include "object/intent.h"
#include "object/trigger.h"

#include <inttypes.h>

#define MEMORY_VERSION 1

void memory_deinit(ObjectMemory *m) {
        json_decref(m->intent);
        json_decref(m->context);
        json_decref(m->fold);
        *m = OBJECT_MEMORY_NULL;
}

/* Shares everything but the fold's own members. */
static int memory_copy(const ObjectMemory *m, ObjectMemory *ret) {
        json_t *fold = m->fold ? json_copied(m->fold) : json_object();

        if (!fold)
                return -ENOMEM;
        *ret = *m;
        ret->fold = fold;
        json_incref(ret->intent);
        json_incref(ret->context);
        return 0;
}

static int memory_check_chain(const ObjectMemory *m, const Entry *e, Diag *reterr) {
        const char *object = json_str(e->json, "object");
        char want[HASH_HEX_MAX], is[HASH_HEX_MAX];

        if (!region_id_valid(object))
                return diag(reterr, OBJECT_E_SYNTAX, "object \"%s\" is no id", DIAG_QUOTED(object));
        if (m->n > 0 && strcmp(object, m->object) != 0)
                return diag(reterr, OBJECT_E_CHAIN, "the entry is of another object than %s", m->object);
        if (e->n != m->n)
                return diag(reterr, OBJECT_E_CHAIN,
                            "stands where entry %" PRIu64 " must stand: entries are numbered without a gap", m->n);
        if (memcmp(e->prev, m->head, ENTRY_HASH_BYTES) != 0)
                return diag(reterr, OBJECT_E_CHAIN,
                            "follows the entry with the hash %s, but the entry before has %s: an entry was changed, "
                            "removed or put in", hex_encode(e->prev, ENTRY_HASH_BYTES, is),
                            hex_encode(m->head, ENTRY_HASH_BYTES, want));
        return 0;
}

/* The outcome of an execution is the only way from execution to evaluation. */
static int memory_check_move(const ObjectMemory *m, const Entry *e, Diag *reterr) {
        ObjectState to = entry_kind_state(e->kind);
        bool note = to == OBJECT_NONE, legal;

        if (note)
                legal = m->state != OBJECT_NONE &&
                        (m->state != OBJECT_TERMINATED || e->kind == ENTRY_ADOPTED ||
                         (e->kind == ENTRY_CHILD && json_is_true(json_object_get(memory_data(e), "late"))));
        else
                legal = object_state_can_move(m->state, to) &&
                        (to != OBJECT_EVALUATION || (m->state == OBJECT_EXECUTION) == (e->kind == ENTRY_OUTCOME));
        if (!legal)
                return diag(reterr, OBJECT_E_MOVE, "\"%s\" does not follow the state %s%s",
                            entry_kind_name(e->kind), object_state_name(m->state),
                            m->state == OBJECT_TERMINATED ? ", which is final: only late answers of children and adopted histories do" : "");
        if (e->state != (note ? m->state : to))
                return diag(reterr, OBJECT_E_MOVE,
                            "member \"state\" is \"%s\": after \"%s\" the state is %s",
                            object_state_name(e->state), entry_kind_name(e->kind),
                            object_state_name(note ? m->state : to));
        return 0;
}

static int memory_take_any(ObjectMemory *m, const Entry *e, Diag *reterr) {
        switch (e->kind) {
        case ENTRY_INSTANTIATED:
                return memory_take_first(m, e, reterr);
        case ENTRY_STARTED:
                return memory_take_started(m, e, reterr);
        case ENTRY_MUTATION:
                return memory_take_mutation(m, e, reterr);
        case ENTRY_DELEGATION:
                return memory_take_delegation(m, e, reterr);
        case ENTRY_DORMANT:
                return memory_take_dormant(m, e, reterr);
        case ENTRY_REENTRY:
                return memory_take_reentry(m, e, reterr);
        case ENTRY_TERMINATED:
                return memory_take_end(m, e, reterr);
        case ENTRY_OUTCOME:
                return memory_take_outcome(m, e, reterr);
        case ENTRY_CHILD:
                return memory_take_child(m, e, reterr);
        case ENTRY_INPUT: /* its text decides nothing (O-44, O-47) */
                return memory_put_number(m, "inputs", json_number(m->fold, "inputs") + 1) < 0
                               ? -ENOMEM
                               : memory_count(m, "input", e->time_usec);
        case ENTRY_CHECKPOINT:
        case ENTRY_EVALUATION:
        case ENTRY_ADOPTED:
        case ENTRY_KIND_COUNT_:
                return 0;
        }
        return 0;
}

/* A checkpoint says what the memory is before it. */
static int memory_check_checkpoint(const ObjectMemory *m, const Entry *e, Diag *reterr) {
        _cleanup_json_ json_t *now = NULL;
        int r = memory_to_json(m, &now);

        if (r == 0)
                r = outcome_same(now, json_object_get(memory_data(e), "fold"));
        if (r < 0)
                return r;
        if (r == 0)
                return diag(reterr, OBJECT_E_CHAIN, "the checkpoint is not the fold of the entries before");
        return 0;
}

/* The part that all entries have in common. */
static int memory_advance(ObjectMemory *m, const Entry *e) {
        json_t *ref = json_object_get(json_object_get(e->json, "policy"), "ref");

        strcpy(m->object, json_str(e->json, "object"));
        m->n = e->n + 1;
        memcpy(m->head, e->hash, ENTRY_HASH_BYTES);
        m->time_usec = e->time_usec;
        m->state = e->state;
        if (e->kind == ENTRY_CHECKPOINT)
                m->checkpoint = m->n;
        if (!json_text(ref) || json_string_length(ref) > MEMORY_FOLD_REASON_MAX)
                return 0;
        return memory_put(m, "policy", json_incref(ref));
}

int memory_apply(ObjectMemory *m, const Entry *e, Diag *reterr) {
        _cleanup_memory_ ObjectMemory next = OBJECT_MEMORY_NULL;
        ObjectMemory old;
        int r = memory_check_chain(m, e, reterr);

        if (r == 0)
                r = memory_check_move(m, e, reterr);
        if (r == 0 && e->kind == ENTRY_CHECKPOINT)
                r = memory_check_checkpoint(m, e, reterr);
        if (r == 0)
                r = memory_copy(m, &next);
        if (r == 0)
                r = memory_take_any(&next, e, reterr);
        if (r > 0)
                diag_prefix(reterr, "entry %" PRIu64 " of object %s", e->n, json_str(e->json, "object"));
        if (r == 0)
                r = memory_advance(&next, e);
        if (r != 0)
                return r;
        old = *m;
        *m = next;
        next = old; /* freed at the end of the block */
        return 0;
}

int memory_to_json(const ObjectMemory *m, json_t **ret) {
        char head[HASH_HEX_MAX];
        json_t *v = json_pack("{s:i, s:o, s:s, s:o, s:s, s:O*, s:O*, s:O*}", "version", MEMORY_VERSION, "n",
                              json_u64(m->n), "head", hex_encode(m->head, ENTRY_HASH_BYTES, head), "time",
                              json_u64(m->time_usec), "state", object_state_name(m->state), "intent", m->intent,
                              "context", m->context, "fold", m->fold);

        if (!v)
                return -ENOMEM;
        *ret = v;
        return 0;
}

int memory_from_json(const json_t *v, const char *object, ObjectMemory *ret, Diag *reterr) {
        ObjectMemory m = OBJECT_MEMORY_NULL;
        uint64_t version;

        if (json_get_u64(json_object_get(v, "version"), &version) < 0)
                return diag(reterr, OBJECT_E_SYNTAX, "fold: member \"version\" must be a number");
        if (version != MEMORY_VERSION)
                return diag(reterr, OBJECT_E_VERSION,
                            "fold: version %" PRIu64 " is not %d: a newer version of the program reads this fold",
                            version, MEMORY_VERSION);
        m.state = object_state_of(json_str(v, "state"));
        m.intent = json_object_get(v, "intent");
        m.context = json_object_get(v, "context");
        m.fold = json_object_get(v, "fold");
        if (json_get_u64(json_object_get(v, "n"), &m.n) < 0 || m.n == 0 ||
            json_get_u64(json_object_get(v, "time"), &m.time_usec) < 0 || m.state == OBJECT_NONE ||
            strlen(json_str(v, "head")) != 2 * ENTRY_HASH_BYTES ||
            hex_decode(json_str(v, "head"), m.head, ENTRY_HASH_BYTES) < 0 || !json_is_object(m.intent) ||
            !json_is_object(m.context) || !json_is_object(m.fold) || !region_id_valid(object))
                return diag(reterr, OBJECT_E_SYNTAX,
                            "fold: n, head, time, state, intent, context and fold must be there, as schema/object.md "
                            "says");
        strcpy(m.object, object);
        json_incref(m.intent);
        json_incref(m.context);
        json_incref(m.fold);
        *ret = m;
        return 0;
}

int memory_from_checkpoint(const Entry *e, ObjectMemory *ret, Diag *reterr) {
        _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
        int r;

        if (e->kind != ENTRY_CHECKPOINT)
                return diag(reterr, OBJECT_E_SYNTAX, "entry %" PRIu64 " is \"%s\", not a checkpoint", e->n,
                            entry_kind_name(e->kind));
        r = memory_from_json(json_object_get(memory_data(e), "fold"), json_str(e->json, "object"), &m, reterr);
        if (r == 0)
                r = memory_apply(&m, e, reterr);
        if (r != 0)
                return r;
        *ret = m;
        m = OBJECT_MEMORY_NULL;
        return 0;
}
