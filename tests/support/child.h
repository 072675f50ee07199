/* Runs: tests. A function in a child process of its own, for code with namespaces, seccomp, resource limits or close_range:
 * Criterion's test process has two threads and a channel to its runner, which such code would break. The child never uses
 * cr_assert (a failing one hangs the runner); it checks with child_check, and the test looks at how it ended. */
#pragma once

#include "base/util.h"

#define CHILD_CHECK_FAILED 99 /* the exit status of a failed child_check */

typedef struct ChildEnd {
        int status;      /* exit status 0..255; -1 when a signal ended it */
        int signal;      /* that signal, 0 when none */
        char text[1024]; /* what child_say and child_check told, NUL-terminated */
} ChildEnd;

/* Forks, calls body(arg) and ends the child with what it returns, without atexit handlers. The child dies with its parent.
 * Waits for it. Returns 0 or -errno. */
int child_run(int (*body)(void *arg), void *arg, ChildEnd *ret);

/* In the child: tells the test something. */
void child_say(const char *fmt, ...) _printf_(1, 2);
/* In the child: ends it when the condition does not hold, and says which. errno is shown. */
#define child_check(condition)                                                                                         \
        do {                                                                                                           \
                if (!(condition))                                                                                      \
                        child_check_failed(__FILE__, __LINE__, #condition);                                            \
        } while (0)
_noreturn_ void child_check_failed(const char *file, int line, const char *condition);
/* In the child: ends it now; writes the coverage counters, which plain _exit loses. */
_noreturn_ void child_exit(int status);

/* In the test: asserts that body(arg) ended with 0 and shows its words when it did not. Needs criterion.h. */
#define child_assert_ok(body, arg)                                                                                     \
        do {                                                                                                           \
                ChildEnd end_;                                                                                         \
                int r_ = child_run(body, arg, &end_);                                                                  \
                cr_assert(r_ == 0, "child_run: %d", r_);                                                               \
                cr_assert(end_.status == 0, "child: status %d, signal %d: %s", end_.status, end_.signal, end_.text);   \
        } while (0)
