/* Runs: CLI. Options of `lethe run` from a file of variables or a profile, and options of other tools. */
#pragma once

#include "base/diag.h"
#include "base/json.h"

/* Words for an option of docker, podman, bwrap, firejail or srt: the way to the same end here. option: long, without
 * dashes; letter: short. NULL: not an option of these tools. */
const char *run_option_of_others(const char *option);
const char *run_option_of_letter(int letter, const char **ret_option);

/* How many letters are missing, too many, other ones or swapped with their neighbour. Words of up to RUN_OPTION_MAX
 * bytes; longer ones are far away. */
#define RUN_OPTION_MAX 31
unsigned run_option_away(const char *option, const char *word, size_t n_word);

/* Takes an option with its value (NULL: without); returns 0, a positive code with a message, -errno. */
typedef int RunOptionTake(void *userdata, const char *option, const char *value, Diag *reterr);
enum { RUN_OPTION_E_FILE = 100 }; /* the file is refused: message with the file, the field, the value and the rule */

/* --env-file: lines NAME=VALUE, or NAME with the caller's value; empty lines and lines with # are left out. */
int run_option_env_file(const char *file, RunOptionTake *take, void *userdata, Diag *reterr);
/* --profile: the options of $XDG_CONFIG_HOME/lethe/profiles/NAME.json. without_here: --here of the command line counts.
 * *ret_shown: {"name","file","options"} for --dry-run, new reference. */
int run_option_profile(const char *name, bool without_here, RunOptionTake *take, void *userdata, json_t **ret_shown,
                       Diag *reterr);
