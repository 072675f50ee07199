/* A random history of records: what a test does to a store, step by step, the same for the same seed. */
#pragma once

#include "engine/dispute.h"
#include "engine/mutate.h"
#include "engine/note.h"
#include "engine/scope.h"
#include "engine/wait.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct History {
        uint64_t state;
        unsigned refused, done;
} History;

static inline unsigned history_roll(History *h, unsigned sides) {
        h->state ^= h->state << 13; /* xorshift64 */
        h->state ^= h->state >> 7;
        h->state ^= h->state << 17;
        return (unsigned)((h->state >> 11) % sides);
}

static inline const char *history_pick(History *h, const char *const *words, unsigned n) {
        return words[history_roll(h, n)];
}

static inline json_t *history_text(History *h) {
        static const char *const words[] = {"import", "blocker", "pandas", "reader", "crash", "net", "flow", "table", "queue", "memory", "leak", "caf\303\251", "fix_me"};
        char s[160] = "";

        for (unsigned i = 0, n = 1 + history_roll(h, 8); i < n; i++) {
                strcat(s, i ? " " : "");
                strcat(s, history_pick(h, words, 13));
        }
        return json_string(s);
}

/* A statement of a few that are opposed to each other, or anything (G-69). */
static inline json_t *history_statement(History *h) {
        static const char *const moods[] = {"must", "must not", "may", "need not", "may only"}, *const things[] = {"the network", "TLS"};
        char s[80];

        if (history_roll(h, 2))
                return history_text(h);
        snprintf(s, sizeof(s), "skills %s use %s", history_pick(h, moods, 5), history_pick(h, things, 2));
        return json_string(s);
}

static inline json_t *history_triple(History *h) {
        static const char *const who[] = {"Ann", "Bob"}, *const days[] = {"11 March", "March 11th", "12 April"};

        if (history_roll(h, 2))
                return json_pack("{s:o, s:o, s:o}", "subject", history_text(h), "predicate", history_text(h), "object", history_text(h));
        return json_pack("{s:s, s:s, s:s}", "subject", history_pick(h, who, 2), "predicate", "birthday", "object", history_pick(h, days, 3));
}

static inline json_t *history_payload(History *h, Kind k, Op op) {
        const json_t *none = NULL;

        switch ((int)k) {
        case KIND_PLAN:
                return json_pack("{s:o}", "content", history_text(h));
        case KIND_ISSUE:
                return op == OP_UPSERT ? json_pack("{s:o}", "title", history_text(h)) : json_object();
        case KIND_CONSTRAINT:
                return op == OP_UPSERT ? json_pack("{s:o}", "statement", history_statement(h)) : json_object();
        case KIND_DECISION:
                return op == OP_APPEND ? json_pack("{s:o}", "decision", history_statement(h)) : json_object();
        case KIND_RESULT:
                return json_pack("{s:o}", "summary", history_text(h));
        case KIND_TASK_STATE:
                return json_pack("{s:o}", "status", history_text(h));
        case KIND_LEARNING:
                return json_pack("{s:o}", "statement", history_text(h));
        case KIND_MEMORY:
                return op == OP_SAVE ? history_triple(h) : NULL;
        case KIND_KNOWLEDGE:
                return op == OP_SAVE ? json_pack("{s:o, s:o}", "title", history_text(h), "text", history_text(h)) : NULL;
        case KIND_SKILL:
                return op == OP_SAVE ? json_pack("{s:o, s:[{s:i, s:o}]}", "name", history_text(h), "steps", "order", 1, "instruction", history_text(h)) : NULL;
        case KIND_AGENT_KERNEL:
        case KIND_WORLD_KERNEL:
                return json_pack("{s:[{s:s, s:o, s:s}, {s:s, s:o, s:s}]}", "rules", "id", "r1", "statement", history_statement(h), "lifecycle", "active", "id", "r2",
                                 "statement", history_statement(h), "lifecycle", history_roll(h, 3) ? "active" : "superseded");
        default:
                return (json_t *)none;
        }
}

/* A step that can be refused, like those of real agents. Refused and done ones are counted; anything else fails the test. */
static inline void history_mutate(Txn *t, History *h, const char *scope) {
        static const char *const ids[] = {"aa", "bb", "cc", "dd", "ee", "ff"};
        static const Op ops[] = {OP_UPSERT, OP_APPEND, OP_INVALIDATE, OP_RESOLVE, OP_SAVE, OP_SAVE, OP_ARCHIVE, OP_RESTORE, OP_REMOVE, OP_DELETE, OP_PATCH};
        static const Kind ref_kinds[] = {KIND_MEMORY, KIND_KNOWLEDGE, KIND_SKILL, KIND_WORLD_KERNEL};
        _cleanup_json_ json_t *payload = NULL, *refs = NULL, *more = json_object();
        Kind kind;
        Op op;
        Mutated m;
        Diag d;
        int r;

        do {
                kind = kinds[history_roll(h, 12)];
                op = ops[history_roll(h, ARRAY_SIZE(ops))];
        } while (!kind_has_op(kind, op) && history_roll(h, 20));
        payload = history_payload(h, kind, op);
        if (op == OP_SAVE || op == OP_PATCH) {
                refs = json_array();
                for (unsigned i = history_roll(h, 3); i > 0; i--)
                        json_array_append_new(refs, json_pack("{s:s, s:s, s:s, s:s}", "kind", kind_name(ref_kinds[history_roll(h, 4)]), "id", history_pick(h, ids, 6),
                                                              "strength", history_roll(h, 2) ? "strong" : "weak", "role", history_roll(h, 2) ? "ref" : "about"));
        }
        if (kind_class(kind) == CLASS_CANON) {
                json_object_set_new(more, "aliases", json_pack("[o]", history_text(h)));
                json_object_set_new(more, "phrases", json_pack("[o, o]", history_text(h), history_text(h)));
        }
        r = mutate_judged(t, &(Mutation){.scope = scope, .kind = kind, .op = op, .expect = MUTATION_ANY, .who = "uid:1000", .payload = payload, .refs = refs,
                                         .more = json_object_size(more) ? more : NULL, .type = kind == KIND_MEMORY ? "semantic" : NULL,
                                         .id = kind == KIND_PLAN ? "main" : kind_class(kind) == CLASS_KERNEL ? "kernel" : history_pick(h, ids, 6)}, &m, &d);
        cr_assert_geq(r, 0, "%s %s: %d", kind_name(kind), op_name(op), r);
        if (r == 0 && (op == OP_DELETE || op == OP_REMOVE)) {
                uint64_t number, n;
                RecordKey k;

                cr_assert_eq(scope_get(t, scope, &number), 0);
                k = record_key_of(number, kind, m.id);
                cr_assert_eq(engine_erase(t, &k, &n), 0);
        }
        h->done += r == 0;
        h->refused += r > 0;
}

static inline void history_wait(Txn *t, History *h, const char *scope) {
        _cleanup_json_ json_t *fields = json_pack("{s:s}", "reason", "ambiguous"), *body = json_pack("{s:o}", "note", history_text(h));
        uint64_t number, id, seq;
        Diag d;
        Wait w;

        cr_assert_eq(scope_get(t, scope, &number), 0);
        if (history_roll(h, 2) || wait_next(t, 0, number, WAIT_OPEN, &w) < 0)
                cr_assert_eq(engine_wait(t, "uid:1000", NULL, number, KIND_ISSUE, OP_RESOLVE, fields, body, &id), 0);
        else if (history_roll(h, 4))
                cr_assert_eq(engine_wait_failed(t, "uid:1000", NULL, &w.id, 1, 0), 0);
        else
                cr_assert_eq(engine_wait_drop(t, "uid:1000", w.id, "no more", &seq, &d), 0);
        h->done++;
}

/* Settles a pair that is there, opposed or not: the fold does not ask. */
static inline void history_settle(Txn *t, History *h, const char *scope) {
        static const char *const names[] = {"constraints/aa", "constraints/bb", "decisions/cc", "memory_substrate/aa", "memory_substrate/bb", "agent_model_kernel/r1",
                                            "agent_model_kernel/r2", "world_model_kernel/r1"};
        uint64_t number, seq;
        Party a, b;
        Diag d;
        int r;

        cr_assert_eq(scope_get(t, scope, &number), 0);
        cr_assert_eq(party_parse(number, history_pick(h, names, 8), &a), 0);
        cr_assert_eq(party_parse(number, history_pick(h, names, 8), &b), 0);
        r = engine_dispute_settled(t, "uid:1000", NULL, &a, &b, &seq, &d);
        cr_assert(r == 0 || r == ENGINE_E_NO_RECORD, "%d", r);
        h->done += r == 0;
        h->refused += r > 0;
}

static inline void history_step(Txn *t, History *h) {
        static const char *const scopes[] = {"left", "right", SCOPE_DEFAULT};
        const char *scope = history_pick(h, scopes, 3);
        uint64_t number, seq, n;
        Diag d;

        if (scope_get(t, scope, &number) == -ENOENT) {
                cr_assert_eq(engine_scope_create(t, "uid:1000", scope, &number, &d), 0);
                h->done++;
        } else if (history_roll(h, 60) == 0) {
                cr_assert_eq(engine_scope_delete(t, "uid:1000", scope, NULL, &seq, &n, &d), 0, "%s", d.text);
                h->done++;
        } else if (history_roll(h, 12) == 0)
                history_wait(t, h, scope);
        else
                history_mutate(t, h, scope);
}
