/* Runs: tests. The region that schema/vectors/README.md describes, over a real store. */
#pragma once

#include "base/clock.h"
#include "base/id.h"
#include "dispatch/dispatch.h"
#include "engine/engine.h"
#include "record/event.h"
#include "ledger/ledger.h"
#include "region/region-section.h"
#include "schema/limits.h"
#include "tests/support/store-fixture.h"

#include <string.h>

typedef struct DispatchFixture {
        StoreFixture f;
        Grant grant;
        char region[REGION_ID_MAX];
        uint64_t allocated; /* seq of its region.allocated */
        Dispatch *dispatch;
        Vault *vault;
        char key[KEY_TEXT_BYTES + 1];
} DispatchFixture;

/* Test data that must parse. New reference. */
static inline json_t *dispatch_json(const char *text) {
        json_t *j = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

        cr_assert(j != NULL, "test data is not JSON: %.100s", text);
        return j;
}

static inline void dispatch_slot(DispatchFixture *d, const char *name, const char *schema, const char *value) {
        _cleanup_json_ json_t *s = dispatch_json(schema), *v = value ? dispatch_json(value) : NULL;
        uint64_t seq, version;
        Txn *t = store_fixture_begin(&d->f, true);

        cr_assert_eq(engine_slot_define(t, "uid:0", NULL, name, s, &seq, &d->f.d), 0, "%s", d->f.d.text);
        if (v)
                cr_assert_eq(engine_slot_put(t, "uid:0", name, v, -1, &seq, &version, &d->f.d), 0, "%s", d->f.d.text);
        store_fixture_commit(&d->f, t);
}

/* The region's key, sections and evidence, below those of `parent` (NULL: of nobody). */
static inline void dispatch_fixture_vault(DispatchFixture *d, const json_t *evidence, const Vault *parent) {
        const char *slot;
        json_t *held;

        cr_assert_eq(vault_new(d->region, d->grant.key_scope, parent, d->grant.sections, &d->vault, &d->f.d), 0, "%s", d->f.d.text);
        json_object_foreach((json_t *)evidence, slot, held)
                cr_assert_eq(vault_add_evidence(d->vault, slot, json_object_get(held, "value"), EVIDENCE_LASTS, &d->f.d), 0, "%s", d->f.d.text);
        cr_assert(vault_hand_over(d->vault, d->vault, d->key));
        dispatch_use_vault(d->dispatch, d->vault);
}

/* A region of its own, alive in the store, and its dispatch in state new. */
static inline void dispatch_fixture_region(DispatchFixture *d) {
        _cleanup_json_ json_t *copies = NULL, *evidence = NULL;
        RegionStart s = {.region = d->region, .skill_name = "vectors", .skill_digest = "sha256:0", .tier = "namespaces",
                         .reads = (const char *const *)d->grant.reads, .writes = (const char *const *)d->grant.writes,
                         .gates = d->grant.gates, .ret_evidence = &evidence, .lineage = lineage_name(d->grant.lineage)};
        Txn *t;

        cr_assert_eq(region_id_new(clock_real_usec(), d->region), 0);
        t = store_fixture_begin(&d->f, true);
        cr_assert_eq(engine_region_start(t, &s, &d->allocated, &copies, &d->f.d), 0, "%s", d->f.d.text);
        store_fixture_commit(&d->f, t);
        cr_assert_eq(dispatch_new(d->f.store, &d->grant, d->region, copies, &d->dispatch), 0);
        dispatch_fixture_vault(d, evidence, NULL);
}

static inline void dispatch_fixture_region_end(DispatchFixture *d, bool keep) {
        _cleanup_json_ json_t *none = json_object();
        uint64_t released, ended;
        Txn *t = store_fixture_begin(&d->f, true);

        cr_assert_eq(dispatch_reads_end(d->dispatch, t), 0);
        cr_assert_eq(dispatch_memory_end(d->dispatch, t, keep, "timed_out"), 0);
        cr_assert_eq(engine_region_end(t, &(RegionEnd){d->region, keep, none, none}, &released, &ended, &d->f.d), 0, "%s", d->f.d.text);
        store_fixture_commit(&d->f, t);
        dispatch_free(d->dispatch);
        d->dispatch = NULL;
        vault_free(d->vault);
        d->vault = NULL;
}

static inline void dispatch_fixture_init(DispatchFixture *d) {
        static char *reads[] = {"facts", "notes/a", "empty", NULL}, *writes[] = {"facts", "out", NULL},
                    *sub_skills[] = {"helper", NULL};

        static MemoryRight memory[] = {{(char *)"default", {[MEMORY_READ] = MEMORY_ALL, [MEMORY_WRITE] = 3, [MEMORY_DELETE] = 1}},
                                       {(char *)"pages", {[MEMORY_READ] = 2, [MEMORY_WRITE] = 1}}};

        *d = (DispatchFixture){.grant = {.skill_name = "vectors", .reads = reads, .writes = writes, .sub_skills = sub_skills, .notes = (char *)"default", .canon = (char *)"default", .kernels = (char *)"default", .own_notes = true,
                                     .memory = memory, .n_memory = ARRAY_SIZE(memory)}};
        d->grant.sections = dispatch_json("{\"note\":{\"schema\":{\"type\":\"string\"},\"bytes\":64},\"plan\":{\"schema\":{\"type\":\"object\"},\"bytes\":256}}");
        d->grant.gates = dispatch_json("[{\"slot\":\"facts\",\"schema\":true}]");
        store_fixture_init(&d->f, STORE_SUPERVISE);
        dispatch_slot(d, "facts", "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"],\"additionalProperties\":false}", "{\"n\":1}");
        dispatch_slot(d, "notes/a", "{\"type\":\"string\"}", "\"h\xc3\xa9llo \\\"\xe2\x82\xac\\\" \\\\ \\n\\u0001 \xf0\x9f\x98\x80\"");
        dispatch_slot(d, "empty", "{}", NULL);
        dispatch_slot(d, "out", "{}", NULL);
        dispatch_slot(d, "secret", "{}", "1");
}

static inline void dispatch_fixture_deinit(DispatchFixture *d) {
        dispatch_free(d->dispatch);
        vault_free(d->vault);
        json_decref(d->grant.sections);
        json_decref(d->grant.gates);
        store_fixture_deinit(&d->f);
}
#define _cleanup_dispatch_fixture_ _cleanup_(dispatch_fixture_deinit)

/* Says one line; the answer is parsed into *ret_answer (NULL when there is none). Returns what dispatch_line() did. */
static inline int dispatch_say(DispatchFixture *d, const char *line, size_t n, json_t **ret_answer) {
        _cleanup_buf_ Buf reply = {0};
        int r = dispatch_line(d->dispatch, line, n, &reply, &d->f.d);

        *ret_answer = NULL;
        if (reply.n > 0) {
                cr_assert_eq(memchr(reply.data, '\n', reply.n), reply.data + reply.n - 1, "an answer is exactly one line");
                *ret_answer = json_loadb(reply.data, reply.n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
                cr_assert(*ret_answer != NULL, "an answer that is not JSON: %.200s", reply.data);
        }
        return r;
}

/* Says a line that must be answered with this error word, NULL for a result. Returns dispatch_line()'s code. */
static inline int dispatch_expect(DispatchFixture *d, const char *line, const char *word) {
        _cleanup_json_ json_t *answer = NULL;
        int r = dispatch_say(d, line, strlen(line), &answer);
        const char *got = json_string_value(json_object_get(json_object_get(json_object_get(answer, "error"), "data"), "code"));

        cr_assert(answer != NULL, "no answer to %.100s", line);
        if (word)
                cr_assert(got && strcmp(got, word) == 0, "%.100s: answered %s, not %s", line, got ? got : "a result", word);
        else
                cr_assert(!got, "%.100s: answered %s", line, got);
        return r;
}
/* Says a line that must have a result: that. Owned. */
static inline json_t *dispatch_result_of(DispatchFixture *d, const char *line) {
        json_t *answer, *o;

        cr_assert_eq(dispatch_say(d, line, strlen(line), &answer), 0, "%s", d->f.d.text);
        o = json_incref(json_object_get(answer, "result"));
        cr_assert(o, "%s: %s", line, json_string_value(json_object_get(json_object_get(answer, "error"), "message")));
        json_decref(answer);
        return o;
}
#define DISPATCH_HELLO "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\",\"params\":{\"protocol\":1}}"

/* Text with the region's id for $REGION and its key for $KEY. Owned. */
static inline char *dispatch_fill_in(const DispatchFixture *d, const char *text) {
        _cleanup_buf_ Buf b = {0};

        for (const char *at; (at = strchr(text, '$')); text = at) {
                bool region = strncmp(at, "$REGION", 7) == 0, key = strncmp(at, "$KEY", 4) == 0;

                cr_assert_eq(buf_add(&b, text, (size_t)(at - text)), 0);
                cr_assert_eq(buf_add_str(&b, region ? d->region : key ? d->key : "$"), 0);
                at += region ? 7 : key ? 4 : 1;
        }
        cr_assert_eq(buf_add_str(&b, text), 0);
        return TAKE_PTR(b.data);
}

/* As dispatch_expect(), with $REGION and $KEY filled in. */
static inline int dispatch_ask(DispatchFixture *d, const char *line, const char *word) {
        _cleanup_free_ char *filled = dispatch_fill_in(d, line);

        return dispatch_expect(d, filled, word);
}

/* All events of the region, in order, as a JSON array. */
static inline json_t *dispatch_events(DispatchFixture *d) {
        json_t *all = json_array();
        Txn *t = store_fixture_begin(&d->f, false);
        uint64_t size, last;

        cr_assert_eq(ledger_state(t, &size, &last), 0);
        for (uint64_t seq = d->allocated; seq < size; seq++) {
                json_t *e;

                cr_assert_eq(event_get(t, seq, &e), 0);
                if (strcmp(json_string_value(json_object_get(e, "region")) ?: "", d->region) == 0)
                        json_array_append(all, e);
                json_decref(e);
        }
        store_abort(t);
        return all;
}

/* How many events of this type have this code (NULL: any), and the sum of their counts. */
static inline size_t dispatch_count(json_t *events, const char *type, const char *code, json_int_t *ret_sum) {
        size_t n = 0, i;
        json_t *e;

        if (ret_sum)
                *ret_sum = 0;
        json_array_foreach(events, i, e)
                if (strcmp(json_string_value(json_object_get(e, "type")), type) == 0 &&
                    (!code || strcmp(json_string_value(json_object_get(e, "code")) ?: "", code) == 0)) {
                        n++;
                        if (ret_sum)
                                *ret_sum += json_integer_value(json_object_get(e, "count"));
                }
        return n;
}
