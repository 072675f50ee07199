#include "schema/jsonschema-internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum KeywordKind {
        KIND_ANY,         /* an annotation that may be anything */
        KIND_TEXT,        /* an annotation that is a string */
        KIND_BOOLEAN,     /* an annotation that is true or false */
        KIND_LIST,        /* an annotation that is an array */
        KIND_DIALECT,     /* $schema */
        KIND_FORMAT,      /* an annotation with a closed set of values */
        KIND_CONSTANT,    /* const json_t *: any value */
        KIND_ENUM,        /* const json_t *: an array */
        KIND_NUMBER,      /* const json_t * */
        KIND_POSITIVE,    /* const json_t *: a number above zero */
        KIND_COUNT,       /* uint64_t */
        KIND_FLAG,        /* bool */
        KIND_TYPE,        /* types */
        KIND_PATTERN,     /* pattern */
        KIND_NAMES,       /* const json_t *: an array of different strings */
        KIND_NAMES_MAP,   /* const json_t *: an object of such arrays */
        KIND_SCHEMA,      /* SchemaNode * */
        KIND_SCHEMA_LIST, /* SchemaList: a non-empty array of schemas */
        KIND_SCHEMA_MAP,  /* SchemaList: an object of schemas */
        KIND_PATTERN_MAP, /* SchemaList: the same, and the names are patterns */
        KIND_REF,         /* ref_text; resolved when all nodes are there */
} KeywordKind;

static const struct Keyword {
        const char *name;
        KeywordKind kind;
        size_t offset;
} keywords[] = {
        {"$comment", KIND_TEXT, 0},
        {"$defs", KIND_SCHEMA_MAP, offsetof(SchemaNode, defs)},
        {"$ref", KIND_REF, 0},
        {"$schema", KIND_DIALECT, 0},
        {"additionalProperties", KIND_SCHEMA, offsetof(SchemaNode, additional_properties)},
        {"allOf", KIND_SCHEMA_LIST, offsetof(SchemaNode, all_of)},
        {"anyOf", KIND_SCHEMA_LIST, offsetof(SchemaNode, any_of)},
        {"const", KIND_CONSTANT, offsetof(SchemaNode, constant)},
        {"contains", KIND_SCHEMA, offsetof(SchemaNode, contains)},
        {"default", KIND_ANY, 0},
        {"dependentRequired", KIND_NAMES_MAP, offsetof(SchemaNode, dependent_required)},
        {"dependentSchemas", KIND_SCHEMA_MAP, offsetof(SchemaNode, dependent_schemas)},
        {"deprecated", KIND_BOOLEAN, 0},
        {"description", KIND_TEXT, 0},
        {"else", KIND_SCHEMA, offsetof(SchemaNode, else_)},
        {"enum", KIND_ENUM, offsetof(SchemaNode, enumeration)},
        {"examples", KIND_LIST, 0},
        {"exclusiveMaximum", KIND_NUMBER, offsetof(SchemaNode, exclusive_maximum)},
        {"exclusiveMinimum", KIND_NUMBER, offsetof(SchemaNode, exclusive_minimum)},
        {"format", KIND_FORMAT, 0},
        {"if", KIND_SCHEMA, offsetof(SchemaNode, if_)},
        {"items", KIND_SCHEMA, offsetof(SchemaNode, items)},
        {"maxContains", KIND_COUNT, offsetof(SchemaNode, max_contains)},
        {"maxItems", KIND_COUNT, offsetof(SchemaNode, max_items)},
        {"maxLength", KIND_COUNT, offsetof(SchemaNode, max_length)},
        {"maxProperties", KIND_COUNT, offsetof(SchemaNode, max_properties)},
        {"maximum", KIND_NUMBER, offsetof(SchemaNode, maximum)},
        {"minContains", KIND_COUNT, offsetof(SchemaNode, min_contains)},
        {"minItems", KIND_COUNT, offsetof(SchemaNode, min_items)},
        {"minLength", KIND_COUNT, offsetof(SchemaNode, min_length)},
        {"minProperties", KIND_COUNT, offsetof(SchemaNode, min_properties)},
        {"minimum", KIND_NUMBER, offsetof(SchemaNode, minimum)},
        {"multipleOf", KIND_POSITIVE, offsetof(SchemaNode, multiple_of)},
        {"not", KIND_SCHEMA, offsetof(SchemaNode, not_)},
        {"oneOf", KIND_SCHEMA_LIST, offsetof(SchemaNode, one_of)},
        {"pattern", KIND_PATTERN, 0},
        {"patternProperties", KIND_PATTERN_MAP, offsetof(SchemaNode, pattern_properties)},
        {"prefixItems", KIND_SCHEMA_LIST, offsetof(SchemaNode, prefix_items)},
        {"properties", KIND_SCHEMA_MAP, offsetof(SchemaNode, properties)},
        {"propertyNames", KIND_SCHEMA, offsetof(SchemaNode, property_names)},
        {"readOnly", KIND_BOOLEAN, 0},
        {"required", KIND_NAMES, offsetof(SchemaNode, required)},
        {"then", KIND_SCHEMA, offsetof(SchemaNode, then_)},
        {"title", KIND_TEXT, 0},
        {"type", KIND_TYPE, 0},
        {"uniqueItems", KIND_FLAG, offsetof(SchemaNode, unique_items)},
        {"writeOnly", KIND_BOOLEAN, 0},
};

/* The formats named by draft 2020-12, without Lethe's own. Annotations only; an unknown name is a mistake. */
static const char *const formats[] = {
        "date", "date-time", "duration", "email", "hostname", "idn-email", "idn-hostname", "ipv4", "ipv6", "iri",
        "iri-reference", "json-pointer", "regex", "relative-json-pointer", "time", "uri", "uri-reference",
        "uri-template", "uuid",
};

static const struct {
        const char *name;
        uint8_t bits;
} types[] = {
        {"null", TYPE_NULL},     {"boolean", TYPE_BOOLEAN}, {"object", TYPE_OBJECT},   {"array", TYPE_ARRAY},
        {"number", TYPE_NUMBER}, {"string", TYPE_STRING},   {"integer", TYPE_INTEGER},
};

/* The current compilation, on the stack of the functions below. */
typedef struct Compile {
        JsonSchema *s;
        Diag *reterr;
} Compile;

static int compile_node(Compile *c, json_t *schema, const SchemaNode *up, const char *keyword, const char *name,
                        size_t index, SchemaNode **ret);

static int compile_keyword_cmp(const void *a, const void *b) {
        return strcmp(a, ((const struct Keyword *)b)->name);
}

static int compile_refuse(Compile *c, const SchemaNode *node, const char *keyword, const char *rule) {
        diag(c->reterr, 0, "\"%s\" %s", keyword, rule);
        schema_node_prefix(node, c->reterr);
        return JSONSCHEMA_E_BAD_KEYWORD;
}

static int compile_count(const json_t *v, uint64_t *ret) {
        if (!schema_number_is_integer(v) || json_number_value(v) < 0)
                return -EINVAL;
        if (json_is_integer(v))
                *ret = (uint64_t)json_integer_value(v);
        else
                *ret = json_real_value(v) < 9e18 ? (uint64_t)json_real_value(v) : UINT64_MAX;
        return 0;
}

static int compile_type_bits(const json_t *v, uint8_t *bits) {
        for (size_t i = 0; i < ARRAY_SIZE(types); i++)
                if (json_text_is(v, types[i].name)) {
                        if (*bits & types[i].bits)
                                return -EINVAL;
                        *bits |= types[i].bits;
                        return 0;
                }
        return -EINVAL;
}

static int compile_types(const json_t *v, uint8_t *ret) {
        uint8_t bits = 0;

        if (json_is_array(v)) {
                for (size_t i = 0; i < json_array_size(v); i++)
                        if (compile_type_bits(json_array_get(v, i), &bits) < 0)
                                return -EINVAL;
                if (bits == 0)
                        return -EINVAL;
        } else if (compile_type_bits(v, &bits) < 0)
                return -EINVAL;
        *ret = bits;
        return 0;
}

/* An array of strings that all differ. Returns 0, -EINVAL, -ENOMEM. */
static int compile_check_names(const json_t *v) {
        _cleanup_json_ json_t *seen = json_object();

        if (!seen)
                return -ENOMEM;
        if (!json_is_array(v))
                return -EINVAL;
        for (size_t i = 0; i < json_array_size(v); i++) {
                const json_t *name = json_array_get(v, i);

                if (!json_text(name) || json_object_get(seen, json_text(name)))
                        return -EINVAL;
                if (json_object_set_new(seen, json_text(name), json_true()) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int compile_pattern(Compile *c, const SchemaNode *node, const char *keyword, const char *text, size_t n,
                           pcre2_code **ret) {
        int r;

        if (++c->s->n_patterns > JSONSCHEMA_PATTERNS_MAX)
                return diag(c->reterr, JSONSCHEMA_E_LIMIT, "more than %d patterns in one schema",
                            JSONSCHEMA_PATTERNS_MAX);
        r = schema_pattern_compile(text, n, ret, c->reterr);
        if (r > 0) {
                char quoted[400];

                diag_prefix(c->reterr, "\"%s\" \"%s\"", keyword, diag_quote(text, n, quoted, sizeof(quoted)));
                schema_node_prefix(node, c->reterr);
        }
        return r;
}

static int compile_list(Compile *c, const SchemaNode *node, const struct Keyword *k, json_t *v, SchemaList *list) {
        int r = 0;

        if (!json_is_array(v) || json_array_size(v) == 0)
                return compile_refuse(c, node, k->name, "must be an array of at least one schema");
        list->entries = calloc(json_array_size(v), sizeof(*list->entries));
        if (!list->entries)
                return -ENOMEM;
        list->n = json_array_size(v);
        for (size_t i = 0; r == 0 && i < list->n; i++)
                r = compile_node(c, json_array_get(v, i), node, k->name, NULL, i, &list->entries[i].node);
        return r;
}

static int compile_map(Compile *c, const SchemaNode *node, const struct Keyword *k, json_t *v, SchemaList *list) {
        const char *key;
        json_t *item;
        size_t i = 0;
        int r = 0;

        if (!json_is_object(v))
                return compile_refuse(c, node, k->name, "must be an object of schemas");
        if (json_object_size(v) == 0)
                return 0;
        list->entries = calloc(json_object_size(v), sizeof(*list->entries));
        if (!list->entries)
                return -ENOMEM;
        list->n = json_object_size(v);
        json_object_foreach(v, key, item) {
                SchemaEntry *e = &list->entries[i++];

                e->key = key;
                if (k->kind == KIND_PATTERN_MAP)
                        r = compile_pattern(c, node, k->name, key, strlen(key), &e->pattern);
                if (r == 0)
                        r = compile_node(c, item, node, k->name, key, SIZE_MAX, &e->node);
                if (r != 0)
                        break;
        }
        return r;
}

/* Keywords that only annotate: their values are checked for shape, so that no misplaced rule can hide there. */
static int compile_annotation(Compile *c, SchemaNode *node, const struct Keyword *k, const json_t *v) {
        const char *text = json_text(v);

        if (k->kind == KIND_TEXT)
                return json_is_string(v) ? 0 : compile_refuse(c, node, k->name, "must be a string");
        if (k->kind == KIND_BOOLEAN)
                return json_is_boolean(v) ? 0 : compile_refuse(c, node, k->name, "must be true or false");
        if (k->kind == KIND_LIST)
                return json_is_array(v) ? 0 : compile_refuse(c, node, k->name, "must be an array");
        if (k->kind == KIND_DIALECT) {
                if (node->up)
                        return compile_refuse(c, node, k->name, "may stand only at the top");
                if (text && (strcmp(text, "https://json-schema.org/draft/2020-12/schema") == 0 ||
                             strcmp(text, "https://json-schema.org/draft/2020-12/schema#") == 0))
                        return 0;
                return compile_refuse(c, node, k->name, "must be \"https://json-schema.org/draft/2020-12/schema\"");
        }
        if (k->kind == KIND_FORMAT) {
                if (text && strcmp(text, JSONSCHEMA_KEY_FORMAT) == 0) {
                        node->key = c->s->has_key = true;
                        return 0;
                }
                for (size_t i = 0; text && i < ARRAY_SIZE(formats); i++)
                        if (strcmp(text, formats[i]) == 0)
                                return 0;
                return compile_refuse(c, node, k->name,
                                      "must be a format that draft 2020-12 names, or " JSONSCHEMA_KEY_FORMAT);
        }
        return 0;
}

static int compile_keyword(Compile *c, SchemaNode *node, const struct Keyword *k, json_t *v) {
        char *field = (char *)node + k->offset;
        const char *key;
        json_t *item;
        int r = 0;

        switch (k->kind) {
        case KIND_ANY:
        case KIND_TEXT:
        case KIND_BOOLEAN:
        case KIND_LIST:
        case KIND_DIALECT:
        case KIND_FORMAT:
                return compile_annotation(c, node, k, v);
        case KIND_ENUM:
                if (!json_is_array(v))
                        return compile_refuse(c, node, k->name, "must be an array");
                *(const json_t **)field = v;
                return 0;
        case KIND_CONSTANT:
                *(const json_t **)field = v;
                return 0;
        case KIND_NUMBER:
        case KIND_POSITIVE:
                if (!json_is_number(v))
                        return compile_refuse(c, node, k->name, "must be a number");
                if (k->kind == KIND_POSITIVE && !(json_number_value(v) > 0))
                        return compile_refuse(c, node, k->name, "must be greater than 0");
                *(const json_t **)field = v;
                return 0;
        case KIND_COUNT:
                if (compile_count(v, (uint64_t *)field) < 0)
                        return compile_refuse(c, node, k->name, "must be a whole number, 0 or more");
                return 0;
        case KIND_FLAG:
                if (!json_is_boolean(v))
                        return compile_refuse(c, node, k->name, "must be true or false");
                *(bool *)field = json_is_true(v);
                return 0;
        case KIND_TYPE:
                if (compile_types(v, &node->types) < 0)
                        return compile_refuse(
                                c, node, k->name,
                                "must be one of null, boolean, object, array, number, string, integer, or an array of different ones");
                return 0;
        case KIND_PATTERN:
                if (!json_is_string(v))
                        return compile_refuse(c, node, k->name, "must be a string");
                node->pattern_text = json_bytes(v);
                return compile_pattern(c, node, k->name, json_bytes(v), json_string_length(v), &node->pattern);
        case KIND_NAMES:
                r = compile_check_names(v);
                if (r == -EINVAL)
                        return compile_refuse(c, node, k->name, "must be an array of strings that all differ");
                *(const json_t **)field = v;
                return r;
        case KIND_NAMES_MAP:
                r = json_is_object(v) ? 0 : -EINVAL;
                json_object_foreach(v, key, item) {
                        if (r == 0)
                                r = compile_check_names(item);
                }
                if (r == -EINVAL)
                        return compile_refuse(c, node, k->name,
                                              "must be an object of arrays of strings that all differ");
                *(const json_t **)field = v;
                return r;
        case KIND_SCHEMA:
                return compile_node(c, v, node, k->name, NULL, SIZE_MAX, (SchemaNode **)field);
        case KIND_SCHEMA_LIST:
                return compile_list(c, node, k, v, (SchemaList *)field);
        case KIND_SCHEMA_MAP:
        case KIND_PATTERN_MAP:
                if ((SchemaList *)field == &node->properties)
                        node->properties_map = v;
                return compile_map(c, node, k, v, (SchemaList *)field);
        case KIND_REF:
                node->ref_text = json_text(v);
                return node->ref_text ? 0 : compile_refuse(c, node, k->name, "must be a string");
        }
        return -EINVAL;
}

static int compile_node(Compile *c, json_t *schema, const SchemaNode *up, const char *keyword, const char *name,
                        size_t index, SchemaNode **ret) {
        JsonSchema *s = c->s;
        SchemaNode *node;
        const char *key;
        json_t *v;

        if (s->n_nodes == s->room_nodes) {
                size_t room = s->room_nodes ? 2 * s->room_nodes : 16;
                SchemaNode **p = realloc(s->nodes, room * sizeof(*p));

                if (!p)
                        return -ENOMEM;
                s->nodes = p;
                s->room_nodes = room;
        }
        if (s->n_nodes >= JSONSCHEMA_NODES_MAX)
                return diag(c->reterr, JSONSCHEMA_E_LIMIT, "more than %d schemas in one document",
                            JSONSCHEMA_NODES_MAX);
        node = calloc(1, sizeof(*node));
        if (!node)
                return -ENOMEM;
        s->nodes[s->n_nodes++] = node;
        *node = (SchemaNode){
                .source = schema, .up = up, .keyword = keyword, .name = name, .index = index,
                .boolean = json_is_boolean(schema) ? json_is_true(schema) : -1,
                .max_length = UINT64_MAX, .max_items = UINT64_MAX, .max_properties = UINT64_MAX,
                .min_contains = 1, .max_contains = UINT64_MAX,
        };
        *ret = node;
        if (node->boolean >= 0)
                return 0;
        if (!json_is_object(schema)) {
                diag(c->reterr, 0, "a schema must be an object, true or false");
                schema_node_prefix(node, c->reterr);
                return JSONSCHEMA_E_BAD_KEYWORD;
        }
        json_object_foreach(schema, key, v) {
                const struct Keyword *k =
                        bsearch(key, keywords, ARRAY_SIZE(keywords), sizeof(keywords[0]), compile_keyword_cmp);
                int r;

                if (!k) {
                        char quoted[400];

                        diag(c->reterr, 0, "the keyword \"%s\" is not in the subset that is supported",
                             diag_quote(key, strlen(key), quoted, sizeof(quoted)));
                        schema_node_prefix(node, c->reterr);
                        return JSONSCHEMA_E_UNKNOWN_KEYWORD;
                }
                r = compile_keyword(c, node, k, v);
                if (r != 0)
                        return r;
        }
        return 0;
}

static unsigned compile_depth(const json_t *v, unsigned most) {
        unsigned deepest = 0;
        const char *key;
        json_t *item;

        if (most == 0)
                return 1;
        for (size_t i = 0; i < json_array_size(v); i++)
                deepest = MAX(deepest, compile_depth(json_array_get(v, i), most - 1));
        json_object_foreach((json_t *)v, key, item) deepest = MAX(deepest, compile_depth(item, most - 1));
        return deepest + (json_is_array(v) || json_is_object(v));
}

int jsonschema_compile(const json_t *schema, JsonSchema **ret, Diag *reterr) {
        _cleanup_jsonschema_ JsonSchema *s = calloc(1, sizeof(*s));
        Compile c = {.s = s, .reterr = reterr};
        SchemaNode *root;
        int r;

        if (!s)
                return -ENOMEM;
        if (!json_is_object(schema) && !json_is_boolean(schema))
                return diag(reterr, JSONSCHEMA_E_BAD_KEYWORD, "a schema must be an object, true or false");
        if (compile_depth(schema, JSONSCHEMA_DEPTH_MAX) > JSONSCHEMA_DEPTH_MAX)
                return diag(reterr, JSONSCHEMA_E_LIMIT, "a schema nested more than %d deep", JSONSCHEMA_DEPTH_MAX);
        s->doc = json_deep_copy(schema);
        if (!s->doc)
                return -ENOMEM;
        r = compile_node(&c, s->doc, NULL, NULL, NULL, SIZE_MAX, &root);
        if (r == 0)
                r = schema_refs_resolve(s, reterr);
        if (r == 0)
                *ret = TAKE_PTR(s);
        return r;
}

bool jsonschema_has_key(const JsonSchema *s) {
        return s->has_key;
}

static void compile_list_free(SchemaList *list) {
        for (size_t i = 0; i < list->n; i++)
                pcre2_code_free(list->entries[i].pattern);
        free(list->entries);
}

void jsonschema_free(JsonSchema *s) {
        if (!s)
                return;
        for (size_t i = 0; i < s->n_nodes; i++) {
                SchemaNode *node = s->nodes[i];
                SchemaList *lists[] = {&node->properties, &node->pattern_properties, &node->dependent_schemas,
                                       &node->prefix_items, &node->all_of, &node->any_of, &node->one_of, &node->defs};

                for (size_t j = 0; j < ARRAY_SIZE(lists); j++)
                        compile_list_free(lists[j]);
                pcre2_code_free(node->pattern);
                free(node);
        }
        free(s->nodes);
        json_decref(s->doc);
        free(s);
}
