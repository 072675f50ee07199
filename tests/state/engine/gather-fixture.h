/* Runs: tests. Slots with a rule, and regions that propose for them. */
#pragma once

#include "audit/audit.h"
#include "base/clock.h"
#include "base/id.h"
#include "belief/slot-view.h"
#include "engine/arbitration.h"
#include "engine/engine.h"
#include "record/event.h"
#include "record/rows.h"
#include "ledger/ledger.h"
#include "tests/support/store-fixture.h"

#include <string.h>

typedef struct Begin {
        const char *skill; /* default "s" */
        const char *parent, *key_scope, *callback;
        const char *const *writes; /* default: a, b, plain */
} Begin;

static inline void gather_define(StoreFixture *f, const char *name, const char *rule_or_null) {
        _cleanup_json_ json_t *schema = json_object(), *json = NULL;
        Txn *t = store_fixture_begin(f, true);
        ArbitrationRule rule;
        uint64_t seq;

        if (rule_or_null) {
                cr_assert_eq(arbitration_rule_parse_text(rule_or_null, &rule, &f->d), 0, "%s", f->d.text);
                json = arbitration_rule_json(&rule);
        }
        cr_assert_eq(engine_slot_define_ruled(t, "uid:0", name, schema, json, &seq, &f->d), 0, "%s", f->d.text);
        store_fixture_commit(f, t);
}

static inline void gather_begin(StoreFixture *f, const Begin *b, char id[static REGION_ID_MAX]) {
        static const char *const all[] = {"a", "b", "plain", NULL};
        _cleanup_json_ json_t *grant = json_pack("{s:s*}", "key_scope", b->key_scope), *copies = NULL;
        Txn *t = store_fixture_begin(f, true);
        RegionStart s = {.region = id,
                         .skill_name = b->skill ? b->skill : "s",
                         .skill_digest = "sha256:0",
                         .tier = "namespaces",
                         .grant = grant,
                         .reads = b->writes ? b->writes : all,
                         .writes = b->writes ? b->writes : all,
                         .parent = b->parent,
                         .callback = b->callback,
                         .supervisor_pid = 1};
        uint64_t seq;
        const char *name;
        json_t *v;

        region_id_new(clock_real_usec(), id);
        cr_assert_eq(engine_region_start(t, &s, &seq, &copies, &f->d), 0, "%s", f->d.text);
        store_fixture_commit(f, t);
        json_object_foreach(copies, name, v) /* I-55: nothing that is not decided is handed to a region */
                cr_assert(json_is_null(v) || strcmp(json_string_value(json_object_get(v, "value")) ?: "", "secret") != 0, "%s", name);
}

/* value: text. confidence: negative for none. */
static inline int gather_propose(StoreFixture *f, const char *region, const char *slot, const char *value, int64_t expect, double confidence) {
        _cleanup_json_ json_t *v = json_string(value);
        Txn *t = store_fixture_begin(f, true);
        uint64_t seq, version;
        bool arbitrated;
        const SlotProposal p = {.region = region, .name = slot, .value = v, .expect = expect, .confidence = confidence < 0 ? NULL : &confidence};
        int r = engine_slot_propose(t, &p, &seq, &version, &arbitrated, &f->d);

        store_fixture_commit(f, t);
        return r;
}

static inline void gather_end(StoreFixture *f, const char *region, bool keep) {
        _cleanup_json_ json_t *none = json_object(), *ended = json_pack("{s:s}", "outcome", keep ? "exited" : "out_of_region");
        Txn *t = store_fixture_begin(f, true);
        uint64_t released, at;

        cr_assert_eq(engine_region_end(t, &(RegionEnd){region, keep, none, ended}, &released, &at, &f->d), 0, "%s", f->d.text);
        store_fixture_commit(f, t);
}

static inline int gather_decided(StoreFixture *f, const char *slot, json_t **ret) {
        Txn *t = store_fixture_begin(f, true);
        uint64_t seq;
        int r = engine_slot_decide(t, "uid:0", slot, &seq, ret, &f->d);

        store_fixture_commit(f, t);
        return r;
}

/* A region that proposes and ends well. */
static inline void gather_one(StoreFixture *f, const char *skill, const char *slot, const char *value, double confidence, char id[static REGION_ID_MAX]) {
        gather_begin(f, &(Begin){.skill = skill}, id);
        cr_assert_eq(gather_propose(f, id, slot, value, -1, confidence), 0, "%s", f->d.text);
        gather_end(f, id, true);
}

/* What the slot holds: text of one of the versions, "" for none. */
static inline const char *gather_value(StoreFixture *f, const char *slot, uint64_t *ret_version) {
        static char text[100];
        _cleanup_json_ json_t *o = NULL;
        Txn *t = store_fixture_begin(f, false);
        int r = belief_slot_get(t, slot, 0, &o, &f->d);

        store_abort(t);
        *ret_version = 0;
        *text = 0;
        if (r == ENGINE_E_NO_VALUE)
                return text;
        cr_assert_eq(r, 0, "%s", f->d.text);
        json_get_u64(json_object_get(o, "version"), ret_version);
        snprintf(text, sizeof(text), "%s", json_string_value(json_object_get(o, "value")));
        return text;
}

static inline int gather_count(StoreFixture *f, const char *slot) {
        QuorumRow rows[ARBITRATION_PROPOSALS_MAX];
        Txn *t = store_fixture_begin(f, false);
        int n = gather_rows(t, slot, rows, ARRAY_SIZE(rows));

        store_abort(t);
        return n;
}

/* The newest event of this type, or NULL; owned. */
static inline json_t *gather_event(StoreFixture *f, const char *type, unsigned *ret_n) {
        _cleanup_walk_ LedgerWalk w = {0};
        Txn *t = store_fixture_begin(f, false);
        json_t *found = NULL;
        uint64_t seq;
        Bytes e;

        *ret_n = 0;
        cr_assert_eq(ledger_walk(t, 0, &w), 0);
        while (ledger_next(&w, &seq, &e) == 0) {
                json_t *o = NULL;

                cr_assert_eq(event_get(t, seq, &o), 0);
                if (strcmp(json_string_value(json_object_get(o, "type")), type) == 0) {
                        json_decref(found);
                        found = json_incref(o);
                        ++*ret_n;
                }
                json_decref(o);
        }
        ledger_walk_deinit(&w);
        store_abort(t);
        return found;
}

static inline unsigned gather_events(StoreFixture *f, const char *type) {
        unsigned n;

        json_decref(gather_event(f, type, &n));
        return n;
}

static inline void gather_audit(StoreFixture *f) {
        AuditReport a;

        cr_assert_eq(audit_run(f->store, &a), 0, "entry %lu: %s; expected %s; found %s", (unsigned long)a.seq, a.what, a.expected, a.found);
}
