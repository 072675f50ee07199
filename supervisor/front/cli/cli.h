/* Runs: CLI. What the verbs share: exit codes, the store's place, errors, options. */
#pragma once

#include "base/diag.h"
#include "base/util.h"

/* Exit codes of Lethe itself. Verbs that judge end 0 intact, 1 not, 2 usage; where something can hold and still state less than was hoped for, 3. */
enum {
        EXIT_OK = 0,
        EXIT_NOT = 1,         /* a check did not hold; a named thing is not there */
        EXIT_USAGE = 2,       /* the command line is wrong */
        EXIT_LESS = 3,        /* certificate --verify: it holds, and what it states is less than memory proved overwritten */
        EXIT_FULL = 4,        /* there is no room on a disk: nothing is said about what was to be judged */
        EXIT_TIMED_OUT = 124, /* run: wall budget */
        EXIT_LETHE = 125,     /* run: Lethe itself or its policy; nothing ran */
        EXIT_NOT_EXECUTABLE = 126,
        EXIT_NOT_FOUND = 127,
};

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

/* `lethe audit regions`, cmd-audit-regions.c. */
int cmd_audit_regions(int argc, char **argv);
extern const char audit_regions_help[];
/* `lethe audit derived`, else `lethe audit touched`. */
int cmd_audit_flow(int argc, char **argv, bool derived);
extern const char audit_flow_help[];
int audit_help(void);

/* Prints "lethe VERB: message" and the hint for --help; returns EXIT_USAGE. */
int cli_usage(const char *verb, const char *fmt, ...) _printf_(2, 3);
/* Prints "lethe VERB: message"; returns code. */
int cli_fail(const char *verb, int code, const char *fmt, ...) _printf_(3, 4);
/* The same with a word for programs: "no_store" … */
int cli_refuse(const char *verb, int code, const char *word, const char *fmt, ...) _printf_(4, 5);

/* A number in an argument, from `least` to `most` (0 and COUNT_MOST of base/size.h: any), and one from 0 to 1. `what` names it. Return EXIT_OK, or
 * EXIT_USAGE having said what it is not. */
int cli_number(const char *verb, const char *what, const char *text, uint64_t least, uint64_t most, uint64_t *ret);
int cli_fraction(const char *verb, const char *what, const char *text, double *ret);

/* With --json a verb prints an object whatever comes of it: main() prints {"version":1,"error":{"code","message"}} where the verb did not end with EXIT_OK and
 * has printed no object itself. It tells of what was said first: by cli_usage() as "usage", by cli_fail() as "failed". */
void cli_wants_json(void);
/* The arguments behind the verb, NULL behind the last, for as long as it runs: on a command line that is wrong, --json counts also where nobody came
 * to read it. */
void cli_asked(char **argv);
/* An object was printed (print_json() says so); it was one of several, and is not the answer. */
void cli_answered(void);
void cli_goes_on(void);
/* Returns code, having printed what is wanted. */
int cli_end(int code);

/* Writes what a verb made: to `file`, or to standard output when it is NULL or "-". Returns EXIT_OK, or EXIT_NOT having said why. */
int cli_write(const char *verb, const char *file, const char *text, size_t n);
/* Flushes standard output and says so when that fails (a full disk, a closed pipe): returns code, or EXIT_NOT. */
int cli_done(const char *verb, int code);
