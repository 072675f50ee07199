#include "engine/engine.h"

#include "base/clock.h"
#include "engine/execution.h"
#include "engine/fold-slot.h"
#include "engine/start-gate.h"
#include "engine/quorum.h"
#include "engine/round.h"
#include "engine/lineage.h"
#include "engine/region-row.h"
#include "engine/session.h"
#include "engine/slot.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static json_t *region_strings(const char *const *list) {
        json_t *a = json_array();

        for (; a && list && *list; list++)
                if (json_array_append_new(a, json_string(*list)) < 0) {
                        json_decref(a);
                        return NULL;
                }
        return a;
}

/* Defines the slots of the manifest. */
static int region_define_slots(Txn *t, const RegionStart *s, Diag *reterr) {
        const char *name;
        json_t *schema;

        json_object_foreach((json_t *)s->slots, name, schema) {
                int r = engine_slot_define(t, NULL, s->region, name, schema, NULL, reterr);

                if (r != 0)
                        return r;
        }
        return 0;
}

/* Copies out a slot of `reads`, and records the read version (I-20). */
static int region_copy_slot(Txn *t, const RegionStart *s, json_t *region_row, const char *name, json_t *copies,
                            Diag *reterr) {
        _cleanup_json_ json_t *value = NULL;
        json_t *fields;
        bool counted;
        SlotRow row;
        int r;

        if (!slot_name_valid(name))
                return diag(reterr, ENGINE_E_BAD_NAME, "reads: \"%s\" is not a slot's name", DIAG_QUOTED(name));
        r = slot_value_get(t, name, &row, &value);
        if (r < 0)
                return r;
        if (!value)
                return json_object_set_new(copies, name, json_null()) < 0 ? -ENOMEM : 0;
        fields = json_pack("{s:s, s:o, s:o}", "slot", name, "version", json_u64(row.version), "written",
                           json_u64(row.written));
        r = lineage_event(t, region_row, &(Event){.type = "slot.read", .region = s->region, .fields = fields}, NULL,
                          &counted);
        if (r == 0 &&
            json_object_set_new(copies, name,
                                json_pack("{s:o, s:O}", "version", json_u64(row.version), "value", value)) < 0)
                r = -ENOMEM;
        return r;
}

/* Records the refusal of a region by a gate. */
static int region_refuse_start(Txn *t, const RegionStart *s, const Gates *g, Diag *reterr) {
        int r = gates_record(t, NULL, s->region, g)
                ?: engine_region_refuse(t, s->region, s->skill_name, s->skill_digest,
                                        json_text(json_object_get(s->grant, "name")), engine_code_name(ENGINE_E_GATE),
                                        g->why.text);

        return r < 0 ? r : diag(reterr, ENGINE_E_GATE, "%s", g->why.text);
}

int engine_region_refuse(Txn *t, const char *region, const char *skill, const char *digest, const char *name,
                         const char *code, const char *message) {
        json_t *fields = json_pack("{s:{s:s, s:s?}, s:s, s:s, s:s*}", "skill", "name", skill, "digest", digest, "code",
                                   code, "message", message, "name", name);

        return event_append(t, &(Event){.type = "region.refused", .region = region, .fields = fields}, NULL);
}

/* The uppermost region above that lends its key to the new region, or has the new region as release callback. Regions
 * with the same tree share sections or an invocation, so are not disjoint, and count once in proposals (I-55). Empty:
 * no such region. */
static void region_find_tree(const RegionStart *s, const json_t *above, char ret[static REGION_ID_MAX]) {
        const char *tree = json_text(json_object_get(above, "tree"));

        if (tree)
                snprintf(ret, REGION_ID_MAX, "%s", tree);
        else if (s->callback || json_object_get(above, "lends_key"))
                snprintf(ret, REGION_ID_MAX, "%s", s->parent);
}

/* Of an execution, or below one (execution.h): {"object","trace","below"?}; {} for all other regions. New, or NULL. */
static json_t *region_execution(const RegionStart *s, const json_t *above) {
        if (s->object)
                return json_pack("{s:s, s:s}", "object", s->object, "trace", s->trace);
        if (!json_object_get(above, "object"))
                return json_object();
        return json_pack("{s:O, s:O, s:b}", "object", json_object_get(above, "object"), "trace",
                         json_object_get(above, "trace"), "below", 1);
}

/* Below an execution no change is kept: a sub-skill with slots for writing would lose all writes, and is refused. */
static int region_check_below(const RegionStart *s, const json_t *above, char broke[static REGION_BROKE_MAX],
                              Diag *reterr) {
        if (!json_object_get(above, "object"))
                return 0;
        if (!s->callback && s->writes && *s->writes)
                return diag(reterr, ENGINE_E_NOT_GRANTED, "skill %s would write slots below region %s, an execution of "
                            "object %s: only the execution itself writes, because a second try repeats all sub-skills",
                            s->skill_name, s->parent, json_str(above, "object"));
        if (!*broke)
                snprintf(broke, REGION_BROKE_MAX, "%s", EXECUTION_BELOW);
        return 0;
}

/* Checks that the parent lives, and notes the start of a release callback in the parent's row. */
static int region_check_parent(Txn *t, const RegionStart *s, char ret_tree[static REGION_ID_MAX],
                               char ret_broke[static REGION_BROKE_MAX], json_t **ret_execution, Diag *reterr) {
        _cleanup_json_ json_t *row = NULL;
        json_t *list;
        int r = region_json_get(t, s->parent, &row);

        if (r == ENGINE_E_NO_REGION)
                return diag(reterr, r, "the starting region %s is not alive", s->parent);
        if (r == 0) {
                _cleanup_json_ json_t *below = json_pack("{s:s}", "parent", s->parent);

                region_find_tree(s, row, ret_tree);
                r = below && (*ret_execution = region_execution(s, row)) ? region_broke_above(t, below, ret_broke)
                                                                         : -ENOMEM;
        }
        if (r == 0)
                r = region_check_below(s, row, ret_broke, reterr);
        if (r != 0 || !s->callback)
                return r;
        list = json_object_get(row, "callbacks");
        if (!list && json_object_set_new(row, "callbacks", list = json_array()) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *o = json_array_get(list, i);

                if (json_text_is(json_object_get(o, "entry"), s->callback) &&
                    (!s->callback_again || json_object_get(o, "again")))
                        return diag(reterr, ENGINE_E_EXISTS, "release callback %s of region %s began already",
                                    s->callback, s->parent);
        }
        if (json_array_append_new(list, json_pack("{s:s, s:s, s:o*}", "entry", s->callback, "region", s->region,
                                                  "again", s->callback_again ? json_true() : NULL)) < 0)
                return -ENOMEM;
        return region_json_put(t, s->parent, row, false);
}

int engine_region_start(Txn *t, const RegionStart *s, uint64_t *ret_seq, json_t **ret_copies, Diag *reterr) {
        _cleanup_gates_ Gates gates = {0};
        _cleanup_json_ json_t *fields = NULL, *row = NULL, *execution = NULL, *copies = json_object();
        char tree[REGION_ID_MAX] = "", broke[REGION_BROKE_MAX] = "";
        uint64_t seq, alive, turn = 0;
        bool lends, success;
        int r;

        if (!copies)
                return -ENOMEM;
        assert(region_id_valid(s->region));
        r = engine_region_count(t, &alive);
        if (r < 0)
                return r;
        if (s->max_regions > 0 && alive >= s->max_regions)
                return diag(reterr, ENGINE_E_TOO_MANY,
                            "%" PRIu64 " regions are alive in this store: policy allows %" PRIu64
                            " at once (max_regions)", alive, s->max_regions);
        success = json_text_is(json_object_get(s->grant, "commit"), "success");
        if (s->object && !success)
                return diag(reterr, ENGINE_E_NOT_GRANTED,
                            "region %s is an execution of object %s, and the grant lacks commit \"success\": an "
                            "execution keeps changes after exit code 0 only",
                            s->region, s->object);
        r = s->object ? execution_may_start(t, s, reterr) : 0;
        if (r != 0)
                return r;
        r = gates_evaluate(t, s->gates, s->now_usec ? s->now_usec : clock_real_usec(), &gates, reterr);
        if (r != 0)
                return r;
        if (gates.failed)
                return region_refuse_start(t, s, &gates, reterr);
        if (s->parent)
                r = region_check_parent(t, s, tree, broke, &execution, reterr);
        else
                r = (execution = region_execution(s, NULL)) ? 0 : -ENOMEM;
        if (r == 0 && s->session)
                r = engine_session_turn(t, s->session, s->region, &turn, reterr);
        if (r != 0)
                return r;
        fields = json_pack("{s:{s:s, s:s}, s:s, s:O?, s:o, s:o, s:o, s:s*, s:s*, s:s*, s:s*, s:O*, s:s*, s:s*}", "skill",
                           "name", s->skill_name, "digest", s->skill_digest, "tier", s->tier, "grant", s->grant,
                           "reads", region_strings(s->reads), "writes", region_strings(s->writes), "supervisor",
                           json_u64(s->supervisor_pid), "start", s->start, "started_ahead", s->started_ahead, "parent",
                           s->parent, "callback", s->callback, "by", s->by, "discards", *broke ? broke : NULL, "session",
                           s->session);
        if (!fields || (s->session && json_object_set_new(fields, "turn", json_u64(turn)) < 0) ||
            json_object_update(fields, execution) < 0)
                return -ENOMEM;
        r = fold_slot_append(
                    t, &(Event){.type = "region.allocated", .region = s->region, .fields = json_incref(fields)}, &seq)
                ?: region_define_slots(t, s, reterr);
        if (r != 0)
                return r;
        lends = json_text_is(json_object_get(s->grant, "key_scope"), "invocation-tree");
        row = json_pack(
                "{s:o, s:o, s:o, s:O, s:s, s:o, s:o, s:s, s:O?, s:o*, s:s*, s:s*, s:s*, s:s*, s:s*, s:O*, s:O*, s:s*}",
                "lock", json_u64(store_own_lock(txn_store(t))), "supervisor", json_u64(s->supervisor_pid), "allocated",
                json_u64(seq), "skill", json_object_get(fields, "skill"), "tier", s->tier, "writes",
                region_strings(s->writes), "proposals", json_integer(0), "lineage", s->lineage ? s->lineage : "events",
                "discipline", json_object_get(s->grant, "discipline"), "lends_key", lends ? json_true() : NULL,
                "commit", success ? "success" : NULL, "tree", *tree ? tree : NULL, "parent", s->parent, "callback",
                s->callback, "folder", s->folder, "grant", s->folder ? s->grant : NULL, "release", s->release,
                "turn_of", s->session);
        if (!row || (s->session && json_object_set_new(row, "turn", json_u64(turn)) < 0) ||
            json_object_update(row, execution) < 0 ||
            (json_object_get(row, "below") && json_object_set_new(row, "broke_above", json_string(broke)) < 0))
                return -ENOMEM;
        r = gates_record(t, row, s->region, &gates);
        if (r != 0)
                return r;
        for (const char *const *name = s->reads; name && *name; name++) {
                r = region_copy_slot(t, s, row, *name, copies, reterr);
                if (r != 0)
                        return r;
        }
        r = region_json_put(t, s->region, row, true);
        if (r < 0)
                return r;
        if (ret_seq)
                *ret_seq = seq;
        if (ret_copies)
                *ret_copies = TAKE_PTR(copies);
        if (s->ret_turn)
                *s->ret_turn = turn;
        if (s->ret_discards)
                *s->ret_discards = *broke;
        if (s->ret_evidence)
                *s->ret_evidence = TAKE_PTR(gates.evidence);
        return 0;
}

int engine_region_pid(Txn *t, const char *region, uint64_t pid, uint64_t start_ticks, const char *cgroup,
                      const char *scratch) {
        _cleanup_json_ json_t *row = NULL;
        int r = region_json_get(t, region, &row);

        if (r != 0)
                return r;
        r = json_put(row, "pid", json_u64(pid)) | json_put(row, "start_ticks", json_u64(start_ticks));
        if (cgroup)
                r |= json_put(row, "cgroup", json_string(cgroup));
        if (scratch)
                r |= json_put(row, "scratch", json_string(scratch));
        return r ? -ENOMEM : region_json_put(t, region, row, false);
}

/* For a region left behind: the rows of the regions above go before the region's own. */
static int region_note_broke_above(Txn *t, json_t *row) {
        char broke[REGION_BROKE_MAX];
        int r = region_broke_above(t, row, broke);

        if (r == 0 && *broke && json_object_set_new(row, "broke_above", json_string(broke)) < 0)
                r = -ENOMEM;
        return r;
}

int engine_event(Txn *t, const char *region, const char *type, const json_t *fields, uint64_t *ret_seq) {
        json_t *own = fields ? json_copied(fields) : json_object();
        int r = lineage_event_of(t, &(Event){.type = type, .region = region, .fields = own}, ret_seq);

        if (r == 0 && region && (strcmp(type, "region.faulted") == 0 || strcmp(type, "region.left") == 0)) {
                const char *outcome = json_text(json_object_get(fields, "outcome")), *key = type + strlen("region.");
                _cleanup_json_ json_t *row = NULL;

                /* For recovery after a death of the supervisor: all of this region is discarded (I-24), and regions
                 * below read the row, too (I-98). For a region left behind recovery reports the end (I-63). */
                r = region_json_get(t, region, &row);
                if (r == 0 && json_object_set_new(row, key, json_string(outcome ? outcome : key)) < 0)
                        r = -ENOMEM;
                if (r == 0 && strcmp(key, "left") == 0)
                        r = region_note_broke_above(t, row);
                if (r == 0)
                        r = region_json_put(t, region, row, false);
        }
        return r;
}

static bool region_may_write(const json_t *row, const char *name) {
        const json_t *writes = json_object_get(row, "writes");

        for (size_t i = 0; i < json_array_size(writes); i++)
                if (json_text_is(json_array_get(writes, i), name))
                        return true;
        return false;
}

/* I-11: also searches the name, because a refusal records the name. */
static int propose_check_escape(const KeySet *keys, const char **name, const json_t *value, Diag *reterr) {
        int in_name = keyscan_text(keys, *name, strlen(*name)),
            in_value = in_name < 0 ? in_name : keyscan_json(keys, value);

        if (in_value < 0)
                return in_value;
        if (in_name)
                *name = "(withheld)";
        return in_name || in_value ? diag(reterr, ENGINE_E_KEY_ESCAPE,
                                          "a region's key must not leave the region: the write was not taken")
                                   : 0;
}

static int propose_check_round(Txn *t, const json_t *row, const char *name, Diag *reterr) {
        uint64_t allocated;

        return json_get_u64(json_object_get(row, "allocated"), &allocated) < 0 ? -EUCLEAN
                                                                               : round_may(t, name, allocated, reterr);
}

int engine_slot_propose(Txn *t, const SlotProposal *p, uint64_t *ret_seq, uint64_t *ret_version, bool *ret_arbitrated,
                        Diag *reterr) {
        _cleanup_(slot_checked_deinit) SlotChecked c = {0};
        _cleanup_json_ json_t *row = NULL;
        const char *name = p->name;
        json_t *fields;
        uint64_t proposals;
        Diag own;
        int r;

        reterr = reterr ? reterr : &own;
        r = region_json_need(t, p->region, &row, reterr);
        if (r != 0)
                return r;
        if (json_get_u64(json_object_get(row, "proposals"), &proposals) < 0)
                return -EUCLEAN;
        r = propose_check_escape(p->keys, &name, p->value, reterr);
        if (r < 0)
                return r;
        if (r > 0)
                return engine_refuse(t, row, p->region, NULL, name, r, reterr);
        if (proposals >= SLOT_PROPOSALS_MAX)
                r = diag(reterr, ENGINE_E_TOO_MANY, "an invocation has at most %d slot writes", SLOT_PROPOSALS_MAX);
        else if (slot_name_valid(name) && !region_may_write(row, name))
                r = diag(reterr, ENGINE_E_NOT_GRANTED, "slot %s is not writable for this region", name);
        else
                r = slot_check(t, p->region, name, p->value, p->expect, &c, reterr);
        if (r == 0)
                r = quorum_may(t, name, &c.row, BYTES(c.text, c.n), p->expect, p->confidence, reterr);
        if (r == 0 && c.row.arbitrated)
                r = propose_check_round(t, row, name, reterr);
        if (r > 0)
                return engine_refuse(t, row, p->region, NULL, name, r, reterr);
        if (r < 0)
                return r;

        /* The entry holds the input of a verdict. */
        fields = json_pack("{s:s, s:o, s:o*, s:o*}", "slot", name, "version", json_u64(c.version), "expect",
                           c.row.arbitrated && p->expect >= 0 ? json_u64((uint64_t)p->expect) : NULL, "confidence",
                           p->confidence ? json_real(*p->confidence) : NULL);
        r = fold_slot_append(t,
                             &(Event){.type = "slot.proposed", .region = p->region, .fields = fields, .payload = c.text,
                                      .n_payload = c.n}, ret_seq);
        if (r == 0 && json_object_set_new(row, "proposals", json_u64(proposals + 1)) < 0)
                r = -ENOMEM;
        if (r == 0)
                r = region_json_put(t, p->region, row, false);
        if (r < 0)
                return r;
        *ret_version = c.version;
        if (ret_arbitrated)
                *ret_arbitrated = c.row.arbitrated;
        return 0;
}
