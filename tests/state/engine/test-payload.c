#include "base/io.h"
#include "engine/payload.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *json(const char *text) {
        json_t *o = json_loads(text, JSON_DECODE_ANY, NULL);

        cr_assert_not_null(o, "%s", text);
        return o;
}

// M-5, M-6, M-7, M-8, M-11, M-18, M-29: what a payload of each family is, and what it is not
Test(payload, of_families) {
        static const struct {
                Kind kind;
                const char *type, *payload;
                int code;
                const char *words;
        } rows[] = {
                {KIND_MEMORY, "episodic", "{\"summary\":\"they met\"}", 0, ""},
                {KIND_MEMORY, "episodic", "{\"summary\":\"they met\",\"context\":\"a café\",\"participants\":[\"Ann\",\"Bo\"]}", 0, ""},
                {KIND_MEMORY, "episodic", "{\"context\":\"a café\"}", ENGINE_E_BAD_PAYLOAD, "summary is missing"},
                {KIND_MEMORY, "episodic", "{\"summary\":\"\"}", ENGINE_E_BAD_PAYLOAD, "summary is empty"},
                {KIND_MEMORY, "episodic", "{\"summary\":\"s\",\"participants\":\"Ann\"}", ENGINE_E_BAD_PAYLOAD, "not an array"},
                {KIND_MEMORY, "episodic", "{\"summary\":\"s\",\"participants\":[1]}", ENGINE_E_BAD_PAYLOAD, "participants[0]"},
                {KIND_MEMORY, "semantic", "{\"subject\":\"s\",\"predicate\":\"p\",\"object\":\"o\",\"confidence\":0.5}", 0, ""},
                {KIND_MEMORY, "semantic", "{\"subject\":\"s\",\"predicate\":\"p\",\"object\":\"o\",\"confidence\":1}", 0, ""},
                {KIND_MEMORY, "semantic", "{\"subject\":\"s\",\"predicate\":\"p\",\"object\":\"o\",\"confidence\":1.01}", ENGINE_E_BAD_PAYLOAD, "0 to 1"},
                {KIND_MEMORY, "semantic", "{\"subject\":\"s\",\"predicate\":\"p\",\"object\":\"o\",\"confidence\":-0.1}", ENGINE_E_BAD_PAYLOAD, "0 to 1"},
                {KIND_MEMORY, "semantic", "{\"subject\":\"s\",\"predicate\":\"p\",\"object\":\"o\",\"confidence\":\"1\"}", ENGINE_E_BAD_PAYLOAD,
                 "not a number"},
                {KIND_MEMORY, "semantic", "{\"subject\":\"s\",\"predicate\":\"p\"}", ENGINE_E_BAD_PAYLOAD, "object is missing"},
                {KIND_MEMORY, "semantic", "{\"subject\":\"s\",\"predicate\":\"p\",\"object\":\" \"}", ENGINE_E_BAD_PAYLOAD, "object is empty"},
                {KIND_MEMORY, "semantic", "{\"summary\":\"s\"}", ENGINE_E_BAD_PAYLOAD, "no field of semantic"},
                {KIND_MEMORY, "observational", "{\"subject\":\"s\",\"observed\":\"o\",\"source\":\"a log\",\"at\":\"2026-03-11\"}", 0, ""},
                {KIND_MEMORY, "observational", "{\"subject\":\"s\",\"observed\":\"o\"}", ENGINE_E_BAD_PAYLOAD, "source is missing"},
                {KIND_MEMORY, NULL, "{\"summary\":\"s\"}", ENGINE_E_BAD_PAYLOAD, "type is missing"},
                {KIND_MEMORY, "procedural", "{\"summary\":\"s\"}", ENGINE_E_BAD_PAYLOAD, "procedural"},
                {KIND_MEMORY, "episodic", "[]", ENGINE_E_BAD_PAYLOAD, "not an object"},
                {KIND_MEMORY, "episodic", "null", ENGINE_E_BAD_PAYLOAD, "not an object"},
                {KIND_MEMORY, "episodic", NULL, ENGINE_E_BAD_PAYLOAD, "summary is missing"},
                {KIND_KNOWLEDGE, NULL, "{\"title\":\"t\",\"text\":\"a\\nb\",\"tags\":[\"x\"]}", 0, ""},
                {KIND_KNOWLEDGE, NULL, "{\"title\":\"a\\nb\",\"text\":\"t\"}", ENGINE_E_BAD_PAYLOAD, "one line"},
                {KIND_KNOWLEDGE, NULL, "{\"text\":\"t\"}", ENGINE_E_BAD_PAYLOAD, "title is missing"},
                {KIND_KNOWLEDGE, "semantic", "{\"title\":\"t\",\"text\":\"t\"}", ENGINE_E_BAD_PAYLOAD, "no type"},
                {KIND_SKILL, NULL,
                 "{\"name\":\"n\",\"steps\":[{\"order\":2,\"instruction\":\"b\"},{\"order\":1,\"instruction\":\"a\"}],\"trigger\":\"when\"}", 0, ""},
                {KIND_SKILL, NULL, "{\"name\":\"n\",\"steps\":[{\"order\":1,\"instruction\":\"b\"},{\"order\":1,\"instruction\":\"a\"}]}",
                 ENGINE_E_BAD_PAYLOAD, "another step"},
                {KIND_SKILL, NULL, "{\"name\":\"n\",\"steps\":[{\"order\":-1,\"instruction\":\"b\"}]}", ENGINE_E_BAD_PAYLOAD, "-1"},
                {KIND_SKILL, NULL, "{\"name\":\"n\",\"steps\":[{\"order\":10000,\"instruction\":\"b\"}]}", ENGINE_E_BAD_PAYLOAD, "10000"},
                {KIND_SKILL, NULL, "{\"name\":\"n\",\"steps\":[{\"order\":1.5,\"instruction\":\"b\"}]}", ENGINE_E_BAD_PAYLOAD, "not an integer"},
                {KIND_SKILL, NULL, "{\"name\":\"n\",\"steps\":[{\"order\":1}]}", ENGINE_E_BAD_PAYLOAD, "instruction is missing"},
                {KIND_SKILL, NULL, "{\"name\":\"n\",\"steps\":[{\"order\":1,\"instruction\":\"b\",\"exec\":\"/bin/sh\"}]}", ENGINE_E_BAD_PAYLOAD, "exec"},
                {KIND_SKILL, NULL, "{\"name\":\"n\",\"steps\":[{\"order\":1,\"instruction\":\"b\",\"version\":1}]}", ENGINE_E_SERVICE_FIELD, "version"},
                {KIND_SKILL, NULL, "{\"name\":\"n\",\"steps\":[1]}", ENGINE_E_BAD_PAYLOAD, "steps[0]"},
                {KIND_SKILL, NULL, "{\"name\":\"n\",\"steps\":[]}", ENGINE_E_BAD_PAYLOAD, "empty"},
                {KIND_SKILL, NULL, "{\"name\":\"n\"}", ENGINE_E_BAD_PAYLOAD, "steps is missing"},
                {KIND_AGENT_KERNEL, NULL, "{\"rules\":[]}", 0, ""},
                {KIND_AGENT_KERNEL, NULL, "{\"rules\":[{\"id\":\"a\",\"statement\":\"s\",\"lifecycle\":\"active\"}]}", 0, ""},
                {KIND_WORLD_KERNEL, NULL,
                 "{\"rules\":[{\"id\":\"a\",\"statement\":\"s\",\"lifecycle\":\"superseded\"},{\"id\":\"b\",\"statement\":\"s\",\"lifecycle\":\"invalidated\"}]}", 0, ""},
                {KIND_WORLD_KERNEL, NULL, "{\"rules\":[{\"id\":\"a\",\"statement\":\"s\",\"lifecycle\":\"archived\"}]}", ENGINE_E_BAD_PAYLOAD, "archived"},
                {KIND_WORLD_KERNEL, NULL, "{\"rules\":[{\"id\":\"a\",\"statement\":\"s\"}]}", ENGINE_E_BAD_PAYLOAD, "lifecycle is missing"},
                {KIND_WORLD_KERNEL, NULL, "{\"rules\":[{\"id\":\"A b\",\"statement\":\"s\",\"lifecycle\":\"active\"}]}", ENGINE_E_BAD_PAYLOAD, "A b"},
                {KIND_WORLD_KERNEL, NULL,
                 "{\"rules\":[{\"id\":\"a\",\"statement\":\"s\",\"lifecycle\":\"active\"},{\"id\":\"a\",\"statement\":\"t\",\"lifecycle\":\"active\"}]}", ENGINE_E_BAD_PAYLOAD, "another rule"},
                {KIND_WORLD_KERNEL, NULL, "{}", ENGINE_E_BAD_PAYLOAD, "rules is missing"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *p = rows[i].payload ? json(rows[i].payload) : NULL;
                Op op = kind_class(rows[i].kind) == CLASS_KERNEL ? OP_PATCH : OP_SAVE;
                Diag d = {0};

                cr_expect_eq(record_payload_check(rows[i].kind, op, rows[i].type, p, &d), rows[i].code, "row %zu: %s", i, d.text);
                cr_expect(strstr(d.text, rows[i].words) != NULL, "row %zu: %s", i, d.text);
        }
}

// M-18: what the service derives and keeps is in nobody's payload, whatever the kind
Test(payload, service_metadata_is_refused) {
        static const char *const names[] = {"support", "lineage", "invalidation", "cleanup", "version", "state", "lifecycle", "created", "scope", "seq"};
        static const struct {
                Kind kind;
                const char *type, *payload;
        } rows[] = {
                {KIND_MEMORY, "episodic", "{\"summary\":\"s\"}"},
                {KIND_MEMORY, "semantic", "{\"subject\":\"s\",\"predicate\":\"p\",\"object\":\"o\"}"},
                {KIND_MEMORY, "observational", "{\"subject\":\"s\",\"observed\":\"o\",\"source\":\"x\"}"},
                {KIND_KNOWLEDGE, NULL, "{\"title\":\"t\",\"text\":\"t\"}"},
                {KIND_SKILL, NULL, "{\"name\":\"n\",\"steps\":[{\"order\":1,\"instruction\":\"b\"}]}"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
                        _cleanup_json_ json_t *p = json(rows[i].payload);
                        Diag d = {0};

                        json_object_set_new(p, names[k], json_integer(1));
                        cr_expect_eq(record_payload_check(rows[i].kind, OP_SAVE, rows[i].type, p, &d), ENGINE_E_SERVICE_FIELD, "row %zu %s: %s", i, names[k],
                                     d.text);
                }
}

// M-11: bounds; what brings no payload takes none
Test(payload, bounds) {
        static const Op without[] = {OP_ARCHIVE, OP_RESTORE, OP_REMOVE, OP_DELETE};
        _cleanup_json_ json_t *p = json("{\"summary\":\"s\"}"), *rules = json_array(), *kernel = json_pack("{s:O}", "rules", rules);
        _cleanup_free_ char *s = malloc(16 * 1024 + 2);
        Diag d = {0};

        for (size_t i = 0; i < ARRAY_SIZE(without); i++) {
                cr_expect_eq(record_payload_check(KIND_MEMORY, without[i], "episodic", NULL, &d), 0);
                cr_expect_eq(record_payload_check(KIND_MEMORY, without[i], "episodic", p, &d), ENGINE_E_BAD_PAYLOAD, "%s", op_name(without[i]));
        }
        memset(s, 'x', 16 * 1024 + 1);
        json_object_set_new(p, "summary", json_stringn(s, 16 * 1024));
        cr_expect_eq(record_payload_check(KIND_MEMORY, OP_SAVE, "episodic", p, &d), 0, "%s", d.text);
        json_object_set_new(p, "summary", json_stringn(s, 16 * 1024 + 1));
        cr_expect_eq(record_payload_check(KIND_MEMORY, OP_SAVE, "episodic", p, &d), ENGINE_E_TOO_LARGE, "%s", d.text);
        json_object_set_new(p, "summary", json_string("turns \xe2\x80\xae round"));
        cr_expect_eq(record_payload_check(KIND_MEMORY, OP_SAVE, "episodic", p, &d), ENGINE_E_BAD_PAYLOAD, "%s", d.text);
        for (int i = 0; i <= PAYLOAD_RULES_MAX; i++) {
                char id[16];

                snprintf(id, sizeof(id), "r%d", i);
                json_array_append_new(rules, json_pack("{s:s, s:s, s:s}", "id", id, "statement", "s", "lifecycle", "active"));
                if (i == PAYLOAD_RULES_MAX - 1)
                        cr_expect_eq(record_payload_check(KIND_AGENT_KERNEL, OP_PATCH, NULL, kernel, &d), 0, "%s", d.text);
        }
        cr_expect_eq(record_payload_check(KIND_AGENT_KERNEL, OP_PATCH, NULL, kernel, &d), ENGINE_E_TOO_LARGE, "%s", d.text);
}

// M-14: what the index has of a payload is its text, in an order that does not depend on how it was written
Test(payload, text) {
        static const char *const same[] = {
                "{\"name\":\"n\",\"steps\":[{\"order\":1,\"instruction\":\"one\"},{\"instruction\":\"two\",\"order\":2}],\"description\":\"d\"}",
                "{\"steps\":[{\"instruction\":\"one\",\"order\":1},{\"order\":2,\"instruction\":\"two\"}],\"description\":\"d\",\"name\":\"n\"}",
        };

        for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
                _cleanup_json_ json_t *p = json(same[i]);
                _cleanup_free_ char *text = NULL;
                size_t n;

                cr_assert_eq(payload_text(p, &text, &n), 0);
                cr_expect_str_eq(text, "d\nn\none\ntwo\n");
                cr_expect_eq(n, strlen(text));
        }
        for (size_t i = 0; i < 2; i++) {
                _cleanup_json_ json_t *p = i ? json_object() : NULL;
                _cleanup_free_ char *text = NULL;
                size_t n;

                cr_assert_eq(payload_text(p, &text, &n), 0);
                cr_expect_eq(n, 0);
                cr_expect_str_eq(text, "");
        }
}

static json_t *fit(const PayloadField *f) {
        switch (f->form) {
        case PAYLOAD_LINE:
        case PAYLOAD_TEXT:
        case PAYLOAD_RAW:
                return json_string("x");
        case PAYLOAD_ID:
                return json_string("parse_csv");
        case PAYLOAD_CHOICE:
                return json_string(f->choices[0]);
        case PAYLOAD_LINES:
                return json_pack("[s]", "x");
        case PAYLOAD_SHARE:
                return json_real(0.5);
        case PAYLOAD_STEPS:
                return json_pack("[{s:i, s:s}]", "order", 1, "instruction", "x");
        case PAYLOAD_RULES:
                return json_pack("[{s:s, s:s, s:s}]", "id", "a", "statement", "x", "lifecycle", f->choices[0]);
        }
        return NULL;
}

static int with(const PayloadField *f, json_t *v) {
        _cleanup_json_ json_t *payload = json_object();
        Diag d = {0};
        int e;

        for (size_t i = 0; i < n_payload_fields; i++)
                if (payload_fields[i].kind == f->kind && payload_fields[i].op == f->op && payload_fields[i].type == f->type)
                        json_object_set_new(payload, payload_fields[i].name, fit(&payload_fields[i]));
        if (v)
                json_object_set_new(payload, f->name, v);
        else
                json_object_del(payload, f->name);
        e = payload_check(f->kind, f->op, f->type, payload, &d);
        cr_expect(e == 0 || strstr(d.text, f->name), "%s: %s", f->name, d.text);
        return e;
}

static json_t *text_of(size_t n) {
        _cleanup_free_ char *s = malloc(n + 1);

        memset(s, 'x', n);
        return json_stringn(s, n);
}

// G-23, M-6, M-8, M-29: each field of each kind's payload: its type, its bound, its absence
Test(payload, fields) {
        for (size_t i = 0; i < n_payload_fields; i++) {
                const PayloadField *f = &payload_fields[i];
                bool text = f->form == PAYLOAD_LINE || f->form == PAYLOAD_TEXT;

                cr_expect_eq(with(f, fit(f)), 0, "%s", f->name);
                cr_expect_eq(with(f, NULL), f->required ? PAYLOAD_E_MISSING : 0, "%s", f->name);
                cr_expect_eq(with(f, f->form == PAYLOAD_SHARE ? json_string("1") : json_integer(1)), PAYLOAD_E_TYPE, "%s", f->name);
                cr_expect_eq(with(f, json_null()), PAYLOAD_E_TYPE, "%s", f->name);
                cr_expect_eq(with(f, json_pack("{s:s}", "a", "b")), PAYLOAD_E_TYPE, "%s", f->name);
                if (f->form != PAYLOAD_LINES && f->form != PAYLOAD_STEPS && f->form != PAYLOAD_RULES)
                        cr_expect_eq(with(f, json_pack("[s]", "x")), PAYLOAD_E_TYPE, "%s", f->name);
                if (f->form == PAYLOAD_RAW) {
                        cr_expect_eq(with(f, text_of(f->max + 1)), PAYLOAD_E_TOO_LARGE, "%s", f->name);
                        cr_expect_eq(with(f, json_string("")), PAYLOAD_E_EMPTY, "%s", f->name);
                        cr_expect_eq(with(f, json_string("a\x1b")), 0, "%s", f->name);
                        cr_expect_eq(with(f, json_stringn("a\0b", 3)), PAYLOAD_E_CONTROL, "%s", f->name);
                } else if (!text)
                        cr_expect(with(f, json_string("no such")) > 0, "%s", f->name);
                if (text) {
                        cr_expect_eq(with(f, text_of(f->max)), 0, "%s", f->name);
                        cr_expect_eq(with(f, text_of(f->max + 1)), PAYLOAD_E_TOO_LARGE, "%s", f->name);
                        cr_expect_eq(with(f, json_string(" ")), PAYLOAD_E_EMPTY, "%s", f->name);
                        cr_expect_eq(with(f, json_string("a\x1b")), PAYLOAD_E_CONTROL, "%s", f->name);
                        cr_expect_eq(with(f, json_stringn("a\0b", 3)), PAYLOAD_E_CONTROL, "%s", f->name);
                        cr_expect_eq(with(f, json_string("a\nb")), f->form == PAYLOAD_TEXT ? 0 : PAYLOAD_E_CONTROL, "%s", f->name);
                }
                if (f->form == PAYLOAD_LINES) {
                        json_t *many = json_array();

                        for (int k = 0; k <= PAYLOAD_LIST_MAX; k++)
                                json_array_append_new(many, json_string("x"));
                        cr_expect_eq(with(f, many), PAYLOAD_E_TOO_LARGE, "%s", f->name);
                        cr_expect_eq(with(f, json_pack("[i]", 1)), PAYLOAD_E_TYPE, "%s", f->name);
                        cr_expect_eq(with(f, json_pack("[s]", "")), PAYLOAD_E_EMPTY, "%s", f->name);
                }
        }
}

static char *document(const char *name) {
        char path[4096], *text;
        size_t n;

        snprintf(path, sizeof(path), "%s/%s", getenv("LETHE_SCHEMA_DIR"), name);
        cr_assert_eq(io_read_file(AT_FDCWD, path, 1 << 20, &text, &n), 0, "%s", path);
        return text;
}

static const char *form_in_words(const PayloadField *f, char out[static 200]) {
        switch (f->form) {
        case PAYLOAD_LINE:
                snprintf(out, 200, "line, %zu bytes", f->max);
                break;
        case PAYLOAD_TEXT:
                snprintf(out, 200, "text, %zu bytes", f->max);
                break;
        case PAYLOAD_RAW:
                snprintf(out, 200, "any text but U+0000, %zu bytes", f->max);
                break;
        case PAYLOAD_ID:
                return "id";
        case PAYLOAD_LINES:
                snprintf(out, 200, "array of at most %d lines, %zu bytes each", PAYLOAD_LIST_MAX, f->max);
                break;
        case PAYLOAD_SHARE:
                return "number from 0 to 1";
        case PAYLOAD_STEPS:
                snprintf(out, 200, "array of at most %d `{\"order\", \"instruction\"}`, %zu bytes each", PAYLOAD_STEPS_MAX, f->max);
                break;
        case PAYLOAD_RULES:
                snprintf(out, 200, "array of at most %d rules `{\"id\", \"statement\", \"lifecycle\"}` and statements `{\"id\", \"section\", \"subject\", "
                         "\"predicate\", \"object\", \"sources\", \"lifecycle\"}`, as below", PAYLOAD_RULES_MAX);
                break;
        case PAYLOAD_CHOICE:
                *out = 0;
                for (const char *const *c = f->choices; *c; c++)
                        snprintf(out + strlen(out), 200 - strlen(out), "%s`\"%s\"`", *out ? ", " : "", *c);
                break;
        }
        return out;
}

// G-23, M-6: schema/governed.md and schema/memory.md say what the table says
Test(payload, documented) {
        _cleanup_free_ char *governed = document("governed.md"), *memory = document("memory.md"),
                            *ccs = document("ccs.md");

        for (size_t i = 0; i < n_payload_fields; i++) {
                const PayloadField *f = &payload_fields[i];
                bool canon = kind_class(f->kind) == CLASS_CANON;
                char row[512], form[200];

                snprintf(row, sizeof(row), "\n| %s | %s | `%s` | %s | %s |\n", kind_name(f->kind), canon ? op_name(f->op) : f->type ? f->type : "-", f->name,
                         f->required ? "yes" : "no", form_in_words(f, form));
                cr_expect(strstr(canon ? governed : kind_class(f->kind) == CLASS_CCS ? ccs : memory, row), "no row %s", row);
        }
}
