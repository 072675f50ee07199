/* Runs: supervisor, CLI. The fields of a record's payload, by kind, operation and type: one table for all kinds (shown
 * in schema/governed.md and schema/memory.md). engine_mutate() checks each payload by this table. Pure. */
#pragma once

#include "base/json.h"
#include "engine/engine.h"
#include "record/kind.h"

enum {
        PAYLOAD_E_EMPTY = 1, /* an empty text */
        PAYLOAD_E_TOO_LARGE,
        PAYLOAD_E_CONTROL,   /* clean.h */
        PAYLOAD_E_UNKNOWN,   /* an unknown field */
        PAYLOAD_E_OWNED,     /* refs/reserved-names.h */
        PAYLOAD_E_MISSING,
        PAYLOAD_E_TYPE,
        PAYLOAD_E_VALUE,     /* an unknown word, out of range, or a duplicate */
        PAYLOAD_E_ID,        /* not a record's id */
};

typedef enum PayloadForm {
        PAYLOAD_LINE = 1, /* a line of text */
        PAYLOAD_TEXT,     /* a text of several lines */
        PAYLOAD_RAW,      /* any text, with all characters but U+0000 */
        PAYLOAD_ID,       /* a record's id */
        PAYLOAD_CHOICE,   /* a word from a list */
        PAYLOAD_LINES,    /* array of lines of text */
        PAYLOAD_SHARE,    /* number from 0 to 1 */
        PAYLOAD_STEPS,    /* array of {"order","instruction"}, orders unique */
        PAYLOAD_RULES,    /* array of {"id","statement","lifecycle"}, ids unique */
} PayloadForm;

typedef struct PayloadField {
        Kind kind;
        Op op;
        const char *type;           /* of KIND_MEMORY, else NULL */
        const char *name;
        PayloadForm form;
        bool required;
        size_t max;                 /* bytes, of each text */
        const char *const *choices; /* of PAYLOAD_CHOICE, and for the lifecycle of PAYLOAD_RULES; NULL-terminated */
} PayloadField;
extern const PayloadField payload_fields[];
extern const size_t n_payload_fields;
extern const char *const payload_types[]; /* of KIND_MEMORY (M-5), NULL-terminated */

#define PAYLOAD_LIST_MAX 16   /* entries of PAYLOAD_LINES */
#define PAYLOAD_STEPS_MAX 256 /* entries; the highest order is 9999 */
#define PAYLOAD_RULES_MAX 1024

/* The kind must have `op`. type: of KIND_MEMORY, else "" or NULL. payload NULL: an empty payload. Returns 0,
 * PAYLOAD_E_* with a message of field, value and rule. */
int payload_check(Kind kind, Op op, const char *type, const json_t *payload, Diag *reterr);
/* The same with engine codes: 0, ENGINE_E_BAD_PAYLOAD, ENGINE_E_SERVICE_FIELD, ENGINE_E_TOO_LARGE. */
int record_payload_check(Kind kind, Op op, const char *type, const json_t *payload, Diag *reterr);
/* The name of the first required field; NULL: none. */
const char *payload_main(Kind kind, Op op);
/* All text of a payload, for the index: values by the names of the fields, a line each. *ret is owned, NUL-terminated.
 * Returns 0 or -ENOMEM. */
int payload_text(const json_t *payload, char **ret, size_t *ret_n);
