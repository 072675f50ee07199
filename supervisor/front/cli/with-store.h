/* Runs: CLI. The shared parts of the verbs about the store: options, opening, transactions. */
#pragma once

#include "cli/cli.h"
#include "store/store.h"

/* Options of each verb about the store; first in the verb's list of long options. */
#define STORE_ANCHOR 1 /* --anchor has no letter */
#define OPTIONS_STORE                                                                                                  \
        OPTION("store", 's'), OPTION("anchor", STORE_ANCHOR), OPTION_FLAG("json", 'j'), OPTION_FLAG("help", 'h')
#define HELP_JSON "  --json            print JSON\n  -h, --help        print the help\n"
#define HELP_STORE                                                                                                     \
        "  --store DIR       the store (default: $LETHE_STORE, else the XDG state folder)\n"                           \
        "  --anchor FILE     the checkpoint copy that the store must not be behind\n"

typedef struct StoreOptions {
        const char *help, *letters; /* the text for --help; short options as for getopt_long(), NULL: only -h */
        bool no_arguments;          /* store_next_option() refuses arguments behind the options */
        const char *once;           /* letters of options that may be given once, or NULL; the last of others counts */
        int code;                   /* set by store_next_option() when the verb is to end */
        const char *store;          /* --store or NULL */
        bool json;
        bool must_exist; /* a verb that changes existing data makes no store: a missing store is a wrong folder */
        const char *value[128]; /* of store_options(), by letter: "" for an option without a value, NULL: not given */
} StoreOptions;
/* Reads the next option: takes the options of the store, prints the help and refuses wrong options. Returns the letter
 * of any other option, 0 at the end, or -1 when the verb is to end with o->code. */
int store_next_option(StoreOptions *o, int argc, char **argv, const struct option *options);
/* Reads all options into o->value. Returns 0, or -1 when the verb is to end with o->code. */
int store_options(StoreOptions *o, int argc, char **argv, const struct option *options);
/* The same for a verb without other options and without arguments. */
int store_only_options(StoreOptions *o, int argc, char **argv);
/* The long name of an option. */
const char *store_option_name(const struct option *options, int letter);

/* Opens the store, or prints the reason. Returns EXIT_OK, EXIT_USAGE (no place for a store), EXIT_FULL or EXIT_NOT. */
int with_store(const char *verb, const StoreOptions *o, StoreMode mode, Store **ret);
/* Opens the store for reading, and begins a transaction. Returns as with_store(). */
int with_store_read(const char *verb, const StoreOptions *o, Store **ret, Txn **ret_t);
/* EXIT_OK when a store exists, or when only opening can tell; else EXIT_NOT, after the message of a failed opening
 * for reading. */
int with_store_there(const char *verb, const char *path);
/* EXIT_FULL or EXIT_NOT for a failure's code. */
int with_store_code(int r);
/* Tells whether a failure's code judges the store. Failures to look are no judgement: no room, right or descriptor,
 * an ended wait. */
bool with_store_is_verdict(int r);
/* The same for the last failed with_store(). */
bool with_store_was_verdict(void);
/* Prints the failure and returns EXIT_NOT, or EXIT_FULL: r is a code with a message in d, or negative. */
int with_store_failed(const char *verb, const Store *s, int r, const Diag *d);
