/* Runs: supervisor, CLI. Reading a JSON document field by field, every fault with its JSON pointer. lethe.json and the policy file share it. */
#pragma once

#include "base/json.h"
#include "manifest/finding.h"
#include "manifest/vocabulary.h"

typedef struct Doc {
        const char *file;   /* for findings */
        Findings *findings;
        size_t n_faults;
        bool no_memory;     /* sticky: the reading goes on, the caller looks at the end */
} Doc;

/* JSON pointers (RFC 6901) into the document; a hostile key is cut and escaped for show. Return out. */
#define POINTER_MAX 512
const char *pointer_key(char out[static POINTER_MAX], const char *base, const char *key);
const char *pointer_item(char out[static POINTER_MAX], const char *base, size_t i);

/* Records a fault. `pointer` "" is the whole document. */
void doc_fault(Doc *d, const char *pointer, const char *rule, const char *fmt, ...) _printf_(4, 5);
/* Takes the answer of a function that makes a Diag: 0 is true; positive becomes a fault; negative is no memory. */
bool doc_judge(Doc *d, int r, const char *pointer, const char *rule, const Diag *message);
/* v for a message: cut and escaped. Return out. */
const char *doc_show(const json_t *v, char out[static 256]);

/* Parses text: an object with "version": 1. New reference or NULL with a fault. */
json_t *doc_parse(Doc *d, const char *text, size_t n);
/* v is an object (else a fault, false); every key that `known` (NULL-terminated) lacks is a fault. */
bool doc_fields(Doc *d, const json_t *v, const char *pointer, const char *const *known);
/* Each returns false with a fault; NULL v is false without one: the field is not there. */
bool doc_string(Doc *d, const json_t *v, const char *pointer, size_t least, size_t most, const char **ret); /* bytes; no NUL */
bool doc_bool(Doc *d, const json_t *v, const char *pointer, bool *ret);
bool doc_count(Doc *d, const json_t *v, const char *pointer, uint64_t least, uint64_t most, uint64_t *ret);
bool doc_array(Doc *d, const json_t *v, const char *pointer, size_t most);
bool doc_object(Doc *d, const json_t *v, const char *pointer, size_t most);
/* One of `words` (NULL-terminated): *ret is its index. */
bool doc_word(Doc *d, const json_t *v, const char *pointer, const char *const *words, size_t *ret);
bool doc_tier(Doc *d, const json_t *v, const char *pointer, Tier *ret);
bool doc_cancel_bound(Doc *d, const json_t *v, const char *pointer, uint64_t *ret);
void doc_budgets(Doc *d, const json_t *v, const char *pointer, Budget *ret);
bool doc_path(Doc *d, const json_t *v, const char *pointer, char **ret); /* absolute, normalised; owned */
#define SLOT_LIST_MAX 256
void doc_slot_names(Doc *d, const json_t *v, const char *pointer, char ***ret); /* NULL-terminated; owned */
void doc_connects(Doc *d, const json_t *v, const char *pointer, NetGrant **ret, size_t *ret_n);
