/* Runs: supervisor, CLI. Reads secrets of a policy: a file, a variable of this process, or the output of a
 * command. A secret is 8 to 4095 bytes of printable ASCII; a newline at the end is cut. */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "policy/policy.h"

enum { SECRET_E_BAD = 1 }; /* with a message of source and rule, never of the secret */

/* Locked memory, not dumped, and overwritten by sodium_free(); NULL: not possible. */
void *secret_memory(size_t n);
/* Reads the secret into out, with a NUL. Returns 0, SECRET_E_BAD, -ENOMEM. The caller overwrites out. */
int secret_read(const char *name, const json_t *source, char *out, size_t room, Diag *reterr);
/* A confined lethe-serve executes no program: runs the policy's commands ahead, and keeps the outputs in locked memory for
 * secret_read(), for later policies, too. Returns as secret_read(). */
int secret_keep(const Policy *p, Diag *reterr);
/* From now on secret_read() executes no command. */
void secret_no_commands(void);
