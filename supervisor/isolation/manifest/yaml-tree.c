#include "manifest/yaml-tree.h"

#include "manifest/vocabulary.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

/* A finding was recorded, and the reading stops (YamlTree.root stays NULL). */
enum { REFUSED = 1 };

typedef struct TreeReader {
        yaml_parser_t parser;
        const char *file;
        unsigned first_line, max_depth;
        YamlTree *tree;
        const char *top; /* top-level key in progress, borrowed from the copy of the event */
        Findings *findings;
} TreeReader;

void yaml_tree_deinit(YamlTree *t) {
        json_decref(t->root);
        json_decref(t->lines);
        json_decref(t->plain);
        *t = (YamlTree){0};
}

static unsigned tree_line(const TreeReader *r, const yaml_mark_t *m) {
        return (unsigned)m->line + r->first_line;
}

#define REFUSE(r, line, rule, ...) \
        (finding_add((r)->findings, FINDING_ERROR, (r)->file, line, NULL, rule, __VA_ARGS__) < 0 ? -ENOMEM : REFUSED)

static int tree_next_event(TreeReader *r, yaml_event_t *e) {
        if (yaml_parser_parse(&r->parser, e))
                return 0;
        if (r->parser.error == YAML_MEMORY_ERROR)
                return -ENOMEM;
        memset(e, 0, sizeof(*e));
        return REFUSE(r, r->parser.error == YAML_READER_ERROR ? r->first_line : tree_line(r, &r->parser.problem_mark),
                      "yaml-syntax", "not YAML: %s", DIAG_QUOTED(r->parser.problem ?: "not YAML"));
}

/* Whether YAML 1.2's core schema, or 1.1's loaders, would not read s as a string. */
static bool tree_reads_as_other(const char *s) {
        static const char *const words[] = {"", "~", "null", "Null", "NULL", "true", "True", "TRUE", "false", "False",
                                            "FALSE", "yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off",
                                            "Off", "OFF", ".inf", ".nan", NULL};
        char *end;

        if (word_index(words, s) >= 0)
                return true;
        if (!strchr("+-.0123456789", *s))
                return false;
        (void)strtod(s, &end);
        return *end == 0;
}

static int tree_read_node(TreeReader *r, yaml_event_t *e, unsigned depth, json_t **ret);

static int tree_read_mapping(TreeReader *r, unsigned depth, json_t **ret) {
        _cleanup_json_ json_t *o = json_object();

        if (!o)
                return -ENOMEM;
        for (;;) {
                _cleanup_(yaml_event_delete) yaml_event_t key = {0}, value = {0};
                _cleanup_json_ json_t *k = NULL;
                json_t *v = NULL;
                int q = tree_next_event(r, &key);

                if (q)
                        return q;
                if (key.type == YAML_MAPPING_END_EVENT)
                        break;
                if (key.type != YAML_SCALAR_EVENT)
                        return REFUSE(r, tree_line(r, &key.start_mark), "yaml-key", "a key that is not a plain text");
                q = tree_read_node(r, &key, depth, &k);
                if (q)
                        return q;
                if (json_object_get(o, json_text(k)))
                        return REFUSE(r, tree_line(r, &key.start_mark), "yaml-duplicate",
                                      "the key \"%s\" stands there twice", DIAG_QUOTED(json_text(k)));
                if (depth == 1) {
                        r->top = json_text(k);
                        if (json_object_set_new(r->tree->lines, r->top, json_integer(tree_line(r, &key.start_mark))) <
                            0)
                                return -ENOMEM;
                }
                q = tree_next_event(r, &value);
                q = q ?: tree_read_node(r, &value, depth + 1, &v);
                if (q)
                        return q;
                if (value.type == YAML_SCALAR_EVENT && value.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                    tree_reads_as_other(json_text(v)) && json_object_set_new(r->tree->plain, r->top, json_true()) < 0) {
                        json_decref(v);
                        return -ENOMEM;
                }
                if (json_object_set_new(o, json_text(k), v) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(o);
        return 0;
}

static int tree_read_sequence(TreeReader *r, unsigned depth, json_t **ret) {
        _cleanup_json_ json_t *a = json_array();

        if (!a)
                return -ENOMEM;
        for (;;) {
                _cleanup_(yaml_event_delete) yaml_event_t item = {0};
                json_t *v = NULL;
                int q = tree_next_event(r, &item);

                if (q)
                        return q;
                if (item.type == YAML_SEQUENCE_END_EVENT)
                        break;
                q = tree_read_node(r, &item, depth + 1, &v);
                if (q)
                        return q;
                if (json_array_append_new(a, v) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(a);
        return 0;
}

static int tree_read_node(TreeReader *r, yaml_event_t *e, unsigned depth, json_t **ret) {
        const yaml_char_t *anchor = NULL, *tag = NULL;
        unsigned line = tree_line(r, &e->start_mark);

        if (e->type == YAML_ALIAS_EVENT)
                return REFUSE(r, line, "yaml-alias", "an alias (*name): each value must stand there in full");
        if (e->type == YAML_SCALAR_EVENT) {
                anchor = e->data.scalar.anchor;
                tag = e->data.scalar.tag;
        } else if (e->type == YAML_MAPPING_START_EVENT) {
                anchor = e->data.mapping_start.anchor;
                tag = e->data.mapping_start.tag;
        } else if (e->type == YAML_SEQUENCE_START_EVENT) {
                anchor = e->data.sequence_start.anchor;
                tag = e->data.sequence_start.tag;
        } else
                return REFUSE(r, line, "yaml-syntax", "a value was expected here");
        if (anchor)
                return REFUSE(r, line, "yaml-anchor", "an anchor (&name): anchors are not read");
        if (tag)
                return REFUSE(r, line, "yaml-tag", "a tag (!type): tags are not read");
        if (depth > r->max_depth)
                return REFUSE(r, line, "yaml-depth", "nested deeper than %u levels", r->max_depth);
        if (e->type == YAML_MAPPING_START_EVENT)
                return tree_read_mapping(r, depth, ret);
        if (e->type == YAML_SEQUENCE_START_EVENT)
                return tree_read_sequence(r, depth, ret);
        if (memchr(e->data.scalar.value, 0, e->data.scalar.length))
                return REFUSE(r, line, "yaml-nul", "a NUL character in a value");
        *ret = json_stringn((const char *)e->data.scalar.value, e->data.scalar.length);
        return *ret ? 0 : -ENOMEM;
}

static int tree_read_document(TreeReader *r, json_t **ret) {
        _cleanup_(yaml_event_delete) yaml_event_t start = {0}, doc = {0}, root = {0}, end = {0}, after = {0};
        _cleanup_json_ json_t *j = NULL;
        int q = tree_next_event(r, &start);

        q = q ?: tree_next_event(r, &doc);
        if (q)
                return q;
        if (doc.type == YAML_STREAM_END_EVENT)
                return REFUSE(r, r->first_line, "yaml-mapping",
                              "nothing is in it: \"name\" and \"description\" are required");
        if (doc.data.document_start.version_directive ||
            doc.data.document_start.tag_directives.start != doc.data.document_start.tag_directives.end)
                return REFUSE(r, tree_line(r, &doc.start_mark), "yaml-directive",
                              "a directive (%%YAML, %%TAG): directives are not read");
        q = tree_next_event(r, &root);
        if (q)
                return q;
        if (root.type != YAML_MAPPING_START_EVENT && root.type != YAML_ALIAS_EVENT)
                return REFUSE(r, tree_line(r, &root.start_mark), "yaml-mapping",
                              "must be a mapping of fields (name: value)");
        q = tree_read_node(r, &root, 1, &j);
        q = q ?: tree_next_event(r, &end);
        q = q ?: tree_next_event(r, &after);
        if (q)
                return q;
        if (after.type != YAML_STREAM_END_EVENT)
                return REFUSE(r, tree_line(r, &after.start_mark), "yaml-documents",
                              "a second YAML document: exactly one is read");
        *ret = TAKE_PTR(j);
        return 0;
}

int yaml_tree_read(const char *text, size_t n, const char *file, unsigned first_line, unsigned max_depth, YamlTree *ret,
                   Findings *findings) {
        _cleanup_yaml_tree_ YamlTree t = {.lines = json_object(), .plain = json_object()};
        TreeReader r = {
                .file = file, .first_line = first_line, .max_depth = max_depth, .tree = &t, .findings = findings};
        int q;

        if (!t.lines || !t.plain || !yaml_parser_initialize(&r.parser))
                return -ENOMEM;
        /* else a byte order mark could switch the parser to UTF-16 */
        yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n);
        q = tree_read_document(&r, &t.root);
        yaml_parser_delete(&r.parser);
        if (q < 0)
                return q;
        *ret = t;
        t = (YamlTree){0};
        return 0;
}
