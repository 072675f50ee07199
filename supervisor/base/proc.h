/* Runs: supervisor. Facts of the kernel about a process, from small files of /proc. */
#pragma once

#include "base/proc-path.h"
#include "base/util.h"

#include <sys/types.h>

/* Reads a small file of /proc whole, and appends a NUL. Returns bytes, or 0 when the process has gone. */
size_t proc_read(const char *path, char *out, size_t room);
/* The same for a file `status`, without its line of groups: a user may have 65,536 groups, and fields stand behind. */
size_t proc_read_status(const char *path, char *out, size_t room);
/* The number behind `key` in a text; 0 without the key. */
uint64_t proc_number(const char *text, const char *key, int base);
/* The same in a file `status`, or another small file of /proc. */
uint64_t proc_field(const char *path, const char *key, int base);
/* Fields of /proc/PID/stat behind the name (proc_pid_stat(5)): ret[0] is field 3, the state's letter, ret[n - 1] field
 * n + 2. False when the process has gone, or has fewer. A negative number wraps. */
bool proc_stat(pid_t pid, uint64_t *ret, size_t n);
/* Field 22: 0 without such a process. Together with the pid, the number identifies a process until the reboot. */
uint64_t proc_start_ticks(pid_t pid);
/* The kernel's random id of this boot, 36 characters and a line feed, read once per process; "" when missing. */
const char *proc_boot_id(void);
/* The AppArmor profile of this process, NUL-terminated and without its mode (apparmor(7)); false when unconfined. */
bool proc_apparmor(char *ret, size_t room);
/* The pid, in the supervisor's PID namespace, of a process there or below. -ESRCH when the process has gone. */
pid_t pidfd_pid(int pidfd);
