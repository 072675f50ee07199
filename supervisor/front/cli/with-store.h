/* Runs: CLI. What the verbs about the store share: options, opening, printing. */
#pragma once

#include "base/json.h"
#include "cli/cli.h"
#include "store/store.h"

#include <stdio.h>

/* Options that each of these verbs has; put first in its list of long options. */
#define OPTIONS_STORE                                                                                                  \
        {"store", required_argument, NULL, 's'}, {"anchor", required_argument, NULL, 'a'}, {"json", no_argument, NULL, 'j'}, \
                {"help", no_argument, NULL, 'h'}
#define HELP_STORE                                                                                                     \
        "  --store DIR       the store (default: $LETHE_STORE, else the XDG state folder)\n"                           \
        "  --anchor FILE     the checkpoint copy that the store must not be behind\n"

typedef struct StoreOptions {
        const char *store; /* --store or NULL */
        bool json;
        bool must_exist;   /* who changes what is there makes no store where there is none: its folder is a mistake */
} StoreOptions;
/* Takes 's', 'a' and 'j'. True when it was one of them. */
bool store_option(StoreOptions *o, int option, const char *arg);
/* After getopt_long (its short options begin with ":") met one that is not known or lacks its value: says so, returns EXIT_USAGE. */
int store_option_wrong(char **argv);

/* Opens the store or says why not. Returns EXIT_OK, EXIT_USAGE (no place for a store), EXIT_FULL or EXIT_NOT. */
int with_store(const char *verb, const StoreOptions *o, StoreMode mode, Store **ret);
/* EXIT_OK where there is a store, or where only opening it tells; else EXIT_NOT, said as opening one to read says it. */
int with_store_there(const char *verb, const char *path);
/* Runs fn in a transaction that writes. What fn refuses (a positive code, and the words for it in reterr) is committed all the same, because the
 * refusal is in it; what fails is not. Returns EXIT_OK with the code or 0 in *ret_refused, EXIT_USAGE or EXIT_NOT having said why. */
typedef int (*StoreFn)(Txn *t, void *user, Diag *reterr);
int with_store_write(const char *verb, const StoreOptions *o, StoreFn fn, void *user, int *ret_refused, Diag *reterr);
/* EXIT_FULL or EXIT_NOT for a code of a store that failed. */
int with_store_code(int r);
/* Does the code of a store that failed say something about the store? Not when it could not be looked at: no room, right or descriptor, a wait that ended. */
bool with_store_is_verdict(int r);
/* The same of the last with_store() that failed. */
bool with_store_was_verdict(void);
/* For both forms of `lethe audit`, in which 1 means that something does not hold and 2 that this could not be found out. The first makes
 * with_store's code theirs, and says that there is no answer (member is what --json calls it); the second says why reading failed. */
int audit_not_opened(const StoreOptions *o, const char *member, int code);
int audit_failed(const Store *s, int r, const Diag *d);
/* Says what failed and returns EXIT_NOT, or EXIT_FULL: r is a code with a message in d, or negative. */
int with_store_failed(const char *verb, const Store *s, int r, const Diag *d);

/* Text for a terminal: characters that command it (control characters, marks of writing direction) are written as \uXXXX, which JSON reads as the same. */
void print_safe(FILE *out, const char *text, size_t n);
/* One line of canonical JSON. Returns 0 or -errno. */
int print_json(FILE *out, const json_t *v);
