#include "manifest/memory-right.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *const memory_access_words[] = {"read", "write", "delete", NULL};
const char *const memory_family_words[] = {"memory_substrate", "knowledge_projections", "skill_artifacts", NULL};

void memory_rights_free(MemoryRight *v, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(v[i].scope);
        free(v);
}

int memory_rights_copy(const MemoryRight *v, size_t n, MemoryRight **ret) {
        MemoryRight *copy = calloc(n + 1, sizeof(*copy));

        for (size_t i = 0; copy && i < n; i++) {
                copy[i] = v[i];
                copy[i].scope = strdup(v[i].scope);
                if (!copy[i].scope) {
                        memory_rights_free(copy, i);
                        return -ENOMEM;
                }
        }
        *ret = copy;
        return copy ? 0 : -ENOMEM;
}

bool memory_rights_same(const MemoryRight *a, size_t n_a, const MemoryRight *b, size_t n_b) {
        if (n_a != n_b)
                return false;
        for (size_t i = 0; i < n_a; i++)
                if (strcmp(a[i].scope, b[i].scope) != 0 || memcmp(a[i].may, b[i].may, sizeof(a[i].may)) != 0)
                        return false;
        return true;
}

const MemoryRight *memory_right_of(const MemoryRight *v, size_t n, const char *scope) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(v[i].scope, scope) == 0)
                        return &v[i];
        return NULL;
}

const char *memory_families_text(unsigned families, char out[static MEMORY_FAMILIES_TEXT]) {
        size_t n = 0;

        for (size_t i = 0; i < MEMORY_FAMILIES; i++)
                if (families & 1U << i)
                        n += (size_t)snprintf(out + n, MEMORY_FAMILIES_TEXT - n, "%s%s", n > 0 ? " " : "",
                                              memory_family_words[i]);
        if (n == 0)
                strcpy(out, "none");
        return out;
}

static json_t *memory_families_json(unsigned families) {
        json_t *a = json_array();

        for (size_t i = 0; i < MEMORY_FAMILIES; i++)
                if (families & 1U << i && json_array_append_new(a, json_string(memory_family_words[i])) < 0) {
                        json_decref(a);
                        return NULL;
                }
        return a;
}

json_t *memory_rights_json(const MemoryRight *v, size_t n) {
        _cleanup_json_ json_t *a = json_array();

        for (size_t i = 0; i < n; i++) {
                _cleanup_json_ json_t *o = json_pack("{s:s}", "scope", v[i].scope);

                for (size_t k = 0; k < MEMORY_ACCESSES; k++)
                        if (v[i].may[k] &&
                            json_object_set_new(o, memory_access_words[k], memory_families_json(v[i].may[k])) < 0)
                                return NULL;
                if (json_array_append(a, o) < 0)
                        return NULL;
        }
        return TAKE_PTR(a);
}

/* A row; ret->scope is set only when the row has no fault. */
static void memory_read_right(Doc *d, const Node *v, MemoryRight *ret) {
        const Node *scope = MEMBER(v, "scope");
        unsigned any = 0;

        if (!doc_fields(d, v, WORDS("scope", "read", "write", "delete")))
                return;
        for (size_t k = 0; k < MEMORY_ACCESSES; k++) {
                doc_words(d, MEMBER(v, memory_access_words[k]), memory_family_words, MEMORY_FAMILIES, &ret->may[k]);
                any |= ret->may[k];
        }
        if (!scope->v)
                doc_fault(d, v, "required", "\"scope\" is required");
        else if (!any)
                doc_fault(d, v, "required", "one of \"read\", \"write\" and \"delete\" is to name a family");
        if (any)
                doc_scope(d, scope, &ret->scope);
}

void doc_memory_rights(Doc *d, const Node *v, MemoryRight **ret, size_t *ret_n) {
        MemoryRight *rows;
        size_t n = 0;

        *ret = NULL;
        *ret_n = 0;
        if (!doc_array(d, v, MEMORY_RIGHTS_MAX))
                return;
        rows = doc_rows(d, v, sizeof(*rows));
        for (size_t i = 0; rows && i < json_array_size(v->v); i++) {
                const Node *at = ITEM(v, i);
                MemoryRight one = {0};

                memory_read_right(d, at, &one);
                if (!one.scope)
                        continue;
                if (memory_right_of(rows, n, one.scope)) {
                        doc_fault(d, MEMBER(at, "scope"), "twice", "scope \"%s\" stands there twice", one.scope);
                        free(one.scope);
                } else
                        rows[n++] = one;
        }
        *ret = rows;
        *ret_n = n;
}
