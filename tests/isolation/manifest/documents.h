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

/* I-81. The document with U+0000 and a letter at the end of one of its strings or keys, of each in turn: as a C string it is what it was
 * before. *at: 0 at first. Owned; NULL behind the last. */
static inline char *document_with_nul(const char *text, size_t *at) {
        static const char nul[] = "\\u0000x";
        bool in_string = false;
        char *out;

        for (size_t i = 0; text[i]; i++) {
                if (in_string && text[i] == '\\')
                        i++;
                else if (text[i] == '"' && (in_string = !in_string) == false && i >= *at) {
                        *at = i + 1;
                        out = calloc(1, strlen(text) + sizeof(nul));
                        cr_assert(out);
                        memcpy(out, text, i);
                        memcpy(out + i, nul, sizeof(nul) - 1);
                        memcpy(out + i + sizeof(nul) - 1, text + i, strlen(text + i));
                        return out;
                }
        }
        return NULL;
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
