#include "engine/engine.h"

const char *engine_code_name(EngineCode c) {
        switch (c) {
        case ENGINE_OK:
                return "ok";
        case ENGINE_E_BAD_NAME:
                return "bad_name";
        case ENGINE_E_NOT_GRANTED:
                return "not_granted";
        case ENGINE_E_UNDEFINED:
                return "undefined_slot";
        case ENGINE_E_SCHEMA:
                return "schema";
        case ENGINE_E_BAD_SCHEMA:
                return "bad_schema";
        case ENGINE_E_CONFLICT:
                return "conflict";
        case ENGINE_E_TOO_LARGE:
                return "too_large";
        case ENGINE_E_EXISTS:
                return "exists";
        case ENGINE_E_NO_VALUE:
                return "no_value";
        case ENGINE_E_TOO_MANY:
                return "too_many";
        case ENGINE_E_NO_REGION:
                return "no_region";
        case ENGINE_E_KEY_ESCAPE:
                return "key_escape";
        case ENGINE_E_GATE:
                return "gate";
        }
        return "unknown";
}
