/* Runs: supervisor, CLI. Rights to typed memory: for each scope, the families that may be read, saved and deleted.
 * lethe.json requests and the policy file grants in this form. */
#pragma once

#include "manifest/doc.h"

#define MEMORY_RIGHTS_MAX 16 /* scopes of a document */

typedef enum MemoryAccess { MEMORY_READ, MEMORY_WRITE, MEMORY_DELETE, MEMORY_ACCESSES } MemoryAccess;
/* Families of records that are saved and deleted (schema/memory.md); not kernels, working state, governed memory. */
enum { MEMORY_FAMILIES = 3, MEMORY_ALL = (1 << MEMORY_FAMILIES) - 1 };
extern const char *const memory_access_words[]; /* "read", "write", "delete", NULL */
extern const char *const memory_family_words[]; /* "memory_substrate", "knowledge_projections", "skill_artifacts", NULL */

typedef struct MemoryRight {
        char *scope;
        unsigned may[MEMORY_ACCESSES]; /* 1 << index of memory_family_words | … */
} MemoryRight;
void memory_rights_free(MemoryRight *v, size_t n);
/* Returns 0 or -ENOMEM. */
int memory_rights_copy(const MemoryRight *v, size_t n, MemoryRight **ret);
bool memory_rights_same(const MemoryRight *a, size_t n_a, const MemoryRight *b, size_t n_b);
/* The row of a scope, or NULL. */
const MemoryRight *memory_right_of(const MemoryRight *v, size_t n, const char *scope);
/* Whether the row has the access to the family (index of memory_family_words); r may be NULL. */
static inline bool memory_right_has(const MemoryRight *r, MemoryAccess a, unsigned family) {
        return r && r->may[a] & 1U << family;
}
/* Names of families, or "none". Returns out. */
#define MEMORY_FAMILIES_TEXT 80
const char *memory_families_text(unsigned families, char out[static MEMORY_FAMILIES_TEXT]);
/* [{"scope","read":[…],"write":[…],"delete":[…]}]; an access without families is left out. New reference or NULL. */
json_t *memory_rights_json(const MemoryRight *v, size_t n);

/* Reads an array in the form of memory_rights_json(). Faults go to d; *ret is set in any case. */
void doc_memory_rights(Doc *d, const Node *v, MemoryRight **ret, size_t *ret_n);
