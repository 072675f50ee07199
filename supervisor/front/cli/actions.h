/* Runs: CLI. Verbs with actions ("lethe note add …"): the table of a verb's actions with options and arguments, and
 * the transaction of an action. */
#pragma once

#include "base/json.h"
#include "cli/with-store.h"
#include "engine/engine.h"

typedef struct ActionArgs {
        const char *verb, *action;
        StoreOptions o;
        const char *option[128]; /* values of the given options, by letter; "" for an option without a value */
        char **argv;             /* the arguments behind the action, without options */
        int argc;
        /* members of a refusal besides code and message, with --json; action_refused() takes the object */
        json_t *more;
} ActionArgs;

typedef struct Action {
        const char *name;
        const char *arguments; /* "RUN TEXT|-", for messages; least and most are the counts */
        int least, most;
        const char *options;   /* letters of the action's options, without the store's options */
        int (*fn)(ActionArgs *a); /* returns EXIT_* */
        bool makes_store;      /* the action may create the store */
} Action;

/* Parses the arguments and calls the action. options: long options with letters as `val`, the store's options first;
 * help: the text for --help. */
int actions_main(const char *verb, const char *help, const Action *actions, size_t n, const struct option *options,
                 int argc, char **argv);

/* "uid:1000" of the caller. Lasts. */
const char *action_who(void);
/* As cli_number(), without bounds. */
int action_number(const ActionArgs *a, const char *what, const char *text, uint64_t *ret);
/* A line of text for people, or NULL: UTF-8, not blank, without invisible characters. Returns EXIT_OK, or EXIT_USAGE
 * after a message. */
int action_line(const ActionArgs *a, const char *what, const char *text_or_null);
/* The argument, or standard input for "-". *ret is owned. Returns EXIT_OK, or EXIT_NOT after a message. */
int action_text(ActionArgs *a, const char *arg, size_t most, char **ret, size_t *ret_n);

/* Prints the refusal: message and code. With --json also an object on standard output:
 * {"version":1,"error":{"code","message"}} and the members of a->more. Returns EXIT_NOT. */
int action_refused(ActionArgs *a, const char *code, const char *message);

/* Runs fn in a transaction, as with_store_write(), and prints a refusal. Returns EXIT_OK, or EXIT_USAGE or EXIT_NOT
 * after a message. */
int action_write(ActionArgs *a, StoreFn fn, void *user);
int action_read(ActionArgs *a, StoreFn fn, void *user);
/* For callers with transactions of their own: prints a refusal of the engine (a positive code) or a failure. Returns
 * EXIT_NOT. */
int action_failed(ActionArgs *a, const Store *s, int r, const Diag *d);

/* Parses text as JSON; refuses with bad_utf8, syntax (with line and column), duplicate_key, too_deep, too_large.
 * hint: text behind the message, or "". Returns EXIT_OK, or EXIT_NOT after a message. */
int action_parse(ActionArgs *a, const char *what, const char *text, size_t n, size_t most, unsigned depth,
                 const char *hint, json_t **ret);
/* The argument, or standard input for "-", as JSON. *ret is owned. Returns EXIT_OK, or EXIT_NOT after a message. */
int action_json(ActionArgs *a, const char *what, const char *arg, size_t most, json_t **ret);

/* Prints `before` and the member, when the member is a text and not empty. */
void action_show(const json_t *o, const char *member, const char *before);
/* Prints o as JSON for people, with control characters escaped; o is stolen. */
int action_dump(const ActionArgs *a, json_t *o);
/* Prints o as JSON; o is stolen and gets "version": 1. */
int action_print(const ActionArgs *a, json_t *o);
/* Prints o (stolen): with --json as the member `name` of an object, else as JSON for people. */
int action_answer(const ActionArgs *a, const char *name, json_t *o);
