/* Runs: CLI. Verbs with actions ("lethe note add …"): the table of a verb's actions with options and arguments, and
 * the transaction of an action. */
#pragma once

#include "base/json.h"
#include "cli/with-store.h"
#include "engine/past.h"

typedef struct ActionArgs {
        const char *verb, *action;
        StoreOptions o;
        char **argv;             /* the arguments behind the action, without options */
        int argc;
        /* members of a refusal besides code and message, with --json; action_refused() takes the object */
        json_t *more;
        Store *store; /* with t: of action_begin() */
        Txn *t;
        bool writes;
        Diag d;       /* the engine's message about a refusal */
} ActionArgs;

#define ACTIONS_LAST '1' /* letter of an option without value that stands in place of the first argument */

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
/* --scope (option 'S'), or the default scope. */
const char *action_scope(const ActionArgs *a);
/* As cli_number(), without bounds. */
int action_number(const ActionArgs *a, const char *what, const char *text_or_null, uint64_t *ret);
/* The event of --at in the transaction a->t (past_moment()), or PAST_NOW. Returns 0 or ENGINE_E_BAD_QUERY, -errno. */
int action_moment(ActionArgs *a, const char *text_or_null, uint64_t *ret_seq);
/* A line of text for people, or NULL: UTF-8, not blank, without invisible characters. Returns EXIT_OK, or EXIT_USAGE
 * after a message. */
int action_line(const ActionArgs *a, const char *what, const char *text_or_null);
/* The argument, or standard input for "-". *ret is owned. Returns EXIT_OK, or EXIT_NOT after a message. */
int action_text(ActionArgs *a, const char *arg, size_t most, char **ret, size_t *ret_n);

/* Prints the refusal: message and code. With --json also an object on standard output:
 * {"version":1,"error":{"code","message"}} and the members of a->more. Returns EXIT_NOT. */
int action_refused(ActionArgs *a, const char *code, const char *message);

/* Opens the store and begins the transaction a->t. Returns EXIT_OK, or another code after a message. */
int action_begin(ActionArgs *a, bool write);
/* Ends the transaction with the engine's result r. A refusal (a positive code, with the message in a->d) is printed and
 * committed, because the transaction records the refusal; a failure is not committed. Returns EXIT_OK, or another code
 * after a message. */
int action_end(ActionArgs *a, int r);
/* For callers with transactions of their own: prints a refusal of the engine (a positive code) or a failure. Returns
 * EXIT_NOT. */
int action_failed(ActionArgs *a, const Store *s, int r, const Diag *d);

/* Parses text as JSON; refuses with bad_utf8, syntax (with line and column), duplicate_key, too_deep, too_large.
 * hint: text behind the message, or "". Returns EXIT_OK, or EXIT_NOT after a message. */
int action_parse(ActionArgs *a, const char *what, const char *text, size_t n, size_t most, unsigned depth,
                 const char *hint, json_t **ret);
/* The argument, or standard input for "-", as JSON; NULL leaves *ret. *ret is owned. Returns EXIT_OK, or EXIT_NOT after
 * a message. */
int action_json(ActionArgs *a, const char *what, const char *arg_or_null, size_t most, json_t **ret);

/* Prints `before` and the member, when the member is a text and not empty. */
void action_show(const json_t *o, const char *member, const char *before);
/* Prints a line for each record that says the opposite of the row (member "disputed"). */
void action_show_disputes(const json_t *row);
/* Prints o (stolen) with --json, as action_print(); else as JSON for people, with control characters escaped. */
int action_dump(const ActionArgs *a, json_t *o);
/* Prints o as JSON; o is stolen and gets "version": 1. */
int action_print(const ActionArgs *a, json_t *o);
/* Prints o (stolen) with --json, as action_print(); else the text and a newline. */
int action_tell(const ActionArgs *a, json_t *o, const char *fmt, ...) _printf_(3, 4);
/* Prints o (stolen) with --json, as action_print(); else each element of its member `name`, by line(). */
int action_rows(const ActionArgs *a, json_t *o, const char *name, void (*line)(const json_t *row));
/* Prints o (stolen): with --json as the member `name` of an object, else as JSON for people. */
int action_answer(const ActionArgs *a, const char *name, json_t *o);
