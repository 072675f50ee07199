/* Runs: tests. Random objects with histories that keep every rule, the same for the same seed. */
#pragma once

#include "object/bundle.h"
#include "object/intent.h"
#include "object/trigger.h"
#include "signer.h"

#define RANDOM_SIGNERS 3

typedef struct RandomObject {
        ObjectBundle b; /* memory: the fold of the entries so far */
        Signer signers[RANDOM_SIGNERS];
        unsigned n_signers;
        uint64_t seed, time_usec;
        char id[REGION_ID_MAX];
} RandomObject;

static inline void random_object_deinit(RandomObject *o) {
        object_bundle_deinit(&o->b);
}
#define _cleanup_random_object_ _cleanup_(random_object_deinit)

/* Takes data and outcome over. */
static inline void random_append(RandomObject *o, EntryKind kind, json_t *data, json_t *outcome) {
        unsigned any = random_below(&o->seed, o->n_signers);
        Signer *s = &o->signers[kind == ENTRY_INSTANTIATED ? 0 : any]; /* the context's node */
        _cleanup_json_ json_t *given = data, *result = outcome, *policy = NULL;
        ObjectState after = entry_kind_state(kind) ?: o->b.memory.state;
        char trace[REGION_ID_MAX];
        Entry e = ENTRY_NULL;
        Diag d = {0};
        EntryNew written;

        random_id(&o->seed, trace);
        o->time_usec += random_below(&o->seed, 5000000);
        if (random_below(&o->seed, 50) == 0) /* clocks jump */
                o->time_usec -= 86400000000;
        if (random_below(&o->seed, 3))
                policy = json_pack("{s:s, s:s}", "ref", "sha256:00", "verdict", random_below(&o->seed, 9) ? "allowed" : "denied");
        written = (EntryNew){.object = o->id, .n = o->b.n, .time_usec = o->time_usec, .prev = o->b.n > 0 ? o->b.entries[o->b.n - 1].hash : NULL,
                         .node = s->node, .trace = trace, .kind = kind, .state = after, .policy = policy, .outcome = result, .data = given};
        cr_assert_eq(entry_make(&written, s->keyid, signer_sign, s, &e, &d), 0, "%s: %s", entry_kind_name(kind), d.text);
        cr_assert_eq(memory_apply(&o->b.memory, &e, &d), 0, "%s: %s\n%s", entry_kind_name(kind), d.text, e.text);
        cr_assert(GROW(o->b.entries, o->b.n));
        o->b.entries[o->b.n++] = e;
        json_object_set_new(o->b.keys, s->keyid, json_string(s->vkey));
}

static inline json_t *random_complete(const char *text) {
        _cleanup_json_ json_t *written = json_loads(text, 0, NULL);
        json_t *complete = NULL;
        Diag d = {0};

        cr_assert_not_null(written, "%s", text);
        cr_assert_eq(intent_complete(written, NULL, &complete, &d), 0, "%s: %s", text, d.text);
        return complete;
}

static inline json_t *random_intent(uint64_t *seed) {
        static const char *const texts[] = {
                "{\"do\":{\"skill\":\"convert\",\"args\":[\"a\",\"K\\u00f6ln\"]}}",
                "{\"do\":{\"skill\":\"convert\",\"input\":\"x\\ny\"},\"with\":{\"attempts\":5,\"timeout\":\"10s\"},\"until\":{\"success\":3}}",
                "{\"do\":{\"delegate\":[{\"do\":{\"skill\":\"convert\"}},{\"do\":{\"skill\":\"watch\"}}],\"gather\":{\"mode\":\"collect\"}}}",
                "{\"do\":{\"steps\":[{\"skill\":\"watch\"},{\"wait\":{\"elapsed\":{\"for\":\"1m\"}}},{\"skill\":\"convert\"}]},\"until\":\"never\"}",
                "{\"do\":{\"skill\":\"watch\"},\"constraints\":[{\"note\":\"never by night\"},{\"deadline\":\"3d\"}],\"with\":{\"may\":[\"delegate\",\"sleep\"]}}",
        };

        return random_complete(texts[random_below(seed, ARRAY_SIZE(texts))]);
}

static inline json_t *random_outcome(uint64_t *seed) {
        OutcomeKind k = random_below(seed, OUTCOME_KIND_COUNT_);
        json_t *o = json_pack("{s:s, s:i}", "kind", outcome_kind_name(k), "latency_usec", (int)random_below(seed, 90000000));

        if (k == OUTCOME_KIND_PARTIAL)
                json_object_set_new(o, "remainder", json_pack("[s]", "b"));
        if (k == OUTCOME_KIND_NEGATIVE)
                json_object_set_new(o, "capability", json_string("converter"));
        if (k == OUTCOME_KIND_FAILURE)
                json_object_set_new(o, "exit_code", json_integer(1 + random_below(seed, 255)));
        if (random_below(seed, 3) == 0)
                json_object_set_new(o, "value", random_json(seed, 3));
        return o;
}

static inline json_t *random_trigger(uint64_t *seed) {
        static const char *const texts[] = {
                "{\"elapsed\":{\"for\":\"5m\"}}",
                "{\"outcomes\":{\"kind\":\"input\",\"n\":1}}",
                "{\"any\":[{\"elapsed\":{\"for\":\"1h\"}},{\"outcomes\":{\"kind\":\"child\",\"n\":2}}]}",
                "{\"prerequisite\":{\"slot\":\"work/ready\",\"is\":\"set\"}}",
                "{\"policy\":{\"not\":\"sha256:00\"}}",
        };
        _cleanup_json_ json_t *written = json_loads(texts[random_below(seed, ARRAY_SIZE(texts))], 0, NULL);
        json_t *complete = NULL;
        Diag d = {0};

        cr_assert_eq(trigger_complete(written, NULL, &complete, &d), 0, "%s", d.text);
        return complete;
}

static inline void random_begin(RandomObject *o) {
        json_t *intent = random_intent(&o->seed), *context, *scope = NULL;
        _cleanup_json_ json_t *wanted = json_loads("{\"skills\":[\"convert\",\"watch\"],\"reads\":\"*\",\"writes\":[\"work/ready\"],\"depth\":3,\"fanout\":64}", 0, NULL);
        Diag d = {0};

        cr_assert_eq(intent_scope_complete(wanted, intent, &scope, &d), 0, "%s", d.text);
        context = json_pack("{s:o, s:s, s:s, s:s, s:o, s:n, s:o}", "scope", scope, "policy", "sha256:00", "by", "uid:1000", "node", o->signers[0].node, "created",
                            json_u64(o->time_usec), "parent", "meta", random_json(&o->seed, 0));
        if (!json_is_object(json_object_get(context, "meta")))
                json_object_del(context, "meta");
        random_append(o, ENTRY_INSTANTIATED, json_pack("{s:o, s:o}", "intent", intent, "context", context), NULL);
}

static inline void random_delegate(RandomObject *o) {
        json_t *children = json_object();

        for (unsigned i = 1 + random_below(&o->seed, 3); i > 0; i--) {
                char id[REGION_ID_MAX];

                random_id(&o->seed, id);
                json_object_set_new(children, id, random_complete("{\"do\":{\"skill\":\"convert\",\"args\":[\"1\"]}}"));
        }
        random_append(o, ENTRY_DELEGATION,
                      json_pack("{s:o, s:{s:s}, s:I}", "children", children, "gather", "mode", random_below(&o->seed, 2) ? "all" : "any", "serial",
                                (json_int_t)json_number(o->b.memory.fold, "serial") + 1),
                      NULL);
}

static inline void random_mutate(RandomObject *o) {
        _cleanup_json_ json_t *after = json_deep_copy(o->b.memory.intent);
        char note[32];

        snprintf(note, sizeof(note), "note %zu", o->b.n);
        json_array_append_new(json_object_get(after, "constraints"), json_pack("{s:s}", "note", note));
        random_append(o, ENTRY_MUTATION, json_pack("{s:s, s:O, s:O, s:s}", "how", "narrow", "before", o->b.memory.intent, "after", after, "why", "a test"), NULL);
}

/* The answer of a child that has not answered, if there is one. */
static inline void random_child(RandomObject *o) {
        const json_t *ever = json_object_get(o->b.memory.fold, "children_ever");
        _cleanup_json_ json_t *outcome = random_outcome(&o->seed), *data = NULL;
        const char *child = json_object_iter_key(json_object_iter((json_t *)ever));

        if (child && !json_text_is(json_object_get(outcome, "kind"), "non_response") && memory_child_note(&o->b.memory, child, outcome, &data, NULL) == 0)
                random_append(o, ENTRY_CHILD, TAKE_PTR(data), NULL);
}

static inline void random_note(RandomObject *o) {
        json_t *fold = NULL;

        if (o->b.memory.state == OBJECT_TERMINATED || random_below(&o->seed, 3) == 0)
                random_child(o);
        else if (random_below(&o->seed, 4) == 0) {
                cr_assert_eq(memory_to_json(&o->b.memory, &fold), 0);
                random_append(o, ENTRY_CHECKPOINT, json_pack("{s:o}", "fold", fold), NULL);
        } else
                random_append(o, ENTRY_INPUT, json_pack("{s:s, s:o}", "from", "uid:1000", "input", random_json(&o->seed, 3)), NULL);
}

static inline void random_dormant(RandomObject *o) {
        random_append(o, ENTRY_DORMANT, json_pack("{s:o, s:s, s:i}", "trigger", random_trigger(&o->seed), "reason", "wait", "not_before", 0), NULL);
}

static inline void random_terminated(RandomObject *o) {
        random_append(o, ENTRY_TERMINATED, json_pack("{s:s}", "reason", "requested"), NULL);
}

/* One entry, or none: a legal move or a note. */
static inline void random_step(RandomObject *o) {
        unsigned dice = random_below(&o->seed, 20);
        const json_t *open = json_object_get(o->b.memory.fold, "delegation");

        if (o->b.n > 0 && dice < 4) {
                random_note(o);
                return;
        }
        switch (o->b.memory.state) {
        case OBJECT_NONE:
                random_begin(o);
                break;
        case OBJECT_INSTANTIATED:
        case OBJECT_MUTATION:
        case OBJECT_REENTRY:
                random_append(o, ENTRY_EVALUATION, NULL, NULL);
                break;
        case OBJECT_EVALUATION:
                if (dice < 8)
                        random_append(o, ENTRY_STARTED, json_pack("{s:s, s:[s], s:i, s:i, s:i}", "skill", "convert", "args", "a", "deadline_usec", 30000000, "step", 0, "attempt", 1), NULL);
                else if (dice < 11)
                        random_mutate(o);
                else if (dice < 14 && !open)
                        random_delegate(o);
                else if (dice < 19)
                        random_dormant(o);
                else
                        random_terminated(o);
                break;
        case OBJECT_EXECUTION:
                random_append(o, ENTRY_OUTCOME, NULL, random_outcome(&o->seed));
                break;
        case OBJECT_DELEGATION:
                if (dice < 12)
                        random_append(o, ENTRY_EVALUATION, NULL, NULL);
                else
                        random_dormant(o);
                break;
        case OBJECT_DORMANT:
                if (dice < 19)
                        random_append(o, ENTRY_REENTRY,
                                      json_pack("{s:O, s:{}}", "trigger", json_object_get(json_object_get(o->b.memory.fold, "dormant"), "trigger"), "evidence"), NULL);
                else
                        random_terminated(o);
                break;
        case OBJECT_TERMINATED:
        case OBJECT_STATE_COUNT_:
                break;
        }
}

/* An object after so many steps by so many nodes. */
static inline void random_object_by(RandomObject *ret, uint64_t seed, unsigned steps, unsigned n_signers) {
        *ret = (RandomObject){.seed = seed, .time_usec = 1764256000000000, .n_signers = n_signers};
        for (uint8_t i = 0; i < RANDOM_SIGNERS; i++)
                signer_init(&ret->signers[i], (uint8_t)(i + 1));
        ret->b.keys = json_object();
        ret->b.schemas = seed % 2 ? json_object() : json_pack("{s:s}", "work/ready", "sha256:3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d");
        random_id(&ret->seed, ret->id);
        for (unsigned i = 0; i < steps; i++)
                random_step(ret);
}

static inline void random_object(RandomObject *ret, uint64_t seed, unsigned steps) {
        random_object_by(ret, seed, steps, RANDOM_SIGNERS);
}

static inline void random_print(const RandomObject *o, Buf *ret) {
        cr_assert_eq(object_bundle_print(&o->b, ret), 0);
}
