/* Runs: tests. An object's history, made of entries with a key of the test's own; time, ids and nodes are the test's. */
#pragma once

#include "base/hash.h"
#include "object/intent.h"
#include "object/memory.h"
#include "object/select.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>

#define HISTORY_BEGIN UINT64_C(1700000000000000)
#define HISTORY_SEC UINT64_C(1000000)

typedef struct History {
        ObjectMemory m;
        uint64_t now;
        const char *node;
        Buf lines; /* of all entries */
        unsigned ids;
        uint8_t secret[crypto_sign_SECRETKEYBYTES], public[crypto_sign_PUBLICKEYBYTES];
        Diag d; /* of the last refusal */
} History;

__attribute__((format(printf, 1, 2))) static inline json_t *history_json(const char *fmt, ...) {
        json_t *v = NULL;
        char *text = NULL;
        va_list ap;
        Diag d;

        va_start(ap, fmt);
        cr_assert(vasprintf(&text, fmt, ap) > 0);
        va_end(ap);
        cr_assert_eq(json_parse(text, strlen(text), 1 << 20, 64, &v, &d), 0, "%s: %s", text, d.text);
        free(text);
        return v;
}

static inline char *history_text(const json_t *v) {
        char *text;
        size_t n;

        if (!v)
                return strdup("null");
        cr_assert_eq(json_canonical(v, &text, &n), 0);
        return text;
}

/* Numbers as ids: 26 digits. */
static inline const char *history_id(unsigned n, char out[static REGION_ID_MAX]) {
        snprintf(out, REGION_ID_MAX, "%026u", n);
        return out;
}

static inline int history_sign(void *userdata, const void *msg, size_t n, uint8_t ret[static ENTRY_SIG_BYTES]) {
        return crypto_sign_detached(ret, NULL, msg, n, userdata) == 0 ? 0 : -EIO;
}

static inline void history_make(History *h, EntryKind kind, const json_t *outcome, const json_t *data, Entry *ret) {
        ObjectState to = entry_kind_state(kind);
        _cleanup_json_ json_t *policy = history_json("{\"ref\":\"sha256:policy\",\"verdict\":\"allowed\"}");
        char trace[REGION_ID_MAX];
        EntryNew e = {
                .object = h->m.object,
                .n = h->m.n,
                .time_usec = h->now,
                .prev = h->m.n > 0 ? h->m.head : NULL,
                .node = h->node,
                .trace = history_id(900000 + (unsigned)h->m.n, trace),
                .kind = kind,
                .state = to == OBJECT_NONE ? h->m.state : to,
                .policy = policy,
                .outcome = outcome,
                .data = data,
        };

        cr_assert_eq(entry_make(&e, "0badcafe", history_sign, h->secret, ret, &h->d), 0, "%s: %s", entry_kind_name(kind),
                     h->d.text);
}

/* Makes an entry and lets the memory take it. outcome and data are taken. */
static inline int history_try(History *h, EntryKind kind, json_t *outcome, json_t *data) {
        _cleanup_entry_ Entry e = ENTRY_NULL;
        int r;

        history_make(h, kind, outcome, data, &e);
        json_decref(outcome);
        json_decref(data);
        h->d.text[0] = 0;
        r = memory_apply(&h->m, &e, &h->d);
        if (r == 0)
                cr_assert(entry_print(&e, &h->lines) == 0 && buf_add_str(&h->lines, "\n") == 0);
        return r;
}

static inline void history_add(History *h, EntryKind kind, json_t *outcome, json_t *data) {
        int r = history_try(h, kind, outcome, data);

        cr_assert_eq(r, 0, "entry %u, %s: %d %s", (unsigned)h->m.n, entry_kind_name(kind), r, h->d.text);
}

/* intent as a person writes it; scope: JSON, or NULL for everything. */
static inline void history_begin(History *h, const char *intent, const char *scope) {
        _cleanup_json_ json_t *written = history_json("%s", intent), *complete = NULL;

        *h = (History){.now = HISTORY_BEGIN, .node = "node-a", .ids = 1000};
        cr_assert(sodium_init() >= 0);
        crypto_sign_seed_keypair(h->public, h->secret, (const uint8_t *)"the seed of a key of the tests..");
        history_id(1, h->m.object);
        cr_assert_eq(intent_complete(written, h->m.object, &complete, &h->d), 0, "%s: %s", intent, h->d.text);
        history_add(h, ENTRY_INSTANTIATED, NULL,
                    json_pack("{s:O, s:o}", "intent", complete, "context",
                              history_json("{\"scope\":%s,\"policy\":\"sha256:policy\",\"by\":\"uid:1000\",\"node\":"
                                           "\"node-a\",\"created\":%llu,\"parent\":null}",
                                           scope ?: "{\"skills\":\"*\",\"reads\":\"*\",\"writes\":\"*\",\"depth\":4,"
                                                    "\"fanout\":1024}",
                                           (unsigned long long)HISTORY_BEGIN)));
}

static inline void history_end(History *h) {
        memory_deinit(&h->m);
        buf_deinit(&h->lines);
}

/* The memory as canonical text. */
static inline char *history_memory(const ObjectMemory *m) {
        _cleanup_json_ json_t *v = NULL;

        cr_assert_eq(memory_to_json(m, &v), 0);
        return history_text(v);
}

/* The local policy result at h->now, as select.h has it; facts: JSON, or NULL for nothing seen. */
static inline json_t *history_local(const History *h, const char *verdict, const char *facts) {
        return history_json("{\"now\":%llu,\"node\":\"%s\",\"policy\":{\"ref\":\"sha256:policy\",\"verdict\":\"%s\","
                            "\"on_denied\":\"dormant\",\"depth\":16,\"fanout\":1024,\"allows\":{\"execution\":true,"
                            "\"delegation\":true,\"mutation\":true}},\"facts\":%s}",
                            (unsigned long long)h->now, h->node, verdict,
                            facts ?: "{\"slots\":{},\"objects\":{},\"events\":[]}");
}

/* The entries of an action, as a cycle appends them. children: their ids are counted on from h->ids. */
static inline void history_perform(History *h, const Selected *s) {
        static const EntryKind kinds[ACTION_COUNT_] = {
                [ACTION_EXECUTION] = ENTRY_STARTED,      [ACTION_MUTATION] = ENTRY_MUTATION,
                [ACTION_DELEGATION] = ENTRY_DELEGATION,  [ACTION_DORMANCY] = ENTRY_DORMANT,
                [ACTION_REENTRY] = ENTRY_REENTRY,        [ACTION_TERMINATION] = ENTRY_TERMINATED,
        };
        json_t *data, *children, *intent;
        size_t i;

        if (s->action == ACTION_NONE)
                return;
        if (select_evaluates_first(h->m.state, s->action))
                history_add(h, ENTRY_EVALUATION, NULL, NULL);
        data = json_copied(s->data);
        if (s->action == ACTION_DELEGATION) {
                children = json_object();
                json_array_foreach(json_object_get(s->data, "delegate"), i, intent) {
                        char id[REGION_ID_MAX];

                        json_object_set(children, history_id(h->ids++, id), intent);
                }
                json_object_del(data, "delegate");
                json_object_set_new(data, "children", children);
        }
        history_add(h, kinds[s->action], NULL, data);
        if (s->action == ACTION_REENTRY)
                history_add(h, ENTRY_EVALUATION, NULL, NULL);
}

static inline void history_select(History *h, const json_t *local, Selected *ret) {
        int r = select_action(&h->m, local, ret, &h->d);

        cr_assert_eq(r, 0, "entry %u: select_action: %d %s", (unsigned)h->m.n, r, h->d.text);
}
