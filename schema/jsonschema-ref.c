#include "schema/jsonschema-internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *schema_node_place(const SchemaNode *node, char *out, size_t n_out) {
        const SchemaNode *chain[JSONSCHEMA_DEPTH_MAX + 2];
        size_t n = 0, used;

        for (; node->up && n < ARRAY_SIZE(chain); node = node->up)
                chain[n++] = node;
        used = (size_t)snprintf(out, n_out, "#");
        while (n > 0 && used + 1 < n_out) {
                char quoted[400];

                node = chain[--n];
                if (node->name)
                        used += (size_t)snprintf(out + used, n_out - used, "/%s/%s", node->keyword,
                                                 diag_quote(node->name, strlen(node->name), quoted, sizeof(quoted)));
                else if (node->index != SIZE_MAX)
                        used += (size_t)snprintf(out + used, n_out - used, "/%s/%zu", node->keyword, node->index);
                else
                        used += (size_t)snprintf(out + used, n_out - used, "/%s", node->keyword);
        }
        return out;
}

void schema_node_prefix(const SchemaNode *node, Diag *d) {
        char place[400];

        diag_prefix(d, "schema %s", schema_node_place(node, place, sizeof(place)));
}

static int ref_hex_value(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        c |= 0x20;
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undoes %XX (RFC 3986 2.1) in place. */
static int ref_percent_decode(char *s) {
        char *o = s;

        for (; *s; s++) {
                if (*s == '%') {
                        int high = ref_hex_value(s[1]), low = high < 0 ? -1 : ref_hex_value(s[2]);

                        if (low < 0 || (high == 0 && low == 0))
                                return -EINVAL;
                        *o++ = (char)(high << 4 | low);
                        s += 2;
                } else
                        *o++ = *s;
        }
        *o = 0;
        return 0;
}

/* Undoes ~0 and ~1 (RFC 6901 section 4) in place. */
static int ref_tilde_decode(char *s) {
        char *o = s;

        for (; *s; s++) {
                if (*s == '~') {
                        s++;
                        if (*s != '0' && *s != '1')
                                return -EINVAL;
                        *o++ = *s == '0' ? '~' : '/';
                } else
                        *o++ = *s;
        }
        *o = 0;
        return 0;
}

static const json_t *ref_step_into(const json_t *at, const char *token) {
        uint64_t i = 0;

        if (json_is_object(at))
                return json_object_get(at, token);
        if (!json_is_array(at) || !*token || (token[0] == '0' && token[1]))
                return NULL;
        for (; *token; token++) {
                if (*token < '0' || *token > '9' || i > JSONSCHEMA_NODES_MAX)
                        return NULL;
                i = i * 10 + (uint64_t)(*token - '0');
        }
        return json_array_get(at, i);
}

static int ref_refuse(const SchemaNode *node, Diag *reterr, const char *why) {
        char quoted[400];

        diag(reterr, 0, "\"$ref\" \"%s\" %s",
             diag_quote(node->ref_text, strlen(node->ref_text), quoted, sizeof(quoted)), why);
        schema_node_prefix(node, reterr);
        return JSONSCHEMA_E_REF;
}

/* Finds the $ref's target, as JSON. */
static int ref_find_target(const JsonSchema *s, const SchemaNode *node, const json_t **ret, Diag *reterr) {
        _cleanup_free_ char *text = strdup(node->ref_text);
        const json_t *at = s->doc;
        char *token, *rest;

        if (!text)
                return -ENOMEM;
        if (*text != '#')
                return ref_refuse(node, reterr, "points out of the document; no document is ever fetched");
        rest = text + 1;
        if (ref_percent_decode(rest) < 0)
                return ref_refuse(node, reterr, "has a percent sign without two digits");
        if (*rest && *rest != '/')
                return ref_refuse(node, reterr, "is an anchor; only \"#\" and \"#/…\" are supported");
        if (*rest)
                rest++;
        else
                rest = NULL;
        while (rest) {
                token = rest;
                rest = strchr(token, '/');
                if (rest)
                        *rest++ = 0;
                if (ref_tilde_decode(token) < 0)
                        return ref_refuse(node, reterr, "has a ~ that is neither ~0 nor ~1");
                at = ref_step_into(at, token);
                if (!at)
                        return ref_refuse(node, reterr, "has no target in the document");
        }
        *ret = at;
        return 0;
}

static int ref_source_cmp(const void *a, const void *b) {
        uintptr_t x = (uintptr_t)(*(SchemaNode *const *)a)->source, y = (uintptr_t)(*(SchemaNode *const *)b)->source;

        return x < y ? -1 : x > y;
}

static int ref_too_deep(const SchemaNode *node, Diag *reterr) {
        diag(reterr, 0, "more than %d schemas inside each other for the same value", JSONSCHEMA_IN_PLACE_MAX);
        schema_node_prefix(node, reterr);
        return JSONSCHEMA_E_LIMIT;
}

static int ref_walk(SchemaNode *node, unsigned depth, Diag *reterr);

static int ref_walk_list(const SchemaList *list, unsigned depth, unsigned *height, Diag *reterr) {
        for (size_t i = 0; i < list->n; i++) {
                int r = ref_walk(list->entries[i].node, depth, reterr);

                if (r != 0)
                        return r;
                *height = MAX(*height, list->entries[i].node->height);
        }
        return 0;
}

/* Follows subschemas for the same value. Refuses circles, and long chains: the value's depth bounds the validation. */
static int ref_walk(SchemaNode *node, unsigned depth, Diag *reterr) {
        SchemaNode *const single[] = {node->ref, node->not_, node->if_, node->then_, node->else_};
        const SchemaList *const lists[] = {&node->all_of, &node->any_of, &node->one_of, &node->dependent_schemas};
        unsigned height = 0;
        int r = 0;

        enum { NEW, ON_THE_WAY, DONE };

        if (node->walk == DONE)
                return 0;
        if (depth > JSONSCHEMA_IN_PLACE_MAX)
                return ref_too_deep(node, reterr);
        if (node->walk == ON_THE_WAY) {
                diag(reterr, 0, "the schema refers to itself for the same value without end");
                schema_node_prefix(node, reterr);
                return JSONSCHEMA_E_REF;
        }
        node->walk = ON_THE_WAY;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(single); i++)
                if (single[i]) {
                        r = ref_walk(single[i], depth + 1, reterr);
                        height = MAX(height, single[i]->height);
                }
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(lists); i++)
                r = ref_walk_list(lists[i], depth + 1, &height, reterr);
        node->walk = DONE;
        node->height = height + 1;
        return r == 0 && node->height > JSONSCHEMA_IN_PLACE_MAX ? ref_too_deep(node, reterr) : r;
}

int schema_refs_resolve(JsonSchema *s, Diag *reterr) {
        _cleanup_free_ SchemaNode **sorted = malloc(s->n_nodes * sizeof(*sorted));

        if (!sorted)
                return -ENOMEM;
        memcpy(sorted, s->nodes, s->n_nodes * sizeof(*sorted));
        qsort(sorted, s->n_nodes, sizeof(*sorted), ref_source_cmp);
        for (size_t i = 0; i < s->n_nodes; i++) {
                SchemaNode key = {0}, *const p = &key, *node = s->nodes[i], **found;
                int r;

                if (!node->ref_text)
                        continue;
                r = ref_find_target(s, node, &key.source, reterr);
                if (r != 0)
                        return r;
                found = bsearch(&p, sorted, s->n_nodes, sizeof(*sorted), ref_source_cmp);
                if (!found)
                        return ref_refuse(node, reterr, "does not point at a schema");
                node->ref = *found;
        }
        for (size_t i = 0; i < s->n_nodes; i++) {
                int r = ref_walk(s->nodes[i], 1, reterr);

                if (r != 0)
                        return r;
        }
        return 0;
}
