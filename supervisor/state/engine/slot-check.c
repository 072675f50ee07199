#include "engine/slot.h"

#include "record/rows.h"
#include "schema/jsonschema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int slot_bad_name(const char *name, Diag *reterr) {
        return diag(reterr, ENGINE_E_BAD_NAME,
                    "\"%s\" is not a slot's name: a letter, then at most %d of a-z 0-9 . _ / -",
                    DIAG_QUOTED(name), SLOT_NAME_MAX - 1);
}

/* Checks the value against the slot's schema, which compiled at the definition. */
static int slot_check_schema(Txn *t, const char *name, const SlotRow *row, const json_t *value, Diag *reterr) {
        _cleanup_jsonschema_ JsonSchema *schema = NULL;
        _cleanup_json_ json_t *text = NULL;
        Bytes body;
        int r = body_get(t, row->defined, NULL, &body);

        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        r = json_parse(body.p, body.n, SLOT_VALUE_MAX, JSONSCHEMA_DEPTH_MAX, &text, NULL)
                ?: jsonschema_compile(text, &schema, NULL);
        if (r != 0)
                return r > 0 ? -EUCLEAN : r;
        r = jsonschema_validate(schema, value, reterr);
        if (r > 0) {
                diag_prefix(reterr, "slot %s", name);
                return ENGINE_E_SCHEMA;
        }
        return r;
}

int slot_check(Txn *t, const char *region, const char *name, const json_t *value, int64_t expect, SlotChecked *ret,
               Diag *reterr) {
        SlotRow row;
        uint64_t current;
        int r;

        if (!slot_name_valid(name))
                return slot_bad_name(name, reterr);
        r = slot_row_get(t, name, &row);
        if (r == -ENOENT)
                return diag(reterr, ENGINE_E_UNDEFINED, "slot %s is not defined", name);
        if (r < 0)
                return r;
        /* No region holds a slot with a rule: the visible version counts. */
        if (row.held_version && (!region || strcmp(row.held_by, region) != 0))
                return diag(reterr, ENGINE_E_CONFLICT, "slot %s is held by region %s, a writer that has not ended",
                            name, row.held_by);
        current = row.held_version ? row.held_version : row.version;
        if (expect >= 0 && (uint64_t)expect != current)
                return diag(reterr, ENGINE_E_CONFLICT,
                            "slot %s is at version %" PRIu64 ", not at the expected %" PRId64, name, current, expect);
        r = json_canonical(value, &ret->text, &ret->n);
        if (r == -ERANGE)
                return diag(reterr, ENGINE_E_SCHEMA,
                            "slot %s: an integer is beyond 2^53-1, the limit of many readers: write a string", name);
        if (r < 0)
                return r;
        if (ret->n > SLOT_VALUE_MAX)
                return diag(reterr, ENGINE_E_TOO_LARGE, "slot %s: a value of %zu bytes: at most %d are allowed", name,
                            ret->n, SLOT_VALUE_MAX);
        r = slot_check_schema(t, name, &row, value, reterr);
        if (r != 0)
                return r;
        ret->row = row;
        ret->version = current + 1;
        return 0;
}

void slot_checked_deinit(SlotChecked *c) {
        free(c->text);
        c->text = NULL;
}
