/* Runs: supervisor, CLI. Reads JSON (lethe.json, the policy file) field by field; every fault has a JSON pointer. */
#pragma once

#include "manifest/finding.h"
#include "manifest/net-name.h"
#include "manifest/net-publish.h"
#include "manifest/vocabulary.h"

typedef struct Doc {
        const char *file;   /* for findings */
        Findings *findings;
        size_t n_faults;
        bool no_memory;     /* sticky: the reading goes on, and the caller checks at the end */
} Doc;

/* A value of the document, and the way to it: for the JSON pointer (RFC 6901) of a fault. */
typedef struct Node {
        const json_t *v;          /* NULL: missing */
        const struct Node *above; /* NULL: the whole document */
        const char *key;          /* may be hostile; NULL: an item of an array */
        size_t i;
} Node;
/* Valid until the end of the block. A fault of a missing member is a fault of its place. */
#define MEMBER(of, name) (&(Node){json_object_get((of)->v, (name)), (of), (name), 0})
#define ITEM(of, index) (&(Node){json_array_get((of)->v, (index)), (of), NULL, (index)})

/* Records a fault; a hostile key is cut and escaped. Returns false. */
bool doc_fault(Doc *d, const Node *at, const char *rule, const char *fmt, ...) _printf_(4, 5);
/* Zeroed room for a row of each item of an array or object, and for one more; owned. NULL: no memory. */
void *doc_rows(Doc *d, const Node *v, size_t size);
/* Takes the result of a function that fills a Diag. 0: returns true. Positive: becomes a fault. Negative: no memory. */
bool doc_judge(Doc *d, int r, const Node *at, const char *rule, const Diag *message);
/* The value for a message: cut and escaped. Returns out. */
const char *doc_show(const Node *v, char out[static 256]);
#define DOC_SHOWN(v) doc_show((v), (char[256]){0}) /* valid until the end of the block */

/* Parses text: an object with "version": 1. New reference or NULL with a fault. */
json_t *doc_parse(Doc *d, const char *text, size_t n);
/* Each returns false with a fault, and false without a fault for a missing value. */
/* An object; every key that `known` lacks is a fault, too. Lists of words end with NULL. */
bool doc_fields(Doc *d, const Node *v, const char *const *known);
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
bool doc_string(Doc *d, const Node *v, size_t least, size_t most, const char **ret); /* bytes; no NUL */
bool doc_bool(Doc *d, const Node *v, bool *ret);
bool doc_count(Doc *d, const Node *v, uint64_t least, uint64_t most, uint64_t *ret);
bool doc_array(Doc *d, const Node *v, size_t most);
bool doc_object(Doc *d, const Node *v, size_t most);
/* A word of `words`: *ret is the index. */
bool doc_word(Doc *d, const Node *v, const char *const *words, size_t *ret);
bool doc_tier(Doc *d, const Node *v, Tier *ret);
typedef struct DurationRule {
        uint64_t least_usec, most_usec;
        const char *name, *range; /* of the rule, and "1us to 87600h", in findings */
} DurationRule;
bool doc_duration(Doc *d, const Node *v, const DurationRule *rule, uint64_t *ret);
bool doc_cancel_bound(Doc *d, const Node *v, uint64_t *ret);
bool doc_grace(Doc *d, const Node *v, uint64_t *ret);
bool doc_session_idle(Doc *d, const Node *v, uint64_t *ret);
void doc_budgets(Doc *d, const Node *v, Budget *ret);
/* "path" and "access" of the object v; *ret_path as of doc_path(). */
bool doc_file(Doc *d, const Node *v, char **ret_path, bool *ret_write);
bool doc_path(Doc *d, const Node *v, char **ret); /* absolute, normalised; owned */
/* An array of distinct words of `words`: sets 1 << index in *ret for each word. */
void doc_words(Doc *d, const Node *v, const char *const *words, size_t most, unsigned *ret);

typedef struct NameRule {
        bool (*valid)(const char *name);
        size_t most;      /* bytes of a name */
        const char *name; /* of the rule, in findings */
        const char *text; /* "a slot's name has …" */
} NameRule;
/* An array of at most `most` distinct names. *ret: NULL-terminated; owned. */
void doc_names(Doc *d, const Node *v, size_t most, const NameRule *rule, char ***ret);
#define SLOT_LIST_MAX 256
void doc_slot_names(Doc *d, const Node *v, char ***ret);
void doc_scope(Doc *d, const Node *v, char **ret); /* name of a scope; owned */
/* doc-network.c: "connect", "allow", a policy's "private", and the budgets "connections", "bytes", "time" of a network. */
void doc_publish_ranges(Doc *d, const Node *v, NetPublishRange **ret, size_t *ret_n);
void doc_allows(Doc *d, const Node *v, NetName **ret, size_t *ret_n);
void doc_ranges(Doc *d, const Node *v, ProxyNet **ret, size_t *ret_n);
void doc_net_budget(Doc *d, const Node *network, ProxyBudget *ret);
/* Names of routes: an array of a manifest, or of a policy's network. */
bool route_name_valid(const char *name);
#define ROUTE_NAME_TEXT "a name has 1 to 32 of a-z, 0-9, \"-\" and \"_\", a letter or digit first"
void doc_route_names(Doc *d, const Node *v, size_t most, char ***ret);
void doc_connects(Doc *d, const Node *v, NetGrant **ret, size_t *ret_n);
