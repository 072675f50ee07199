#include "record/code.h"

#include "base/util.h"

static const char *const code_names[] = {
        [ENGINE_OK] = "ok",
        [ENGINE_E_BAD_NAME] = "bad_name",
        [ENGINE_E_NOT_GRANTED] = "not_granted",
        [ENGINE_E_UNDEFINED] = "undefined_slot",
        [ENGINE_E_SCHEMA] = "schema",
        [ENGINE_E_BAD_SCHEMA] = "bad_schema",
        [ENGINE_E_CONFLICT] = "conflict",
        [ENGINE_E_TOO_LARGE] = "too_large",
        [ENGINE_E_EXISTS] = "exists",
        [ENGINE_E_NO_VALUE] = "no_value",
        [ENGINE_E_TOO_MANY] = "too_many",
        [ENGINE_E_NO_REGION] = "no_region",
        [ENGINE_E_KEY_ESCAPE] = "key_escape",
        [ENGINE_E_GATE] = "gate",
        [ENGINE_E_NO_SCOPE] = "no_scope",
        [ENGINE_E_NO_RECORD] = "no_record",
        [ENGINE_E_BAD_OPERATION] = "bad_operation",
        [ENGINE_E_BAD_STATE] = "bad_state",
        [ENGINE_E_BAD_REF] = "bad_ref",
        [ENGINE_E_OLD_INDEX] = "old_index",
        [ENGINE_E_CROSS_SCOPE] = "cross_scope",
        [ENGINE_E_BAD_PAYLOAD] = "bad_payload",
        [ENGINE_E_SERVICE_FIELD] = "service_metadata",
        [ENGINE_E_BLOCKED] = "blocked",
        [ENGINE_E_DEPENDENTS] = "dependents",
        [ENGINE_E_BAD_QUERY] = "bad_query",
        [ENGINE_E_EMPTY] = "empty",
        [ENGINE_E_BAD_UTF8] = "bad_utf8",
        [ENGINE_E_CONTROL] = "control_character",
        [ENGINE_E_RULE] = "rule",
};

const char *engine_code_name(EngineCode c) {
        return (size_t)c < ARRAY_SIZE(code_names) ? code_names[c] : "unknown";
}
