/* Runs: supervisor. Shortens libseccomp's program. */
#pragma once

#include "base/util.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

/* Replaces the program by a shorter program with the same answer to every call. arch: the AUDIT_ARCH_* that the program
 * judges; all other architectures get one answer. Returns 0 (the program may be unchanged); -EOPNOTSUPP for unknown
 * instructions, -EINVAL, -ENOMEM: unchanged. */
int filter_shorten(uint32_t arch, struct sock_filter **filter, size_t *n_filter);
