/* Runs: supervisor, CLI. Why the engine refuses a proposal. */
#pragma once

/* Positive codes: refusals. engine_code_name() gives the word that goes into events and replies. */
typedef enum EngineCode {
        ENGINE_OK = 0,
        ENGINE_E_BAD_NAME = 1,   /* bad_name: not a slot name */
        ENGINE_E_NOT_GRANTED,    /* not_granted: the region's grant does not list the slot for this */
        ENGINE_E_UNDEFINED,      /* undefined_slot: no such slot */
        ENGINE_E_SCHEMA,         /* schema: the value does not fit the slot's schema; the message has the JSON pointer and the keyword */
        ENGINE_E_BAD_SCHEMA,     /* bad_schema: the schema itself is refused */
        ENGINE_E_CONFLICT,       /* conflict: expected version is not the current one; another region holds the slot (message says which) */
        ENGINE_E_TOO_LARGE,      /* too_large */
        ENGINE_E_EXISTS,         /* exists: defined already, with another schema */
        ENGINE_E_NO_VALUE,       /* no_value: defined, never written */
        ENGINE_E_TOO_MANY,       /* too_many: proposals of one region; regions alive at once */
        ENGINE_E_NO_REGION,      /* no_region: no such region alive */
        ENGINE_E_KEY_ESCAPE,     /* key_escape: the value, or the name, holds a living region's key (I-11) */
        ENGINE_E_GATE,           /* gate: a gate's evidence is not there or does not satisfy its schema; message says which */
        /* of records (mutate.h) */
        ENGINE_E_NO_SCOPE,       /* no_scope: no scope of that name */
        ENGINE_E_NO_RECORD,      /* no_record: no such record in that scope */
        ENGINE_E_BAD_OPERATION,  /* bad_operation: not one of this kind of record (G-39) */
        ENGINE_E_BAD_STATE,      /* bad_state: the record's state does not accept it (M-39) */
        ENGINE_E_BAD_REF,        /* bad_ref: a reference that cannot be: to nothing, to itself, to a kind that takes none */
        ENGINE_E_OLD_INDEX,      /* old_index: the store's index is of an older form, and cannot be made anew now (engine/fold.h) */
        ENGINE_E_CROSS_SCOPE,    /* cross_scope: a reference into another scope (M-23) */
        ENGINE_E_BAD_PAYLOAD,    /* bad_payload: unknown or missing field, wrong type, out of range */
        ENGINE_E_SERVICE_FIELD,  /* service_metadata: a field that only the service fills in (M-18) */
        ENGINE_E_BLOCKED,        /* blocked: an earlier event about the record could not be projected yet (G-30) */
        ENGINE_E_DEPENDENTS,     /* dependents: others depend on it (M-54) */
        ENGINE_E_BAD_QUERY,      /* bad_query: a search that is not understood */
        ENGINE_E_EMPTY,          /* empty: a note without anything in it */
        ENGINE_E_BAD_UTF8,       /* bad_utf8: bytes that are not UTF-8 */
        ENGINE_E_CONTROL,        /* control_character: a NUL */
        ENGINE_E_RULE,           /* rule: not a rule of arbitration; or the slot's rule does not allow this; message says which */
} EngineCode;
const char *engine_code_name(EngineCode c);
