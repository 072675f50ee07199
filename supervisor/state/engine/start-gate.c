#include "engine/start-gate.h"

#include "base/clock.h"
#include "base/id.h"
#include "engine/lineage.h"
#include "engine/slot.h"
#include "record/rows.h"
#include "schema/jsonschema.h"

#include <errno.h>

void gates_deinit(Gates *g) {
        json_decref(g->rows);
        json_decref(g->evidence);
        *g = (Gates){0};
}

/* The message does not show the value: the message is recorded, and the ledger holds no values (I-2). */
static int gate_fail(Gates *g, json_t *row, const char *name, const char *reason, const char *words) {
        if (!g->failed)
                diag(&g->why, 0, "gate %s: %s", name, words);
        g->failed = true;
        return json_object_update_new(row, json_pack("{s:s, s:s}", "verdict", "fail", "reason", reason)) < 0 ? -ENOMEM
                                                                                                             : 0;
}

/* The age of the version; -ERANGE: the write lies in the future of the clock. */
static int gate_value_age(Txn *t, const SlotRow *slot, uint64_t now, uint64_t *ret) {
        _cleanup_json_ json_t *entry = NULL;
        const char *time;
        uint64_t written;
        int r = event_get(t, slot->written, &entry);

        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        time = json_text(json_object_get(entry, "time"));
        if (!time || clock_parse(time, &written) < 0)
                return -EUCLEAN;
        if (now < written)
                return -ERANGE;
        *ret = now - written;
        return 0;
}

/* A value of unknown age fails. held: gets the time limit of the value, counted from this check, for a transaction of
 * any length. */
static int gate_check_age(Txn *t, const char *name, const SlotRow *slot, uint64_t most, uint64_t now, json_t *row,
                          json_t *held, Gates *g) {
        uint64_t age;
        int r = gate_value_age(t, slot, now, &age);

        if (r == -ERANGE)
                return gate_fail(
                        g, row, name, "clock",
                        "by this machine's clock the slot's value was written in the future: the age is unknown");
        if (r < 0)
                return r;
        if (json_object_set_new(row, "age_usec", json_u64(age)) < 0 ||
            json_object_set_new(row, "max_age_usec", json_u64(most)) < 0)
                return -ENOMEM;
        if (age > most)
                return gate_fail(g, row, name, "too_old", "the slot's value is older than the gate's max_age");
        return json_object_set_new(held, "until_usec", json_u64(clock_mono_usec() + most - age)) < 0 ? -ENOMEM : 0;
}

static int gate_evaluate(Txn *t, const char *name, const json_t *schema, uint64_t max_age, uint64_t now, Gates *g,
                         Diag *reterr) {
        _cleanup_jsonschema_ JsonSchema *compiled = NULL;
        _cleanup_json_ json_t *value = NULL, *row = NULL, *held = NULL;
        SlotRow slot;
        int r;

        r = jsonschema_compile(schema, &compiled, reterr);
        if (r > 0) {
                diag_prefix(reterr, "gate %s", name);
                return ENGINE_E_BAD_SCHEMA;
        }
        if (r == 0)
                r = slot_value_get(t, name, &slot, &value);
        if (r < 0)
                return r;
        row = json_pack("{s:s, s:o, s:s}", "slot", name, "version", json_u64(slot.version), "verdict", "pass");
        if (!row || (value && json_object_set_new(row, "written", json_u64(slot.written)) < 0))
                return -ENOMEM;
        if (!value)
                r = gate_fail(g, row, name, "no_value", "the slot has no value");
        else {
                r = jsonschema_validate(compiled, value, NULL);
                if (r > 0)
                        r = gate_fail(g, row, name, "schema", "the slot's value does not satisfy the gate's schema");
                else if (r == 0 &&
                         (!(held = json_pack("{s:O}", "value", value)) || json_object_set(g->evidence, name, held) < 0))
                        r = -ENOMEM;
                else if (r == 0 && max_age > 0)
                        r = gate_check_age(t, name, &slot, max_age, now, row, held, g);
        }
        return r == 0 && json_array_append(g->rows, row) < 0 ? -ENOMEM : r;
}

int gates_evaluate(Txn *t, const json_t *gates, uint64_t now, Gates *ret, Diag *reterr) {
        _cleanup_gates_ Gates g = {.rows = json_array(), .evidence = json_object()};
        const json_t *gate;
        size_t i;
        int r = g.rows && g.evidence ? 0 : -ENOMEM;

        json_array_foreach(gates, i, gate) {
                const char *name = json_text(json_object_get(gate, "slot"));
                const json_t *schema = json_object_get(gate, "schema");
                uint64_t max_age;

                if (json_get_u64(json_object_get(gate, "max_age_usec"), &max_age) < 0)
                        max_age = 0;
                if (r != 0)
                        break;
                if (!name || !slot_name_valid(name))
                        r = diag(reterr, ENGINE_E_BAD_NAME, "gate %zu does not name a slot", i);
                else if (!schema)
                        r = diag(reterr, ENGINE_E_BAD_SCHEMA, "gate %s has no schema", name);
                else
                        r = gate_evaluate(t, name, schema, max_age, now, &g, reterr);
        }
        if (r != 0)
                return r;
        *ret = g;
        g = (Gates){0};
        return 0;
}

int gates_record(Txn *t, json_t *row, const char *region, const Gates *g) {
        json_t *fields;
        size_t i;

        json_array_foreach(g->rows, i, fields) {
                bool counted;
                int r = lineage_event(
                        t, row, &(Event){.type = "gate.evaluated", .region = region, .fields = json_incref(fields)},
                        NULL, &counted);

                if (r < 0)
                        return r;
        }
        return 0;
}
