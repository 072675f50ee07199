/* A thread that ends keeps no line back: its buffer is thread-local, and a daemon has a thread for each invocation. The
 * sanitizer's run finds the leak. */
#include "base/log.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

typedef struct Left {
        int fd;
        bool kept, ended;
} Left;

static void *work(void *arg) {
        Left *l = arg;

        log_to(l->fd, LOG_LEVEL_NOTE);
        log_hold();
        log_note("a line that nobody reads");
        log_let_go(-1, 0); /* the pipe is full: later lines are kept */
        l->kept = log_is_kept();
        log_end_thread();
        l->ended = !log_is_kept();
        return NULL;
}

Test(log, a_thread_leaves_nothing) {
        char full[4096] = {0};
        int p[2];
        Left l;
        pthread_t t;

        cr_assert_eq(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
        while (write(p[1], full, sizeof(full)) > 0)
                ;
        l = (Left){.fd = p[1]};
        cr_assert_eq(pthread_create(&t, NULL, work, &l), 0);
        cr_assert_eq(pthread_join(t, NULL), 0);
        cr_assert(l.kept, "the control: a line was kept");
        cr_assert(l.ended);
        close(p[0]);
        close(p[1]);
}
