/* Runs: supervisor. What the kernel says of one process, in small files of /proc. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

/* Reads a small file of /proc whole, and ends it with a NUL. Returns bytes, or 0 when the process has gone. */
size_t proc_read(const char *path, char *out, size_t room);
/* Fields of /proc/PID/stat behind the name (proc_pid_stat(5)): ret[0] is field 3, the state's letter, ret[n - 1] field
 * n + 2. False when the process has gone, or has fewer. A negative number wraps. */
bool proc_stat(pid_t pid, uint64_t *ret, size_t n);
/* Field 22: 0 when there is no such process. With the pid it names a process for as long as the machine runs. */
uint64_t proc_start_ticks(pid_t pid);
/* The kernel's random id of this boot, 36 characters and a line feed, read once for each process; "" when there is
 * none. */
const char *proc_boot_id(void);
/* The AppArmor profile that confines this process, NUL-terminated and without its mode (apparmor(7)); false when none
 * does. */
bool proc_apparmor(char *ret, size_t room);
/* The number that a process of ours, or one below our PID namespace, has among ours. Returns it, or -ESRCH when it has
 * gone. */
pid_t pidfd_pid(int pidfd);
