/* Runs: supervisor, CLI. The codes with which the engine refuses a proposal. */
#pragma once

/* Positive codes: refusals. engine_code_name() gives the word for events and replies. */
typedef enum EngineCode {
        ENGINE_OK = 0,
        ENGINE_E_BAD_NAME = 1,   /* bad_name: not a slot name */
        ENGINE_E_NOT_GRANTED,    /* not_granted: the region's grant does not list the slot for reading or writing */
        ENGINE_E_UNDEFINED,      /* undefined_slot: the slot is not defined */
        ENGINE_E_SCHEMA,         /* schema: the value breaks the slot's schema; message: JSON pointer, keyword */
        ENGINE_E_BAD_SCHEMA,     /* bad_schema: the schema itself is refused */
        ENGINE_E_CONFLICT,       /* conflict: wrong expected version, or held by another region (see the message) */
        ENGINE_E_TOO_LARGE,      /* too_large */
        ENGINE_E_EXISTS,         /* exists: defined already, with another schema */
        ENGINE_E_NO_VALUE,       /* no_value: defined, never written */
        ENGINE_E_TOO_MANY,       /* too_many: proposals of one region; regions alive at once */
        ENGINE_E_NO_REGION,      /* no_region: the region is not alive */
        ENGINE_E_KEY_ESCAPE,     /* key_escape: the value or the name holds a living region's key (I-11) */
        ENGINE_E_GATE,           /* gate: a gate's evidence is missing or breaks the schema (see the message) */
        /* of records (mutate.h) */
        ENGINE_E_NO_SCOPE,       /* no_scope: no scope of the given name */
        ENGINE_E_NO_RECORD,      /* no_record: the scope has no such record */
        ENGINE_E_BAD_OPERATION,  /* bad_operation: the kind of record does not have the operation (G-39) */
        ENGINE_E_BAD_STATE,      /* bad_state: the record's state does not accept the operation (M-39) */
        ENGINE_E_BAD_REF,        /* bad_ref: a reference to nothing, to its own source, or to a wrong kind */
        ENGINE_E_OLD_INDEX,      /* old_index: the index has an older form and cannot be rebuilt now (fold.h) */
        ENGINE_E_CROSS_SCOPE,    /* cross_scope: a reference into another scope (M-23) */
        ENGINE_E_BAD_PAYLOAD,    /* bad_payload: unknown or missing field, wrong type, out of range */
        ENGINE_E_SERVICE_FIELD,  /* service_metadata: only the service fills in the field (M-18) */
        ENGINE_E_BLOCKED,        /* blocked: the projection of an earlier event about the record failed (G-30) */
        ENGINE_E_DEPENDENTS,     /* dependents: other records depend on the record (M-54) */
        ENGINE_E_BAD_QUERY,      /* bad_query: a search that cannot be parsed */
        ENGINE_E_EMPTY,          /* empty: a note without text */
        ENGINE_E_BAD_UTF8,       /* bad_utf8: bytes that are not UTF-8 */
        ENGINE_E_CONTROL,        /* control_character: a NUL */
        ENGINE_E_RULE,           /* rule: no rule of arbitration, or forbidden by the slot's rule (see message) */
} EngineCode;
const char *engine_code_name(EngineCode c);
