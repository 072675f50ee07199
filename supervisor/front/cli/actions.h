/* Runs: CLI. Verbs that have actions ("lethe note add …"): which there are, which options and arguments each takes, and the transaction that most of them
 * are. */
#pragma once

#include "base/json.h"
#include "cli/with-store.h"
#include "engine/engine.h"

typedef struct ActionArgs {
        const char *verb, *action;
        StoreOptions o;
        const char *option[128]; /* values of the options that the verb named, by their letter; "" for one without a value */
        char **argv;             /* what is no option, behind the action */
        int argc;
        json_t *more;            /* what a refusal tells besides its code and message, with --json; action_refused() takes it */
} ActionArgs;

typedef struct Action {
        const char *name;
        const char *arguments; /* "RUN TEXT|-": what stands in usage; counts are below */
        int least, most;
        const char *options;   /* letters of those that it takes besides those of the store */
        int (*fn)(ActionArgs *a); /* returns EXIT_* */
        bool makes_store;      /* it can be the first that is done */
} Action;

struct option;
/* Parses and calls. options: long options with letters as `val`, those of the store first; help: printed for --help. */
int actions_main(const char *verb, const char *help, const Action *actions, size_t n, const struct option *options, int argc, char **argv);

/* "uid:1000" of who asks. Lasts. */
const char *action_who(void);
/* As cli_number(), without bounds. */
int action_number(const ActionArgs *a, const char *what, const char *text, uint64_t *ret);
/* One line of text for people, or NULL: UTF-8, not blank, nothing in it that cannot be seen. Returns EXIT_OK or EXIT_USAGE having said what is wrong
 * with it. */
int action_line(const ActionArgs *a, const char *what, const char *text_or_null);
/* The argument, or standard input for "-". *ret is owned. Returns EXIT_OK, EXIT_NOT having said why. */
int action_text(ActionArgs *a, const char *arg, size_t most, char **ret, size_t *ret_n);

/* Says that it is refused, by which code and why; with --json also as one object on standard output: {"version":1,"error":{"code","message"}} and what is in
 * a->more. Returns EXIT_NOT. */
int action_refused(ActionArgs *a, const char *code, const char *message);

/* Runs fn in a transaction, as with_store_write(); a refusal is said, too. Returns EXIT_OK, EXIT_USAGE or EXIT_NOT having said why. */
int action_write(ActionArgs *a, StoreFn fn, void *user);
int action_read(ActionArgs *a, StoreFn fn, void *user);
/* For who has transactions of his own: what the engine refused (a positive code), or what failed. Returns EXIT_NOT, having said so. */
int action_failed(ActionArgs *a, const Store *s, int r, const Diag *d);

/* Text as JSON: refused as bad_utf8, syntax (with line and column), duplicate_key, too_deep, too_large. hint: behind the message, or "". Returns EXIT_OK,
 * EXIT_NOT having said what is wrong with it. */
int action_parse(ActionArgs *a, const char *what, const char *text, size_t n, size_t most, unsigned depth, const char *hint, json_t **ret);
/* The argument, or standard input for "-", as JSON. *ret is owned. Returns EXIT_OK, EXIT_NOT having said what is wrong with it. */
int action_json(ActionArgs *a, const char *what, const char *arg, size_t most, json_t **ret);

/* Prints `before` and the member, when that is a text and not empty. */
void action_show(const json_t *o, const char *member, const char *before);
/* Prints it as JSON that people can read, with what commands a terminal escaped; o is stolen. */
int action_dump(const ActionArgs *a, json_t *o);
/* Prints one object as JSON; o is stolen and gets "version": 1. */
int action_print(const ActionArgs *a, json_t *o);
