/* Runs: CLI. Approved tools of a wrapped server. Approvals are a slot: named, typed, with each version kept and signed.
 */
#include "mcp/wrap.h"

#include "base/hash.h"
#include "engine/engine.h"
#include "engine/slot.h"

#include <errno.h>
#include <string.h>

#define SLOT_MAX 128

static int approved_slot(const char *server, char ret[static SLOT_MAX]) {
        return snprintf(ret, SLOT_MAX, "mcp/%s", server) < SLOT_MAX ? 0 : -EINVAL;
}

int approved_digest(const json_t *tool, char ret[static 80]) {
        _cleanup_free_ char *text = NULL;
        char hex[HASH_HEX_MAX];
        size_t n;
        int e = json_canonical(tool, &text, &n);

        if (e == 0)
                snprintf(ret, 80, "sha256:%s", hash_hex(text, n, hex));
        return e;
}

int approved_read(Store *s, const char *server, json_t **ret, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        char slot[SLOT_MAX];
        SlotRow row;

        *ret = NULL;
        return approved_slot(server, slot) ?: store_begin(s, false, &t, reterr) ?: slot_value_get(t, slot, &row, ret);
}

static json_t *approved_schema(void) {
        return json_pack("{s:s, s:[s, s], s:{s:{s:s, s:{s:s, s:s}}, s:{s:s, s:{s:s, s:[s]}}}}", "type", "object",
                         "required", "tools", "offered", "properties", "tools", "type", "object",
                         "additionalProperties", "type", "string", "pattern", "^sha256:[0-9a-f]{64}$", "offered",
                         "type", "object", "additionalProperties", "type", "object", "required", "digest");
}

int approved_write(Store *s, const char *server, const char *who, const json_t *value, Diag *reterr) {
        _cleanup_json_ json_t *schema = approved_schema();
        _cleanup_txn_ Txn *t = NULL;
        char slot[SLOT_MAX];
        uint64_t seq, version;
        int e = schema ? approved_slot(server, slot) : -ENOMEM;

        e = e ?: store_begin(s, true, &t, reterr) ?: engine_slot_define(t, who, NULL, slot, schema, &seq, reterr)
                          ?: engine_slot_put(t, who, slot, value, -1, &seq, &version, reterr);
        return e ?: store_commit(TAKE_PTR(t), reterr);
}
