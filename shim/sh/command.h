/* Runs: skill. The shared part of the commands for shell scripts: each process makes a single call over the pipe. */
#pragma once

#include "lethe.h"

enum { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2, EXIT_NO_PIPE = 3 };
#define COMMAND_WORDS_MAX 258

typedef struct CommandArgs {
        const char *words[COMMAND_WORDS_MAX + 1]; /* the verb and the arguments, without options; NULL-terminated */
        size_t n;
        const char *of, *name, *level, *entry, *input, *role, *state, *after, *id, *type, *refs, *reason, *scope;
        const char *query, *section, *at;
        long long expect, limit, lane, bytes; /* -1: any; 0: the supervisor's limit */
        long long record_version; /* 0: the present one */
        double confidence;       /* -1: no confidence */
        int raw, version, text;
} CommandArgs;

typedef enum CommandKind {
        COMMAND_TEXT,
        COMMAND_FLAG,
        COMMAND_VERSION,
        COMMAND_LIMIT,
        COMMAND_CONFIDENCE,
} CommandKind;

typedef struct CommandOption {
        const char *name;
        CommandKind kind;
        size_t at; /* offset of the field in CommandArgs */
} CommandOption;

typedef struct CommandVerb {
        const char *name;
        size_t least, most; /* words after the verb */
        int (*run)(Lethe *l, const CommandArgs *a); /* returns the exit code */
} CommandVerb;

/* Of each command; tables end with a NULL name. */
extern const char command_name[], command_help[];
extern const CommandOption command_options[];
extern const CommandVerb command_verbs[];

/* Both print the error on standard error and return the exit code. */
int command_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int command_failed(Lethe *l, int r);
/* The exit code for a call's result r; after success prints a line or a number. */
int command_result(Lethe *l, int r);
int command_line(Lethe *l, int r, const char *line);
int command_number(Lethe *l, int r, uint64_t n);
/* The value to send, as JSON text: a word, or standard input for "-" and NULL. Owned; NULL after a message. */
char *command_value(const char *word, int is_text);
/* Prints the text of the JSON string at p; further text behind the string is ignored. */
int command_put_text(const char *p);
/* Prints a value; raw: a string's text. */
int command_print(const char *value, int raw);
