/* Runs: skill. The verbs of lethe-slot for what an agent reads to act. */
#pragma once

#include "command.h"

int own_do_context(Lethe *l, const CommandArgs *a);
int own_do_kernel(Lethe *l, const CommandArgs *a);
int own_do_notes(Lethe *l, const CommandArgs *a);
int own_do_pending(Lethe *l, const CommandArgs *a);
/* The number of --after, 0 without the option. Returns 0, or a negative exit code after a message. */
int own_after(const CommandArgs *a, unsigned long long *ret);
