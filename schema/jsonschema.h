/* Runs: supervisor, CLI. JSON Schema, the subset of draft 2020-12 described in schema/json-schema-subset.md: the
 * rules for a slot's value or a section. Schemas and values may both be hostile: compile and validate always end
 * soon, within the limits below, and with the same answer each time. */
#pragma once

#include "base/diag.h"

#include <jansson.h>
#include <stdbool.h>

/* Of a schema. */
enum {
        JSONSCHEMA_E_UNKNOWN_KEYWORD = 1, /* a keyword outside the subset: ignoring it would accept too much */
        JSONSCHEMA_E_BAD_KEYWORD,         /* a keyword of the subset with a wrong value */
        JSONSCHEMA_E_REF,                 /* a $ref without a target, out of the document, or in a circle */
        JSONSCHEMA_E_LIMIT,               /* larger or deeper than the limits below */
        /* Of a value. */
        JSONSCHEMA_E_INVALID, /* the value breaks a rule; the message has its JSON pointer, the keyword and the rule */
        JSONSCHEMA_E_STEPS,   /* no answer within the budget of steps or of depth; treat as invalid */
};

#define JSONSCHEMA_DEPTH_MAX 64          /* nesting of the schema's JSON */
#define JSONSCHEMA_NODES_MAX 8192        /* schemas and subschemas in a document */
#define JSONSCHEMA_PATTERNS_MAX 256      /* regular expressions in a document */
#define JSONSCHEMA_PATTERN_MAX 1024      /* bytes of a regular expression */
#define JSONSCHEMA_IN_PLACE_MAX 64       /* subschemas for the same value inside each other ($ref, allOf, …) */
#define JSONSCHEMA_STEPS_MAX (1UL << 20) /* of a validation: a rule checked, a value compared, a move in a pattern */
#define JSONSCHEMA_EVAL_DEPTH_MAX 1024   /* of a validation: subschemas and values inside each other */

/* The only format with a check: the type of a region's key, 32 lower-case hexadecimal digits. A key is scoped to its
 * region, so that a value kept beyond the region (a slot) must not have this type (I-11). */
#define JSONSCHEMA_KEY_FORMAT "lethe-key"
#define JSONSCHEMA_KEY_DIGITS 32

typedef struct JsonSchema JsonSchema;

/* Compiles a copy of a schema (an object or a boolean). *ret is owned. Returns 0, a code for schemas, or -ENOMEM. */
int jsonschema_compile(const json_t *schema, JsonSchema **ret, Diag *reterr);

/* Judges a value. Returns 0, JSONSCHEMA_E_INVALID, JSONSCHEMA_E_STEPS, or -ENOMEM. */
int jsonschema_validate(const JsonSchema *s, const json_t *value, Diag *reterr);

/* Whether a part of the schema, referred to or not, has the type of a region's key. */
bool jsonschema_has_key(const JsonSchema *s);

void jsonschema_free(JsonSchema *s); /* NULL is fine */

static inline void jsonschema_freep(JsonSchema **s) {
        jsonschema_free(*s);
}
#define _cleanup_jsonschema_ _cleanup_(jsonschema_freep)
