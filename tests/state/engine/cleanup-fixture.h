/* Runs: tests. A scope with records that refer to each other, and the two ways in which they go. */
#pragma once

#include "engine/delete.h"
#include "refs/graph.h"
#include "engine/mutate.h"
#include "engine/digest-pass.h"
#include "engine/scope.h"
#include "tests/support/store-fixture.h"

#include <stdio.h>
#include <string.h>

#define ME "uid:1000"

/* Saves one: refs is "kind/id strength role; …" with kind m, k or s; or a kernel with kind A or W. */
static inline Kind kind_of(char c) {
        return c == 'm' ? KIND_MEMORY : c == 'k' ? KIND_KNOWLEDGE : c == 's' ? KIND_SKILL
               : c == 'A' ? KIND_AGENT_KERNEL : c == 'W' ? KIND_WORLD_KERNEL : KIND_NONE;
}

static inline int save(Txn *t, char kind, const char *id, const char *refs, Diag *d) {
        static const char *const payloads[] = {"{\"summary\":\"s\"}", "{\"title\":\"t\",\"text\":\"x\"}",
                                               "{\"name\":\"n\",\"steps\":[{\"order\":1,\"instruction\":\"i\"}]}",
                                               "{\"rules\":[]}"};
        Kind k = kind_of(kind);
        bool kernel = kind_class(k) == CLASS_KERNEL;
        _cleanup_json_ json_t *p = json_loads(payloads[kind == 'm' ? 0 : kind == 'k' ? 1 : kind == 's' ? 2 : 3], 0, NULL), *list = json_array();
        char text[512], *at = text, *one;
        Mutated m;

        snprintf(text, sizeof(text), "%s", refs);
        while ((one = strsep(&at, ";"))) {
                char to, id_to[65], strength[16] = "strong", role[33] = "ref";

                if (sscanf(one, " %c/%64s %15s %32s", &to, id_to, strength, role) < 2)
                        continue;
                json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "kind", kind_name(kind_of(to)), "id", id_to, "strength", strength, "role", role));
        }
        return mutate_judged(t, &(Mutation){.kind = k, .op = kernel ? OP_PATCH : OP_SAVE, .id = kernel ? "kernel" : id, .expect = MUTATION_ANY, .payload = p,
                                            .refs = list,
                                            .type = k == KIND_MEMORY ? "episodic" : NULL, .who = ME}, &m, d);
}

static inline RecordKey key_of(Txn *t, char kind, const char *id) {
        uint64_t scope;

        cr_assert_eq(scope_get(t, SCOPE_DEFAULT, &scope), 0);
        return record_key_of(scope, kind_of(kind), kind == 'A' || kind == 'W' ? "kernel" : id);
}

static inline RecordState state_of(Txn *t, char kind, const char *id) {
        RecordKey k = key_of(t, kind, id);
        RecordState s;

        cr_assert_eq(graph_state(t, &k, &s), 0);
        return s;
}

/* One step: "archive m/a broken_ref m/b". The event of retired_dependency is found by itself. */
static inline PassStep step_of(Txn *t, const char *text) {
        char op[16], kind, id[65], reason[32], to = 0, id_to[65] = "";
        PassStep s = {0};

        cr_assert_geq(sscanf(text, "%15s %c/%64s %31s %c/%64s", op, &kind, id, reason, &to, id_to), 4, "%s", text);
        s.op = op_from_name(op);
        s.key = key_of(t, kind, id);
        s.reason.code = reason_from_name(reason);
        if (to)
                s.reason.ref = key_of(t, to, id_to);
        if (s.reason.code == REASON_RETIRED_DEPENDENCY) {
                _cleanup_record_ Record rec = RECORD_NULL;

                if (record_get(t, &s.reason.ref, &rec) == 0)
                        json_get_u64(json_object_get(rec.row, "closed"), &s.reason.event);
        }
        return s;
}

/* A pass of the steps, a line each. number 0: the next one. */
static inline int pass(Txn *t, uint64_t number, unsigned admitted, const char *steps, Diag *d) {
        _cleanup_json_ json_t *record = json_object();
        char text[512], *at = text, *one;
        PassStep v[16];
        size_t n = 0;
        uint64_t last, seq, scope;

        cr_assert_eq(scope_get(t, SCOPE_DEFAULT, &scope), 0);
        cr_assert_eq(pass_last(t, scope, &last, &seq), 0);
        snprintf(text, sizeof(text), "%s", steps);
        while ((one = strsep(&at, ";")))
                if (*one)
                        v[n++] = step_of(t, one + strspn(one, " "));
        return engine_pass(t, &(Pass){.routine = "digest", .scope = SCOPE_DEFAULT, .number = number ? number : last + 1, .admitted = admitted, .admitted_removal = admitted, .steps = v,
                                      .n = n,
                                      .record = record, .who = ME}, &seq, d);
}
