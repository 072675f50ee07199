#include "engine/engine.h"

#include "engine/fold-slot.h"
#include "engine/quorum.h"
#include "engine/region-row.h"
#include "engine/slot.h"
#include "ledger/ledger.h"
#include "schema/jsonschema.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* The message for the ledger: without the part of the value. A schema's message shows a key or number of the value, and
 * the ledger cannot forget an uncommitted value (I-2). The schema's rule stays. */
static void slot_message_without_value(const Diag *why, Diag *ret) {
        const char *value = strstr(why->text, ": value at \""), *rule = "";

        if (!value) {
                *ret = *why;
                return;
        }
        for (const char *p = value; (p = strstr(p, " (schema ")); p++)
                rule = p;
        diag(ret, 0, "%.*s: the value does not fit%s", (int)(value - why->text), why->text, rule);
}

int engine_refuse(Txn *t, json_t *row, const char *region, const char *who, const char *name, EngineCode code,
                  Diag *why) {
        json_t *fields;
        bool counted;
        Diag message;
        int r;

        slot_message_without_value(why, &message);
        fields = json_pack("{s:s, s:s, s:s}", "slot", DIAG_QUOTED(name), "code", engine_code_name(code), "message",
                           message.text);
        r = lineage_event(t, row, &(Event){.type = "slot.refused", .region = region, .who = who, .fields = fields},
                          NULL, &counted);
        if (r == 0 && counted)
                r = region_json_put(t, region, row, false);
        return r < 0 ? r : (int)code;
}

int slot_value_get(Txn *t, const char *name, SlotRow *ret, json_t **ret_value) {
        Bytes body;
        int r = slot_row_get(t, name, ret);

        if (r == -ENOENT || (r == 0 && ret->version == 0)) {
                *ret = (SlotRow){0};
                return 0;
        }
        if (r == 0 && ret->body == 0) /* erased */
                return 0;
        if (r == 0)
                r = body_get(t, ret->body, NULL, &body);
        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        r = json_parse(body.p, body.n, SLOT_VALUE_MAX, JSON_DEPTH_DEFAULT, ret_value, NULL);
        return r > 0 ? -EUCLEAN : r;
}

/* Does the existing slot have this very rule? NULL: none. */
static int slot_check_rule(Txn *t, const char *name, const SlotRow *row, const json_t *rule, Diag *reterr) {
        _cleanup_json_ json_t *has = NULL;
        ArbitrationRule r;
        int e;

        if (!row->arbitrated && !rule)
                return 0;
        if (!row->arbitrated)
                return diag(reterr, ENGINE_E_EXISTS,
                            "slot %s is defined already, without a rule of arbitration (seq %" PRIu64 ")", name,
                            row->defined);
        e = quorum_rule(t, row, &r);
        if (e < 0)
                return e;
        has = arbitration_rule_json(&r);
        if (!has)
                return -ENOMEM;
        if (rule && json_equal(has, rule))
                return 0;
        return diag(reterr, ENGINE_E_EXISTS,
                    "slot %s is defined already, with another rule of arbitration (seq %" PRIu64 ")", name,
                    row->defined);
}

/* by_rule: the rule counts, also a missing rule (operator). */
static int slot_define(Txn *t, const char *who, const char *region, const char *name, const json_t *schema,
                       bool by_rule, const json_t *rule, uint64_t *ret_seq, Diag *reterr) {
        _cleanup_jsonschema_ JsonSchema *compiled = NULL;
        _cleanup_free_ char *text = NULL;
        SlotRow row = {0};
        size_t n;
        int r;

        if (!slot_name_valid(name))
                return slot_bad_name(name, reterr);
        r = json_canonical(schema, &text, &n);
        if (r == -ERANGE)
                return diag(reterr, ENGINE_E_BAD_SCHEMA, "schema of slot %s: an integer is beyond 2^53-1", name);
        if (r < 0)
                return r;
        r = jsonschema_compile(schema, &compiled, reterr);
        if (r < 0)
                return r;
        if (r > 0) {
                diag_prefix(reterr, "schema of slot %s", name);
                return ENGINE_E_BAD_SCHEMA;
        }
        if (jsonschema_has_key(compiled))
                return diag(reterr, ENGINE_E_BAD_SCHEMA,
                            "schema of slot %s: \"format\": \"" JSONSCHEMA_KEY_FORMAT
                            "\" is the type of a region's key, "
                            "and a slot outlives every region", name);
        if (n > SLOT_VALUE_MAX)
                return diag(reterr, ENGINE_E_TOO_LARGE, "schema of slot %s: %zu bytes: at most %d are allowed", name, n,
                            SLOT_VALUE_MAX);
        r = slot_row_get(t, name, &row);
        if (r == 0) {
                Bytes old;

                r = body_get(t, row.defined, NULL, &old);
                if (r < 0)
                        return r == -ENOENT ? -EUCLEAN : r;
                if (old.n != n || memcmp(old.p, text, n) != 0)
                        return diag(reterr, ENGINE_E_EXISTS,
                                    "slot %s is defined already, with another schema (seq %" PRIu64 ")", name,
                                    row.defined);
                r = by_rule ? slot_check_rule(t, name, &row, rule, reterr) : 0;
                if (r == 0 && ret_seq)
                        *ret_seq = row.defined;
                return r;
        }
        if (r != -ENOENT)
                return r;
        return fold_slot_append(t,
                                &(Event){.type = "slot.defined", .region = region, .who = who,
                                         .fields = json_pack("{s:s, s:O*}", "slot", name, "arbitrate", rule),
                                         .payload = text, .n_payload = n}, ret_seq);
}

int engine_slot_define(Txn *t, const char *who, const char *region, const char *name, const json_t *schema,
                       uint64_t *ret_seq, Diag *reterr) {
        return slot_define(t, who, region, name, schema, false, NULL, ret_seq, reterr);
}

int engine_slot_define_ruled(Txn *t, const char *who, const char *name, const json_t *schema, const json_t *rule,
                             uint64_t *ret_seq, Diag *reterr) {
        _cleanup_json_ json_t *same = NULL;
        ArbitrationRule parsed;

        if (rule) {
                Diag why;

                if (arbitration_rule_parse(rule, &parsed, &why) != 0)
                        return diag(reterr, ENGINE_E_RULE, "%s", why.text);
                same = arbitration_rule_json(&parsed);
                if (!same)
                        return -ENOMEM;
        }
        return slot_define(t, who, NULL, name, schema, true, same, ret_seq, reterr);
}

int slot_row_for_verdict(Txn *t, const char *name, SlotRow *ret, Diag *reterr) {
        int r;

        if (!slot_name_valid(name))
                return slot_bad_name(name, reterr);
        r = slot_row_get(t, name, ret);
        if (r == -ENOENT)
                return diag(reterr, ENGINE_E_UNDEFINED, "slot %s is not defined", name);
        return r < 0 || ret->arbitrated ? r
                                        : diag(reterr, ENGINE_E_RULE,
                                               "slot %s has no rule of arbitration: no proposal is gathered", name);
}

int engine_slot_decide(Txn *t, const char *who, const char *name, uint64_t *ret_seq, json_t **ret, Diag *reterr) {
        SlotRow row;
        Diag own;
        int r;

        reterr = reterr ? reterr : &own;
        r = slot_row_for_verdict(t, name, &row, reterr) ?: quorum_decide(t, name, who, ret_seq, ret, reterr);
        if (r > 0)
                return engine_refuse(t, NULL, NULL, who, name, r, reterr);
        return r == 0 ? ledger_want_anchor(t) : r;
}

int engine_slot_put(Txn *t, const char *who, const char *name, const json_t *value, int64_t expect, uint64_t *ret_seq,
                    uint64_t *ret_version, Diag *reterr) {
        _cleanup_(slot_checked_deinit) SlotChecked c = {0};
        uint64_t seq;
        Diag own;
        int r;

        reterr = reterr ? reterr : &own;
        r = slot_check(t, NULL, name, value, expect, &c, reterr);
        if (r > 0)
                return engine_refuse(t, NULL, NULL, who, name, r, reterr);
        if (r < 0)
                return r;
        r = fold_slot_append(t,
                             &(Event){.type = "slot.written", .who = who,
                                      .fields = json_pack("{s:s, s:o}", "slot", name, "version", json_u64(c.version)),
                                      .payload = c.text, .n_payload = c.n}, &seq)
                ?: ledger_want_anchor(t);
        if (r < 0)
                return r;
        *ret_seq = seq;
        *ret_version = c.version;
        return 0;
}
