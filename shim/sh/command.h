/* Runs: skill. What the commands for shell scripts share: one call of the pipe a process. */
#pragma once

#include "lethe.h"

enum { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2, EXIT_NO_PIPE = 3 };

extern const char *const command_name;

/* Each says what is wrong on standard error and returns how the process ends. */
int command_usage(const char *why);
int command_failed(Lethe *l, int r);
/* The value to be sent, as JSON text: a word, or standard input for "-" and NULL. Owned. NULL: said why. */
char *command_value(const char *word, int is_text);
/* The text of the JSON string that stands at p, whatever follows it. */
int command_put_text(const char *p);
/* A value on standard output; raw: a string's text. */
int command_print(const char *value, int raw);
/* Standard output is written out: r, or what became of it. */
int command_end(int r);
