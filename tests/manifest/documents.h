/* Runs: tests. Documents that the C reader and the published JSON Schema must judge alike. */
#pragma once

#include "base/io.h"
#include "base/json.h"
#include "schema/jsonschema.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

typedef struct Document {
        const char *what, *text;
        const char *pointer; /* of a finding that the reader makes; NULL: the document is good */
        bool beyond;         /* the rule is one that a schema cannot say: only the reader refuses it */
} Document;

static inline JsonSchema *published_schema(const char *name) {
        char path[4096];
        char *text;
        size_t n;
        json_t *j = NULL;
        JsonSchema *s = NULL;
        Diag d = {0};

        snprintf(path, sizeof(path), "%s/%s", getenv("LETHE_SCHEMA_DIR"), name);
        cr_assert_eq(io_read_file(AT_FDCWD, path, 1 << 20, &text, &n), 0, "%s", path);
        cr_assert_eq(json_parse(text, n, 1 << 20, 64, &j, &d), 0, "%s: %s", path, d.text);
        cr_assert_eq(jsonschema_compile(j, &s, &d), 0, "%s: %s", path, d.text);
        json_decref(j);
        free(text);
        return s;
}

/* The schema's word on a document that the reader found `good`. */
static inline void agree(const JsonSchema *s, const Document *doc, bool good) {
        _cleanup_json_ json_t *j = NULL;
        Diag d = {0};
        int r;

        if (json_parse(doc->text, strlen(doc->text), 1 << 20, 64, &j, NULL) != 0)
                return; /* no JSON, so that a schema has nothing to judge */
        r = jsonschema_validate(s, j, &d);
        cr_expect_eq(r == 0, good || doc->beyond, "%s: the schema says %s", doc->what, r == 0 ? "good" : d.text);
}
