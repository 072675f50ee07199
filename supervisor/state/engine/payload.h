/* Runs: supervisor, CLI. What the payload of a record may hold, by kind, operation and type: one table for all kinds (schema/governed.md and schema/memory.md
 * show it), judged inside of engine_mutate(), so that nobody gets around it. Pure. */
#pragma once

#include "base/json.h"
#include "engine/engine.h"
#include "record/kind.h"

enum {
        PAYLOAD_E_EMPTY = 1, /* a text without anything in it */
        PAYLOAD_E_TOO_LARGE,
        PAYLOAD_E_CONTROL,   /* clean.h */
        PAYLOAD_E_UNKNOWN,   /* a field that there is not */
        PAYLOAD_E_OWNED,     /* owned.h */
        PAYLOAD_E_MISSING,
        PAYLOAD_E_TYPE,
        PAYLOAD_E_VALUE,     /* not one of the words that there are, out of range, twice the same */
        PAYLOAD_E_ID,        /* not an id */
};

typedef enum PayloadForm {
        PAYLOAD_LINE = 1, /* text of one line */
        PAYLOAD_TEXT,     /* text of many */
        PAYLOAD_ID,       /* a record's id */
        PAYLOAD_CHOICE,   /* one of a few words */
        PAYLOAD_LINES,    /* array of texts of one line */
        PAYLOAD_SHARE,    /* a number from 0 to 1 */
        PAYLOAD_STEPS,    /* array of {"order","instruction"}, each order once */
        PAYLOAD_RULES,    /* array of {"id","statement","lifecycle"}, each id once */
} PayloadForm;

typedef struct PayloadField {
        Kind kind;
        Op op;
        const char *type;           /* of KIND_MEMORY, else NULL */
        const char *name;
        PayloadForm form;
        bool required;
        size_t max;                 /* bytes, of each text */
        const char *const *choices; /* of PAYLOAD_CHOICE, and of the lifecycle of PAYLOAD_RULES; NULL-terminated */
} PayloadField;
extern const PayloadField payload_fields[];
extern const size_t n_payload_fields;
extern const char *const payload_types[]; /* of KIND_MEMORY (M-5), NULL-terminated */

#define PAYLOAD_LIST_MAX 16   /* entries of PAYLOAD_LINES */
#define PAYLOAD_STEPS_MAX 256 /* entries; the highest order is 9999 */
#define PAYLOAD_RULES_MAX 1024

/* op is one that the kind has. type: of KIND_MEMORY, else "" or NULL. payload: NULL is the same as an empty one. Returns 0, PAYLOAD_E_* with a message that
 * names
 * field, value and rule. */
int payload_check(Kind kind, Op op, const char *type, const json_t *payload, Diag *reterr);
/* The same in the engine's words: 0, ENGINE_E_BAD_PAYLOAD, ENGINE_E_SERVICE_FIELD, ENGINE_E_TOO_LARGE. */
int record_payload_check(Kind kind, Op op, const char *type, const json_t *payload, Diag *reterr);
/* The name of the first field that such a payload must have; NULL: none. */
const char *payload_main(Kind kind, Op op);
/* All text of a payload, for the index: values in the order of their names, a line each. *ret is owned, NUL-terminated. Returns 0 or -ENOMEM. */
int payload_text(const json_t *payload, char **ret, size_t *ret_n);
