#include "schema/jsonschema-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The path to the current value, a list on the stack of the calls. */
typedef struct Path {
        const struct Path *up; /* NULL at the top */
        const char *key;       /* NULL: an array's item */
        size_t index;
} Path;

typedef struct Validation {
        SchemaSteps steps;
        unsigned quiet; /* > 0 within anyOf, oneOf, not, if and contains, where a refusal is no error yet */
        Diag *reterr;
} Validation;

static int validate_node(Validation *r, const SchemaNode *node, const json_t *value, const Path *path);

static int validate_no_steps(Validation *r) {
        return diag(r->reterr, JSONSCHEMA_E_STEPS, "the value takes too many steps to judge against its schema");
}

static int validate_take(Validation *r, uint64_t n) {
        return schema_steps_take(&r->steps, n) == 0 ? 0 : validate_no_steps(r);
}

/* The value's JSON pointer (RFC 6901), hostile bytes escaped, "" for the whole value; the middle is cut when long. */
static void validate_path_text(const Path *path, char *out, size_t n_out) {
        const Path *chain[16];
        size_t n = 0, used = 0, left_out = 0;

        for (; path; path = path->up) {
                if (n < ARRAY_SIZE(chain))
                        chain[n++] = path;
                else
                        left_out++;
        }
        *out = 0;
        if (left_out > 0)
                used += (size_t)snprintf(out, n_out, "/…");
        while (n > 0 && used + 1 < n_out) {
                const Path *p = chain[--n];
                char escaped[200], quoted[400];
                size_t o = 0;

                if (!p->key) {
                        used += (size_t)snprintf(out + used, n_out - used, "/%zu", p->index);
                        continue;
                }
                for (const char *c = p->key; *c && o + 3 < sizeof(escaped); c++) {
                        if (*c == '~' || *c == '/')
                                escaped[o++] = '~';
                        escaped[o++] = *c == '~' ? '0' : *c == '/' ? '1' : *c;
                }
                used += (size_t)snprintf(out + used, n_out - used, "/%s",
                                         diag_quote(escaped, o, quoted, sizeof(quoted)));
        }
}

static __attribute__((noinline, format(printf, 5, 6))) int validate_fail(Validation *r, const SchemaNode *node,
                                                                         const Path *path, const char *keyword,
                                                                         const char *fmt, ...) {
        char where[300], rule[300], place[250];
        va_list ap;

        if (r->quiet > 0 || !r->reterr)
                return JSONSCHEMA_E_INVALID;
        validate_path_text(path, where, sizeof(where));
        va_start(ap, fmt);
        vsnprintf(rule, sizeof(rule), fmt, ap);
        va_end(ap);
        return diag(r->reterr, JSONSCHEMA_E_INVALID, "value at \"%s\": %s (schema %s, keyword \"%s\")", where, rule,
                    schema_node_place(node, place, sizeof(place)), keyword);
}

static __attribute__((noinline)) const char *validate_number_text(const json_t *v, char out[static 32]) {
        if (json_is_integer(v))
                snprintf(out, 32, "%" PRId64, (int64_t)json_integer_value(v));
        else
                snprintf(out, 32, "%.15g", json_real_value(v));
        return out;
}

static uint8_t validate_type(const json_t *v) {
        switch (json_typeof(v)) {
        case JSON_OBJECT:
                return TYPE_OBJECT;
        case JSON_ARRAY:
                return TYPE_ARRAY;
        case JSON_STRING:
                return TYPE_STRING;
        case JSON_INTEGER:
        case JSON_REAL:
                return TYPE_NUMBER | (schema_number_is_integer(v) ? TYPE_INTEGER : 0);
        case JSON_TRUE:
        case JSON_FALSE:
                return TYPE_BOOLEAN;
        case JSON_NULL:
                return TYPE_NULL;
        }
        return 0;
}

static __attribute__((noinline)) int validate_fail_type(Validation *r, const SchemaNode *node, const Path *path,
                                                        uint8_t is) {
        static const char *const names[] = {"null", "boolean", "object", "array", "number", "string", "integer"};
        char want[80] = "";
        const char *have = "";

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                if (node->types & 1 << i)
                        snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s%s", *want ? " or " : "",
                                 names[i]);
                if (is & 1 << i)
                        have = names[i];
        }
        return validate_fail(r, node, path, "type", "is of type %s, must be %s", have, want);
}

static bool validate_is_key(const json_t *v) {
        return json_string_length(v) == JSONSCHEMA_KEY_DIGITS &&
               strspn(json_bytes(v), "0123456789abcdef") == JSONSCHEMA_KEY_DIGITS;
}

static int validate_any(Validation *r, const SchemaNode *node, const json_t *value, const Path *path) {
        int e = 0;

        if (node->types && !(node->types & validate_type(value)))
                return validate_fail_type(r, node, path, validate_type(value));
        if (node->key && !validate_is_key(value))
                return validate_fail(r, node, path, "format", "is not a region's key: %d lower-case hexadecimal digits",
                                     JSONSCHEMA_KEY_DIGITS);
        if (node->constant) {
                e = schema_equal(value, node->constant, &r->steps);
                if (e == JSONSCHEMA_E_INVALID)
                        return validate_fail(r, node, path, "const", "is not the one value that is allowed");
        }
        if (e == 0 && node->enumeration) {
                e = JSONSCHEMA_E_INVALID;
                for (size_t i = 0; e == JSONSCHEMA_E_INVALID && i < json_array_size(node->enumeration); i++)
                        e = schema_equal(value, json_array_get(node->enumeration, i), &r->steps);
                if (e == JSONSCHEMA_E_INVALID)
                        return validate_fail(r, node, path, "enum", "is none of the %zu values that are allowed",
                                    json_array_size(node->enumeration));
        }
        return e == JSONSCHEMA_E_STEPS ? validate_no_steps(r) : e;
}

static int validate_number(Validation *r, const SchemaNode *node, const json_t *value, const Path *path) {
        char a[32], b[32];

        if (node->minimum && schema_number_cmp(value, node->minimum) < 0)
                return validate_fail(r, node, path, "minimum", "%s is less than %s", validate_number_text(value, a),
                                     validate_number_text(node->minimum, b));
        if (node->maximum && schema_number_cmp(value, node->maximum) > 0)
                return validate_fail(r, node, path, "maximum", "%s is more than %s", validate_number_text(value, a),
                                     validate_number_text(node->maximum, b));
        if (node->exclusive_minimum && schema_number_cmp(value, node->exclusive_minimum) <= 0)
                return validate_fail(r, node, path, "exclusiveMinimum", "%s is not more than %s",
                                     validate_number_text(value, a), validate_number_text(node->exclusive_minimum, b));
        if (node->exclusive_maximum && schema_number_cmp(value, node->exclusive_maximum) >= 0)
                return validate_fail(r, node, path, "exclusiveMaximum", "%s is not less than %s",
                                     validate_number_text(value, a), validate_number_text(node->exclusive_maximum, b));
        if (node->multiple_of) {
                int e = validate_take(r, 32);

                if (e != 0)
                        return e;
                if (!schema_number_is_multiple(value, node->multiple_of))
                        return validate_fail(r, node, path, "multipleOf", "%s is no multiple of %s",
                                             validate_number_text(value, a),
                                             validate_number_text(node->multiple_of, b));
        }
        return 0;
}

/* `text` may be a property's name, which is a string, too. */
static int validate_string(Validation *r, const SchemaNode *node, const char *text, size_t n, const Path *path) {
        uint64_t points = 0;
        int e;

        if (node->min_length > 0 || node->max_length != UINT64_MAX) {
                e = validate_take(r, n / 64);
                if (e != 0)
                        return e;
                for (size_t i = 0; i < n; i++)
                        points += ((unsigned char)text[i] & 0xC0) != 0x80;
                if (points < node->min_length)
                        return validate_fail(r, node, path, "minLength",
                                             "%" PRIu64 " characters, at least %" PRIu64 " are needed", points,
                                             node->min_length);
                if (points > node->max_length)
                        return validate_fail(r, node, path, "maxLength",
                                             "%" PRIu64 " characters, at most %" PRIu64 " are allowed", points,
                                             node->max_length);
        }
        if (node->pattern) {
                e = schema_pattern_match(node->pattern, text, n, &r->steps);
                if (e == JSONSCHEMA_E_STEPS)
                        return validate_no_steps(r);
                if (e == JSONSCHEMA_E_INVALID) {
                        char quoted[200];

                        return validate_fail(r, node, path, "pattern", "does not match \"%s\"",
                                    diag_quote(node->pattern_text, strlen(node->pattern_text), quoted, sizeof(quoted)));
                }
                return e;
        }
        return 0;
}

/* Evaluates without a message. */
static int validate_quietly(Validation *r, const SchemaNode *node, const json_t *value, const Path *path) {
        int e;

        r->quiet++;
        e = validate_node(r, node, value, path);
        r->quiet--;
        return e;
}

static int validate_contains(Validation *r, const SchemaNode *node, const json_t *value, const Path *path) {
        uint64_t found = 0;
        int e;

        for (size_t i = 0; i < json_array_size(value); i++) {
                Path item = {.up = path, .index = i};

                if (found >= node->min_contains && node->max_contains == UINT64_MAX)
                        return 0;
                e = validate_quietly(r, node->contains, json_array_get(value, i), &item);
                if (e != 0 && e != JSONSCHEMA_E_INVALID)
                        return e;
                found += e == 0;
                if (found > node->max_contains)
                        return validate_fail(r, node, path, "maxContains",
                                             "more than %" PRIu64 " items are of the kind that it may contain",
                                             node->max_contains);
        }
        if (found < node->min_contains)
                return validate_fail(r, node, path, node->min_contains == 1 ? "contains" : "minContains",
                                     "%" PRIu64 " items are of the kind that it must contain, at least %" PRIu64
                                     " are needed",
                                     found, node->min_contains);
        return 0;
}

static int validate_array(Validation *r, const SchemaNode *node, const json_t *value, const Path *path) {
        size_t n = json_array_size(value);
        int e = 0;

        if (n < node->min_items)
                return validate_fail(r, node, path, "minItems", "%zu items, at least %" PRIu64 " are needed", n,
                                     node->min_items);
        if (n > node->max_items)
                return validate_fail(r, node, path, "maxItems", "%zu items, at most %" PRIu64 " are allowed", n,
                                     node->max_items);
        if (node->unique_items) {
                size_t first, second;

                e = schema_all_differ(value, &r->steps, &first, &second);
                if (e == JSONSCHEMA_E_INVALID)
                        return validate_fail(r, node, path, "uniqueItems", "items %zu and %zu are equal", first,
                                             second);
                if (e == JSONSCHEMA_E_STEPS)
                        return validate_no_steps(r);
        }
        for (size_t i = 0; e == 0 && i < n && (i < node->prefix_items.n || node->items); i++) {
                Path item = {.up = path, .index = i};

                e = validate_node(r, i < node->prefix_items.n ? node->prefix_items.entries[i].node : node->items,
                             json_array_get(value, i), &item);
        }
        if (e == 0 && node->contains)
                e = validate_contains(r, node, value, path);
        return e;
}

static __attribute__((noinline)) int validate_fail_missing(Validation *r, const SchemaNode *node, const Path *path,
                                                           const char *keyword, const char *name) {
        char quoted[200];

        return validate_fail(r, node, path, keyword, "the property \"%s\" is missing",
                             diag_quote(name, strlen(name), quoted, sizeof(quoted)));
}

static int validate_required(Validation *r, const SchemaNode *node, const json_t *value, const Path *path,
                             const char *keyword, const json_t *names) {
        int e = validate_take(r, json_array_size(names));

        for (size_t i = 0; e == 0 && i < json_array_size(names); i++) {
                const json_t *name = json_array_get(names, i);

                if (!json_object_get(value, json_text(name)))
                        e = validate_fail_missing(r, node, path, keyword, json_text(name));
        }
        return e;
}

/* Properties and schemas required because a property is present. */
static int validate_dependent(Validation *r, const SchemaNode *node, const json_t *value, const Path *path) {
        const char *key;
        json_t *names;
        int e = validate_take(r, json_object_size(node->dependent_required) + node->dependent_schemas.n);

        if (e != 0)
                return e;
        json_object_foreach((json_t *)node->dependent_required, key, names) {
                if (json_object_get(value, key))
                        e = validate_required(r, node, value, path, "dependentRequired", names);
                if (e != 0)
                        return e;
        }
        for (size_t i = 0; e == 0 && i < node->dependent_schemas.n; i++)
                if (json_object_get(value, node->dependent_schemas.entries[i].key))
                        e = validate_node(r, node->dependent_schemas.entries[i].node, value, path);
        return e;
}

/* Checks a property of the value against patternProperties and, if unknown so far, additionalProperties. */
static int validate_property(Validation *r, const SchemaNode *node, const char *key, json_t *item, const Path *path) {
        bool known = node->properties_map && json_object_get(node->properties_map, key);
        int e = 0;

        for (size_t i = 0; e == 0 && i < node->pattern_properties.n; i++) {
                const SchemaEntry *entry = &node->pattern_properties.entries[i];

                e = schema_pattern_match(entry->pattern, key, strlen(key), &r->steps);
                if (e == JSONSCHEMA_E_STEPS)
                        return validate_no_steps(r);
                if (e == JSONSCHEMA_E_INVALID) {
                        e = 0;
                        continue;
                }
                known = true;
                if (e == 0)
                        e = validate_node(r, entry->node, item, path);
        }
        if (e == 0 && !known && node->additional_properties) {
                if (node->additional_properties->boolean == 0)
                        return validate_fail(r, node, path, "additionalProperties",
                                             "a property that the schema does not know");
                e = validate_node(r, node->additional_properties, item, path);
        }
        return e;
}

static int validate_name(Validation *r, const SchemaNode *node, const char *key, const Path *path) {
        _cleanup_json_ json_t *name = json_string(key);

        return name ? validate_node(r, node, name, path) : -ENOMEM;
}

static int validate_object(Validation *r, const SchemaNode *node, const json_t *value, const Path *path) {
        size_t n = json_object_size(value);
        const char *key;
        json_t *item;
        int e = 0;

        if (n < node->min_properties)
                return validate_fail(r, node, path, "minProperties", "%zu properties, at least %" PRIu64 " are needed",
                                     n, node->min_properties);
        if (n > node->max_properties)
                return validate_fail(r, node, path, "maxProperties", "%zu properties, at most %" PRIu64 " are allowed",
                                     n, node->max_properties);
        if (node->required)
                e = validate_required(r, node, value, path, "required", node->required);
        if (e == 0 && (node->dependent_required || node->dependent_schemas.n))
                e = validate_dependent(r, node, value, path);
        if (e == 0)
                e = validate_take(r, node->properties.n);
        for (size_t i = 0; e == 0 && i < node->properties.n; i++) {
                Path inner = {.up = path, .key = node->properties.entries[i].key};

                item = json_object_get(value, inner.key);
                if (item)
                        e = validate_node(r, node->properties.entries[i].node, item, &inner);
        }
        if (e != 0 || (!node->pattern_properties.n && !node->additional_properties && !node->property_names))
                return e;
        json_object_foreach((json_t *)value, key, item) {
                Path inner = {.up = path, .key = key};

                e = validate_take(r, 1);
                if (e == 0 && node->property_names)
                        e = validate_name(r, node->property_names, key, &inner);
                if (e == 0)
                        e = validate_property(r, node, key, item, &inner);
                if (e != 0)
                        return e;
        }
        return 0;
}

static int validate_any_of(Validation *r, const SchemaNode *node, const json_t *value, const Path *path) {
        for (size_t i = 0; i < node->any_of.n; i++) {
                int e = validate_quietly(r, node->any_of.entries[i].node, value, path);

                if (e != JSONSCHEMA_E_INVALID)
                        return e;
        }
        return validate_fail(r, node, path, "anyOf", "fits none of %zu schemas", node->any_of.n);
}

static int validate_one_of(Validation *r, const SchemaNode *node, const json_t *value, const Path *path) {
        size_t first = SIZE_MAX;

        for (size_t i = 0; i < node->one_of.n; i++) {
                int e = validate_quietly(r, node->one_of.entries[i].node, value, path);

                if (e == JSONSCHEMA_E_INVALID)
                        continue;
                if (e != 0)
                        return e;
                if (first != SIZE_MAX)
                        return validate_fail(r, node, path, "oneOf", "fits schemas %zu and %zu, must fit one only",
                                             first, i);
                first = i;
        }
        return first == SIZE_MAX ? validate_fail(r, node, path, "oneOf", "fits none of %zu schemas", node->one_of.n)
                                 : 0;
}

/* Subschemas for the same value. */
static int validate_in_place(Validation *r, const SchemaNode *node, const json_t *value, const Path *path) {
        int e = node->ref ? validate_node(r, node->ref, value, path) : 0;

        for (size_t i = 0; e == 0 && i < node->all_of.n; i++)
                e = validate_node(r, node->all_of.entries[i].node, value, path);
        if (e == 0 && node->any_of.n)
                e = validate_any_of(r, node, value, path);
        if (e == 0 && node->one_of.n)
                e = validate_one_of(r, node, value, path);
        if (e == 0 && node->not_) {
                e = validate_quietly(r, node->not_, value, path);
                if (e == 0)
                        return validate_fail(r, node, path, "not", "fits a schema that it must not fit");
                if (e == JSONSCHEMA_E_INVALID)
                        e = 0;
        }
        if (e == 0 && node->if_ && (node->then_ || node->else_)) {
                const SchemaNode *next;

                e = validate_quietly(r, node->if_, value, path);
                if (e != 0 && e != JSONSCHEMA_E_INVALID)
                        return e;
                next = e == 0 ? node->then_ : node->else_;
                e = next ? validate_node(r, next, value, path) : 0;
        }
        return e;
}

static int validate_node(Validation *r, const SchemaNode *node, const json_t *value, const Path *path) {
        int e = validate_take(r, 1);

        if (e != 0 || node->boolean == 1)
                return e;
        if (node->boolean == 0)
                return validate_fail(r, node, path, "false", "no value is allowed here");
        if (r->steps.depth >= JSONSCHEMA_EVAL_DEPTH_MAX)
                return validate_no_steps(r);
        r->steps.depth++;
        e = validate_any(r, node, value, path);
        if (e == 0) {
                if (json_is_object(value))
                        e = validate_object(r, node, value, path);
                else if (json_is_array(value))
                        e = validate_array(r, node, value, path);
                else if (json_is_string(value))
                        e = validate_string(r, node, json_bytes(value), json_string_length(value), path);
                else if (json_is_number(value))
                        e = validate_number(r, node, value, path);
        }
        if (e == 0)
                e = validate_in_place(r, node, value, path);
        r->steps.depth--;
        return e;
}

int jsonschema_validate(const JsonSchema *s, const json_t *value, Diag *reterr) {
        Validation r = {.steps.left = JSONSCHEMA_STEPS_MAX, .reterr = reterr};
        int e = validate_node(&r, s->nodes[0], value, NULL);

        schema_steps_deinit(&r.steps);
        return e;
}
