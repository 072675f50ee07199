/* Runs: CLI. Reading from a descriptor into a LineReader. */
#pragma once

#include "base/line.h"

/* Reads once, at most a chunk; a descriptor without bytes now changes nothing. *ret_over: the end, or an error of the
 * descriptor. Returns 0 or -ENOMEM. */
int lines_read(int fd, LineReader *r, bool *ret_over);
