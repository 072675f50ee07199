/* Runs: supervisor, CLI. The compiled form of a schema, shared by the files of schema/jsonschema. */
#pragma once

#include "base/json.h"
#include "schema/jsonschema.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* Bits of SchemaNode.types. An integer is a number, too. */
enum {
        TYPE_NULL = 1 << 0,
        TYPE_BOOLEAN = 1 << 1,
        TYPE_OBJECT = 1 << 2,
        TYPE_ARRAY = 1 << 3,
        TYPE_NUMBER = 1 << 4,
        TYPE_STRING = 1 << 5,
        TYPE_INTEGER = 1 << 6,
};

typedef struct SchemaNode SchemaNode;

typedef struct SchemaEntry {
        const char *key;     /* borrowed from JsonSchema.doc; NULL in lists */
        pcre2_code *pattern; /* patternProperties only; owned */
        SchemaNode *node;    /* borrowed from JsonSchema.nodes */
} SchemaEntry;

typedef struct SchemaList {
        SchemaEntry *entries; /* owned */
        size_t n;
} SchemaList;

/* A (sub)schema. An absent keyword is NULL, 0 or, for a maximum, UINT64_MAX. All json_t are JsonSchema.doc's. */
struct SchemaNode {
        const json_t *source; /* the schema itself; only its address is used, to find the target of a $ref */
        const SchemaNode *up; /* its place, for messages: parent, keyword, and name or index within the keyword */
        const char *keyword, *name;
        size_t index; /* SIZE_MAX without an index */

        int8_t boolean; /* -1: an object */
        bool unique_items;
        bool key; /* "format": "lethe-key" */
        uint8_t types; /* 0: any */
        uint8_t walk;  /* compile only: the state of the search for circles */
        unsigned height; /* compile only: subschemas for the same value below this one */

        const json_t *constant, *enumeration;
        const json_t *minimum, *maximum, *exclusive_minimum, *exclusive_maximum, *multiple_of;
        uint64_t min_length, max_length, min_items, max_items, min_properties, max_properties, min_contains,
                max_contains;
        pcre2_code *pattern; /* owned */
        const char *pattern_text;

        const json_t *properties_map; /* the object behind `properties` */
        const json_t *required;       /* array of strings */
        const json_t *dependent_required;
        SchemaList properties, pattern_properties, dependent_schemas;
        SchemaNode *additional_properties, *property_names;

        SchemaList prefix_items;
        SchemaNode *items, *contains;

        SchemaList all_of, any_of, one_of, defs;
        SchemaNode *not_, *if_, *then_, *else_;
        SchemaNode *ref;
        const char *ref_text;
};

struct JsonSchema {
        json_t *doc;        /* a copy of its own */
        SchemaNode **nodes; /* owned; nodes[0] is the root */
        size_t n_nodes, room_nodes;
        size_t n_patterns;
        bool has_key; /* a node has `key` */
};

/* Puts the node's place ("#/properties/a: ") before the message; d may be NULL. */
void schema_node_prefix(const SchemaNode *node, Diag *d);
/* The node's place in its document, as "#/…", cut at the end of out when long. Returns out. */
const char *schema_node_place(const SchemaNode *node, char *out, size_t n_out);

/* Ties each $ref to its node, and refuses endless circles. Returns 0, JSONSCHEMA_E_REF, JSONSCHEMA_E_LIMIT, -ENOMEM. */
int schema_refs_resolve(JsonSchema *s, Diag *reterr);

/* Compiles `text` as ECMA-262 defines patterns, and refuses parts that PCRE2 would read differently. Returns 0,
 * JSONSCHEMA_E_BAD_KEYWORD, JSONSCHEMA_E_LIMIT, -ENOMEM. */
int schema_pattern_compile(const char *text, size_t n, pcre2_code **ret, Diag *reterr);

/* The budget of a validation. */
typedef struct SchemaSteps {
        uint64_t left;
        unsigned depth;
        pcre2_match_data *match; /* made at the first pattern; owned */
        pcre2_match_context *context;
} SchemaSteps;

void schema_steps_deinit(SchemaSteps *s);
/* Takes n steps. Returns 0 or JSONSCHEMA_E_STEPS. */
int schema_steps_take(SchemaSteps *s, uint64_t n);

/* Searches the text for the pattern. Returns 0, JSONSCHEMA_E_INVALID (no), JSONSCHEMA_E_STEPS, -ENOMEM. */
int schema_pattern_match(const pcre2_code *pattern, const char *text, size_t n, SchemaSteps *steps);

/* Exact over integers and reals: -1, 0, 1. */
int schema_number_cmp(const json_t *a, const json_t *b);
bool schema_number_is_integer(const json_t *v);
/* Whether v is a whole multiple of `of` (> 0), computed on the decimal numbers as written: 0.3 is a multiple of 0.1. */
bool schema_number_is_multiple(const json_t *v, const json_t *of);

/* Compares values; 1 equals 1.0; keys have no order. Returns 0, JSONSCHEMA_E_INVALID (differ), JSONSCHEMA_E_STEPS. */
int schema_equal(const json_t *a, const json_t *b, SchemaSteps *steps);
/* Whether all items of an array differ. On JSONSCHEMA_E_INVALID, *ret_first and *ret_second are the indexes of two
 * equal items. Returns 0, JSONSCHEMA_E_INVALID, JSONSCHEMA_E_STEPS, -ENOMEM. */
int schema_all_differ(const json_t *array, SchemaSteps *steps, size_t *ret_first, size_t *ret_second);
