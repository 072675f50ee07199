/* Runs: CLI. The shared parts of the verbs: exit codes, errors, numbers, output. */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "base/util.h"

#include <getopt.h>
#include <stdio.h>

/* Exit codes of Lethe. Verbs that judge end 0 intact, 1 not intact, 2 usage; and 3 when a result holds but states
 * less than full proof. */
enum {
        EXIT_OK = 0,
        EXIT_NOT = 1,         /* a check failed, or a named thing is missing */
        EXIT_USAGE = 2,       /* the command line is wrong */
        EXIT_LESS = 3,        /* certificate --verify: holds, but does not prove all memory overwritten */
        EXIT_FULL = 4,        /* no room on a disk: the verb gives no verdict */
        EXIT_TIMED_OUT = 124, /* run: wall budget */
        EXIT_LETHE = 125,     /* run: Lethe or its policy failed; no program ran */
        EXIT_NOT_EXECUTABLE = 126,
        EXIT_NOT_FOUND = 127,
};

/* Rows of a table for getopt_long(): an option with a value, and without. */
#define OPTION(name, letter) {name, required_argument, NULL, letter}
#define OPTION_FLAG(name, letter) {name, no_argument, NULL, letter}

typedef int (*VerbFn)(int argc, char **argv);
typedef struct Verb {
        const char *name;
        VerbFn fn; /* argv[0] is the verb's name; returns the exit code */
        const char *line;
} Verb;
extern const Verb cli_verbs[];
extern const size_t cli_n_verbs;

#define VERB(name, id, line) int cmd_##id(int argc, char **argv);
#include "cli/verbs.def"
#undef VERB

/* Prints "lethe VERB: message" and the hint for --help; returns EXIT_USAGE. */
int cli_usage(const char *verb, const char *fmt, ...) _printf_(2, 3);
/* The command is `lethe session turn`: a run in a session. */
void cli_run_as_turn(void);
bool cli_run_is_turn(void);
/* The command is `lethe map`: a run for each line of standard input. */
void cli_run_as_map(void);
bool cli_run_is_map(void);
const char *cli_run_verb(void); /* "run", "session turn" or "map" */
/* Prints "lethe VERB: message"; returns code. word: the error for programs, "no_store" … */
int cli_refuse(const char *verb, int code, const char *word, const char *fmt, ...) _printf_(4, 5);
#define cli_fail(verb, code, ...) cli_refuse(verb, code, "failed", __VA_ARGS__)

/* Parse an argument: a number from `least` to `most` (0 and COUNT_MOST of base/size.h: any number), and a number
 * from 0 to 1. `what` names the argument. NULL, an option that was not given, leaves *ret. Return EXIT_OK, or
 * EXIT_USAGE after a message. */
int cli_number(const char *verb, const char *what, const char *text_or_null, uint64_t least, uint64_t most,
               uint64_t *ret);
int cli_fraction(const char *verb, const char *what, const char *text_or_null, double *ret);

/* With --json a verb always prints an object: when the verb ends with another code than EXIT_OK and has printed no
 * object, cli_end() prints {"version":1,"error":{"code","message"}} about the first error. The code is "usage" from
 * cli_usage(), "failed" from cli_fail(), the word from cli_refuse(). */
void cli_wants_json(void);
/* The arguments behind the verb, ended by NULL, kept by the caller. On a wrong command line --json counts even when
 * the verb has not read the option yet. */
void cli_asked(char **argv);
/* Prints the error object when due; returns code. */
int cli_end(int code);

/* Writes a verb's output to `file`, or to standard output for NULL or "-". Returns EXIT_OK, or EXIT_NOT or EXIT_FULL
 * after a message. */
int cli_write(const char *verb, const char *file, const char *text, size_t n);
/* The same with a line of canonical JSON of o (stolen). */
int cli_write_json(const char *verb, const char *file, json_t *o);
/* Flushes standard output and reports a failure (a full disk, a closed pipe): returns code, or EXIT_NOT. */
int cli_done(const char *verb, int code);
/* Prints the text for --help; returns like cli_done(). */
int cmd_run_turn(int argc, char **argv); /* cmd-run.c: `lethe session turn` */
int cli_help(const char *verb, const char *text);

/* Calls step() each 100 ms, for output that goes on, until an error of step(), *ret_end (false at the begin), SIGINT or
 * SIGTERM, or the loss of standard output or its reader. Returns the error or 0; then *ret_code is the exit code, after
 * a message. */
int cli_follow(const char *verb, int (*step)(void *userdata, bool *ret_end), void *userdata, int *ret_code);

/* Text for a terminal: characters that command the terminal (control characters, marks of writing direction) are
 * written as \uXXXX, an equal text in JSON. */
void print_safe(FILE *out, const char *text, size_t n);
/* Text for a terminal, to standard output. */
void cli_print_safe(const char *text);
/* A line: `before` as it is, and a text of JSON for a terminal (nothing for another value). */
void cli_print_text(const char *before, const json_t *text);
/* A line of canonical JSON. Returns 0 or -errno. */
int print_json(FILE *out, const json_t *v);
/* The same without the end of the line: a part of a longer answer. */
int print_json_part(FILE *out, const json_t *v);
/* Prints o (stolen) as a verb's answer. Returns code, or EXIT_NOT after a message. */
int cli_print(const char *verb, int code, json_t *o);
/* Prints o (stolen) as an item of a series, which is not the answer. Returns 0 or -errno. */
int cli_print_item(json_t *o);

/* A member of o: NULL or 0 when absent or of another type. */
static inline const char *cli_text(const json_t *o, const char *key) {
        return json_text(json_object_get(o, key));
}
static inline uint64_t cli_u64(const json_t *o, const char *key) {
        uint64_t v = 0;

        json_get_u64(json_object_get(o, key), &v);
        return v;
}
static inline json_int_t cli_integer(const json_t *o, const char *key) {
        return json_integer_value(json_object_get(o, key));
}
