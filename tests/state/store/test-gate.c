/* The gate before LMDB's lock for writers (store/write-lock.h). Processes of the command line that stop: tests/front/cli/stopped.py. */
#include "store/write-lock.h"
#include "base/clock.h"
#include "tests/support/store-fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process that writes, until it is killed. */
static pid_t hold(const StoreFixture *f) {
        int holds[2];
        char byte;
        pid_t pid;

        cr_assert_eq(pipe(holds), 0);
        pid = fork();
        if (pid == 0) {
                Diag d = {};
                Store *s;
                Txn *t;

                if (store_open(f->dir, STORE_WRITE, &s, &d) != 0 || store_begin(s, true, &t, &d) != 0 || write(holds[1], "", 1) != 1)
                        _exit(1);
                for (;;)
                        pause();
        }
        cr_assert_eq(read(holds[0], &byte, 1), 1);
        close(holds[0]);
        close(holds[1]);
        return pid;
}

typedef struct Waiter {
        StoreFixture *f;
        int result;
        uint64_t ended;
} Waiter;

static void *wait_for_it(void *arg) {
        Waiter *w = arg;
        Txn *t = NULL;

        w->result = store_begin(w->f->store, true, &t, &w->f->d);
        w->ended = clock_mono_usec();
        store_abort(t);
        return NULL;
}

// A writer that works is waited for as long as it takes. When it is stopped after that, its half a minute begins then: nothing of the wait before counts.
Test(gate, long_work_is_no_stop) {
        _cleanup_store_fixture_ StoreFixture f;
        Waiter w = {.f = &f};
        uint64_t stopped;
        pthread_t thread;
        pid_t pid;

        gate_stopped_usec = 1500000;
        store_fixture_init(&f, STORE_WRITE);
        pid = hold(&f);
        cr_assert_eq(pthread_create(&thread, NULL, wait_for_it, &w), 0);
        usleep(2 * (GATE_SAY_USEC + gate_stopped_usec));
        cr_assert_eq(w.ended, 0, "a writer that works was given up: %s", f.d.text);
        stopped = clock_mono_usec();
        cr_assert_eq(kill(pid, SIGSTOP), 0);
        pthread_join(thread, NULL);
        cr_assert_eq(w.result, STORE_E_LOCKED);
        cr_assert(strstr(f.d.text, "waited too long for process ") && strstr(f.d.text, " and is stopped"), "%s", f.d.text);
        cr_assert_geq(w.ended - stopped, gate_stopped_usec);
        /* It works again. */
        w = (Waiter){.f = &f};
        cr_assert_eq(kill(pid, SIGCONT), 0);
        cr_assert_eq(pthread_create(&thread, NULL, wait_for_it, &w), 0);
        usleep(2 * GATE_SAY_USEC);
        cr_assert_eq(w.ended, 0, "it was given up for its stop before: %s", f.d.text);
        cr_assert_eq(kill(pid, SIGKILL), 0);
        cr_assert_eq(waitpid(pid, NULL, 0), pid);
        pthread_join(thread, NULL);
        cr_assert_eq(w.result, 0, "%s", f.d.text);
}

// No gate can be had, and nobody is kept from writing; the next write of the same process has it again.
Test(gate, is_tried_again) {
        _cleanup_store_fixture_ StoreFixture f;
        char path[PATH_MAX], in[PATH_MAX];
        struct stat st;

        store_fixture_init(&f, STORE_WRITE);
        snprintf(path, sizeof(path), "%.4000s/run/gate", f.dir);
        cr_assert_lt(stat(path, &st), 0);
        cr_assert_eq(mkdir(path, 0700), 0);
        snprintf(in, sizeof(in), "%.4000s/run/gate/in", f.dir); /* an empty folder would be put away */
        cr_assert_eq(mkdir(in, 0700), 0);
        store_abort(store_fixture_begin(&f, true));
        cr_assert_eq(rmdir(in), 0);
        cr_assert_eq(rmdir(path), 0);
        store_abort(store_fixture_begin(&f, true));
        cr_assert_eq(stat(path, &st), 0, "it is not tried again");
        cr_assert(S_ISREG(st.st_mode));
}
