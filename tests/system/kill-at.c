// Runs: tests. kill-at N COMMAND [ARG]...: kills the command (SIGKILL) at the entry of its Nth call that may change a file: nothing of the call is done.
// N 0: kills nothing. Says on standard error the name and number of the call, for N 0 of each call, and at last "calls K"; ends as the command does, 137
// after the kill. With KILL_AT_DO in the environment: that command of the shell runs before the call, and nothing is killed. All threads are
// traced; the processes that the command makes are not.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
        long nr;
        const char *name;
} changes[] = {
#ifdef SYS_mkdir
        {SYS_mkdir, "mkdir"},     {SYS_rmdir, "rmdir"},           {SYS_unlink, "unlink"},       {SYS_rename, "rename"},
        {SYS_chmod, "chmod"},     {SYS_link, "link"},             {SYS_symlink, "symlink"},
#endif
        {SYS_mkdirat, "mkdirat"}, {SYS_unlinkat, "unlinkat"},     {SYS_renameat, "renameat"},   {SYS_renameat2, "renameat2"},
        {SYS_fchmod, "fchmod"},   {SYS_fchmodat, "fchmodat"},     {SYS_fchown, "fchown"},       {SYS_fchownat, "fchownat"},
        {SYS_write, "write"},     {SYS_pwrite64, "pwrite64"},     {SYS_writev, "writev"},       {SYS_pwritev, "pwritev"},
        {SYS_fsync, "fsync"},     {SYS_fdatasync, "fdatasync"},   {SYS_ftruncate, "ftruncate"}, {SYS_fallocate, "fallocate"},
        {SYS_symlinkat, "symlinkat"}, {SYS_linkat, "linkat"},
};

static const char *change(pid_t task) {
        struct __ptrace_syscall_info s;

        if (ptrace(PTRACE_GET_SYSCALL_INFO, task, sizeof(s), &s) <= 0 || s.op != PTRACE_SYSCALL_INFO_ENTRY)
                return NULL;
        for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++)
                if ((long)s.entry.nr == changes[i].nr)
                        return changes[i].name;
        if (s.entry.nr == SYS_openat && s.entry.args[2] & (O_CREAT | O_TRUNC))
                return "openat";
        return NULL;
}

int main(int argc, char **argv) {
        const char *meanwhile = getenv("KILL_AT_DO");
        long at = argc > 2 ? atol(argv[1]) : -1, n = 0;
        int status = 0, code = 1;
        pid_t child, task;

        if (at < 0)
                return 2;
        child = fork();
        if (child == 0) {
                ptrace(PTRACE_TRACEME, 0, 0, 0);
                raise(SIGSTOP);
                execv(argv[2], argv + 2);
                _exit(127);
        }
        if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
            ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC) < 0) {
                perror("kill-at");
                return 2;
        }
        ptrace(PTRACE_SYSCALL, child, 0, 0);
        while ((task = waitpid(-1, &status, __WALL)) > 0) {
                int sig = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
                const char *name;

                if (!WIFSTOPPED(status)) {
                        if (task == child)
                                code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
                        continue;
                }
                if (sig == (SIGTRAP | 0x80) && (name = change(task)) && (++n == at || at == 0)) {
                        fprintf(stderr, "%s %ld\n", name, n);
                        if (at > 0 && !meanwhile) {
                                kill(child, SIGKILL);
                                continue;
                        }
                        if (at > 0 && system(meanwhile) != 0)
                                return 2;
                }
                /* a new thread begins with a stop; else a signal is the command's own */
                ptrace(PTRACE_SYSCALL, task, 0, sig == (SIGTRAP | 0x80) || status >> 16 || sig == SIGSTOP ? 0 : sig);
        }
        if (at == 0)
                fprintf(stderr, "calls %ld\n", n);
        return code;
}
