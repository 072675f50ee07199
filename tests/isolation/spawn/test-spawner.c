/* A Spawner's own promises; that a region is the same by its ways is test-spawn.c's and test-spawn-life.c's. */
#include "base/child-registry.h"
#include "base/clock.h"
#include "base/id.h"
#include "schema/zygote.h"
#include "spawn/find.h"
#include "spawn/guard.h"
#include "spawn/spawner-private.h"
#include "spawn/spawner.h"
#include "tests/isolation/spawn/region.h"
#include "tests/support/child.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define THREADS 6
#define EACH 8

static size_t count_fds(void) {
        DIR *d = opendir("/proc/self/fd");
        size_t n = 0;

        while (d && readdir(d))
                n++;
        if (d)
                closedir(d);
        return n;
}

/* The parent of `pid` as the kernel sees it, and the name in *comm. */
static pid_t parent_of(pid_t pid, char comm[32]) {
        char path[64], text[512], *p;
        int fd, ppid = 0;
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        closep(&fd);
        if (n <= 0)
                return -1;
        text[n] = 0;
        p = strrchr(text, ')');
        if (!p || sscanf(text, "%*d (%31[^)]", comm) != 1 || sscanf(p + 1, " %*c %d", &ppid) != 1)
                return -1;
        return ppid;
}

/* Our children of that name. */
static size_t children(const char *name, pid_t *ret, size_t max) {
        DIR *d = opendir("/proc");
        struct dirent *e;
        size_t n = 0;

        while (d && (e = readdir(d))) {
                pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
                char comm[32] = "";

                if (pid > 0 && n < max && parent_of(pid, comm) == getpid() && strcmp(comm, name) == 0)
                        ret[n++] = pid;
        }
        if (d)
                closedir(d);
        return n;
}

typedef struct Ticket {
        Spawner *spawner;
        char store[64];
        unsigned good;
} Ticket;

static RunEnd run_program(Spawner *s, const char *store, const char *program, const char *const *argv) {
        const RunWish w = {.argv = argv, .program = program, .store = store};
        RunEnd e;

        region_try_with(s, &w, &e);
        return e;
}

static RunEnd run(Spawner *s, const char *store, const char *const *argv) {
        return run_program(s, store, LETHE_PROBE, argv);
}

/* A program that does not stand in a folder where a region has its own, as a build in /tmp does: an ordinary user's supervisor cannot hand that in. */
static RunEnd run_true(Spawner *s, const char *store) {
        return run_program(s, store, "/usr/bin/true", (const char *const[]){"true", NULL});
}

static void *take_turns(void *arg) {
        Ticket *t = arg;

        for (int i = 0; i < EACH; i++) {
                RunEnd e = run(t->spawner, t->store, (const char *const[]){LETHE_PROBE, "exit", "7", NULL});

                t->good += e.start == 0 && e.prove == 0 && !e.hung && WIFEXITED(e.status) && WEXITSTATUS(e.status) == 7;
        }
        return NULL;
}

static int many_at_once(void *arg) {
        Spawner *s = NULL;
        Ticket turns[THREADS];
        pthread_t threads[THREADS];
        size_t fds = count_fds();
        Diag d = {};

        find_set_folder(LETHE_BUILD_DIR);
        child_check(spawner_new(&s, &d) == 0);
        for (size_t i = 0; i < THREADS; i++) {
                turns[i] = (Ticket){.spawner = s};
                snprintf(turns[i].store, sizeof(turns[i].store), "%s", region_store());
                child_check(pthread_create(&threads[i], NULL, take_turns, &turns[i]) == 0);
        }
        for (size_t i = 0; i < THREADS; i++) {
                child_check(pthread_join(threads[i], NULL) == 0);
                child_say("thread %zu: %u", i, turns[i].good);
                child_check(turns[i].good == EACH);
        }
        spawner_free(s);
        child_check(count_fds() == fds);
        child_check(region_no_child_is_left());
        return 0;
}

Test(spawner, many_threads_ask_at_once_and_nothing_is_left) {
        child_assert_ok(many_at_once, NULL);
}

/* The first region of a view is made by all steps, the others in copies of one root: that one, the host's zygote and the guards' stay,
 * and their spares. */
static int templates(void *arg) {
        const char *store = region_store();
        Spawner *s = NULL;
        pid_t pids[8];
        Diag d = {};
        RunEnd e;

        find_set_folder(LETHE_BUILD_DIR);
        child_check(spawner_new(&s, &d) == 0);
        child_check(children("lethe-worker", pids, ARRAY_SIZE(pids)) == 2 && children("lethe-guard", pids, ARRAY_SIZE(pids)) == 2);
        e = run_true(s, store);
        child_check(e.start == 0 && e.status == 0 && children("lethe-worker", pids, ARRAY_SIZE(pids)) == 2);
        for (int i = 0; i < 3; i++) {
                e = run_true(s, store);
                child_check(e.start == 0 && e.status == 0 && children("lethe-worker", pids, ARRAY_SIZE(pids)) == 3);
        }
        spawner_forget(s);
        for (int i = 0; i < 24000 && children("lethe-worker", pids, ARRAY_SIZE(pids)) != 2; i++)
                poll(NULL, 0, 5);
        child_check(children("lethe-worker", pids, ARRAY_SIZE(pids)) == 2);
        spawner_free(s);
        child_check(region_no_child_is_left());
        return 0;
}

Test(spawner, a_view_that_comes_again_has_its_root_ready) {
        child_assert_ok(templates, NULL);
}

/* One that waits in a pool for its arguments sees the same. */
static int templates_of_a_pool(void *arg) {
        const RunWish w = {.argv = (const char *const[]){"sh", "-c", "exit 5", NULL}, .program = "/usr/bin/dash", .store = region_store(), .later = true};
        Spawner *s = NULL;
        pid_t pids[8];
        Diag d = {};
        RunEnd e;

        find_set_folder(LETHE_BUILD_DIR);
        spawner_eager = true;
        child_check(spawner_new(&s, &d) == 0);
        for (int i = 0; i < 2; i++) {
                region_try_with(s, &w, &e);
                child_check(e.start == 0 && WEXITSTATUS(e.status) == 5 && children("lethe-worker", pids, ARRAY_SIZE(pids)) == 3);
        }
        e = run_program(s, w.store, w.program, (const char *const[]){"sh", "-c", "exit 6", NULL});
        child_check(e.start == 0 && WEXITSTATUS(e.status) == 6 && children("lethe-worker", pids, ARRAY_SIZE(pids)) == 3);
        spawner_free(s);
        return 0;
}

Test(spawner, a_region_that_waits_in_a_pool_is_made_in_the_same_root) {
        child_assert_ok(templates_of_a_pool, NULL);
}

/* I-3: what one region left in a root that others see a copy of would be seen here. */
static int marks(void *arg) {
        static const char *const leave[] = {"sh", "-c", "for f in / /work /tmp /etc /dev /usr /lethe; do echo mark >$f/mark; done; mkdir /work/d /tmp/d; exit 0", NULL};
        static const char *const look[] = {"sh", "-c", "for f in / /work /tmp /etc /dev /usr /lethe; do [ ! -e $f/mark ] || echo $f; done; [ ! -e /work/d ] && echo clean", NULL};
        const char *store = region_store();
        Spawner *s = NULL;
        Diag d = {};

        find_set_folder(LETHE_BUILD_DIR);
        spawner_eager = true;
        child_check(spawner_new(&s, &d) == 0);
        for (int i = 0; i < 2; i++) {
                RunEnd e = run(s, store, leave);

                child_check(e.start == 0 && e.status == 0);
                e = run(s, store, look);
                child_say("%s", e.out);
                child_check(e.start == 0 && strcmp(e.out, "clean\n") == 0);
        }
        spawner_free(s);
        return 0;
}

Test(spawner, nothing_of_a_region_is_in_the_next_one_of_its_view) {
        child_assert_ok(marks, NULL);
}

/* A file that was replaced is not the one that a root showed before; what is written to one that stays is seen at once. */
static int replaced(void *arg) {
        TempDir t = TEMP_DIR_NULL;
        char path[PATH_MAX + 16], other[PATH_MAX + 16];
        FileGrant f = {path, (char *)"/data", false};
        const RunWish w = {.argv = (const char *const[]){"cat", "/data", NULL}, .files = &f, .n_files = 1, .store = region_store()};
        static const char *const texts[] = {"one", "two", "three"};
        Spawner *s = NULL;
        Diag d = {};

        child_check(temp_dir_make(&t) == 0);
        child_check(chmod(t.path, 0755) == 0);
        snprintf(path, sizeof(path), "%s/data", t.path);
        snprintf(other, sizeof(other), "%s/other", t.path);
        find_set_folder(LETHE_BUILD_DIR);
        spawner_eager = true;
        child_check(spawner_new(&s, &d) == 0);
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                int fd = open(i == 1 ? path : other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
                RunEnd e;

                child_check(fd >= 0 && write(fd, texts[i], strlen(texts[i])) == (ssize_t)strlen(texts[i]));
                close(fd);
                child_check(i == 1 || rename(other, path) == 0);
                region_try_with(s, &w, &e);
                child_say("%s: %s", texts[i], e.out);
                child_check(e.start == 0 && strcmp(e.out, texts[i]) == 0);
        }
        spawner_free(s);
        temp_dir_remove(&t);
        return 0;
}

Test(spawner, a_replaced_file_is_another_view) {
        child_assert_ok(replaced, NULL);
}

/* All of them are killed again and again: a region starts all the same, by whatever way is left, and has its guard. */
static int nurseries_die(void *arg) {
        const char *store = region_store();
        Spawner *s = NULL;
        size_t fds = count_fds();
        Diag d = {};

        find_set_folder(LETHE_BUILD_DIR);
        spawner_eager = true;
        child_check(spawner_new(&s, &d) == 0);
        for (int i = 0; i < 6; i++) {
                pid_t pids[8];
                size_t n = children("lethe-worker", pids, ARRAY_SIZE(pids));
                Guard g = GUARD_NULL;
                RunEnd e;

                n += children("lethe-guard", pids + n, ARRAY_SIZE(pids) - n);
                child_check(n >= 2);
                while (n > 0)
                        child_check(kill(pids[--n], SIGKILL) == 0);
                e = run(s, store, (const char *const[]){LETHE_PROBE, "exit", "3", NULL});
                child_say("%d: %d %s", i, e.start, e.message);
                child_check(e.start == 0 && WIFEXITED(e.status) && WEXITSTATUS(e.status) == 3);
                child_check(guard_start(&g, s, &d) == 0 && g.pid > 1);
                guard_deinit(&g);
        }
        spawner_free(s);
        child_check(count_fds() == fds);
        child_check(region_no_child_is_left());
        return 0;
}

Test(spawner, a_zygote_that_dies_is_started_again) {
        child_assert_ok(nurseries_die, NULL);
}

/* One that dies between making a process and saying so: nobody knows of that one. */
static int strays(void *arg) {
        const ZygoteOrder o = {.version = ZYGOTE_VERSION, .n_fds = 2};
        int fds[2];
        union {
                struct cmsghdr head;
                char space[CMSG_SPACE(sizeof(fds))];
        } control = {};
        struct iovec v = {.iov_base = (void *)&o, .iov_len = sizeof(o)};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
        pid_t pids[8];
        Zygote n;
        Diag d = {};

        find_set_folder(LETHE_BUILD_DIR);
        zygote_init(&n);
        child_check(zygote_start(&n, "lethe-guard", &d) == 0);
        child_check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
        control.head = (struct cmsghdr){CMSG_LEN(sizeof(fds)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
        child_check(sendmsg(n.control, &m, MSG_NOSIGNAL) == sizeof(o));
        for (int i = 0; i < 24000 && children("lethe-guard", pids, ARRAY_SIZE(pids)) != 2; i++)
                poll(NULL, 0, 5);
        zygote_end(&n);
        child_check(waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) == 0); /* it is there, dead or alive */
        zygote_reap_strays();
        child_check(region_no_child_is_left());
        return 0;
}

Test(spawner, what_a_dead_zygote_made_and_told_nobody_of_is_reaped) {
        child_assert_ok(strays, NULL);
}

/* I-34: the same of a zygote that died after the keeper's last look: the end of the Spawner leaves nothing. */
static int strays_at_the_end(void *arg) {
        int fds[2], pidfd = -1;
        Spawner *s = NULL;
        pid_t pid = 0;
        Diag d = {};

        find_set_folder(LETHE_BUILD_DIR);
        child_check(spawner_new(&s, &d) == 0);
        child_check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
        child_check(spawner_guard(s, fds, ARRAY_SIZE(fds), &pid, &pidfd) == 0);
        child_registry_forget(pid);
        spawner_free(s);
        child_check(waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD);
        return 0;
}

Test(spawner, the_end_leaves_no_process_that_nobody_knows_of) {
        child_assert_ok(strays_at_the_end, NULL);
}

/* Said to a zygote directly: what makes no sense is refused, makes no process, and is no end. */
static int bad_orders(void *arg) {
        static const struct {
                const char *what;
                uint32_t version, n_fds;
                uint64_t flags;
                size_t n_sent, size;
        } rows[] = {
                {"another version", ZYGOTE_VERSION + 1, 1, 0, 1, sizeof(ZygoteOrder)},
                {"no descriptor", ZYGOTE_VERSION, 0, 0, 0, sizeof(ZygoteOrder)},
                {"fewer than said", ZYGOTE_VERSION, 3, 0, 2, sizeof(ZygoteOrder)},
                {"more than said", ZYGOTE_VERSION, 1, 0, 2, sizeof(ZygoteOrder)},
                {"CLONE_VM", ZYGOTE_VERSION, 1, 0x100, 1, sizeof(ZygoteOrder)},
                {"CLONE_UNTRACED", ZYGOTE_VERSION, 1, 0x800000, 1, sizeof(ZygoteOrder)},
                {"another zygote with a namespace", ZYGOTE_VERSION, 1, ZYGOTE_AGAIN | 0x10000000, 1, sizeof(ZygoteOrder)},
                {"another zygote with two descriptors", ZYGOTE_VERSION, 2, ZYGOTE_AGAIN, 2, sizeof(ZygoteOrder)},
                {"too short", ZYGOTE_VERSION, 1, 0, 1, sizeof(ZygoteOrder) - 1},
        };
        Zygote n;
        Diag d = {};

        find_set_folder(LETHE_BUILD_DIR);
        zygote_init(&n);
        child_check(zygote_start(&n, "lethe-worker", &d) == 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                const ZygoteOrder o = {.version = rows[i].version, .n_fds = rows[i].n_fds, .flags = rows[i].flags};
                const int fds[] = {0, 1};
                ZygoteAnswer a = {0};
                union {
                        struct cmsghdr head;
                        char space[CMSG_SPACE(sizeof(fds))];
                } control = {};
                struct iovec v = {.iov_base = (void *)&o, .iov_len = rows[i].size};
                struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
                pid_t pids[8];

                if (rows[i].n_sent > 0) {
                        control.head = (struct cmsghdr){CMSG_LEN(rows[i].n_sent * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
                        memcpy(CMSG_DATA(&control.head), fds, rows[i].n_sent * sizeof(int));
                        m.msg_control = &control;
                        m.msg_controllen = CMSG_SPACE(rows[i].n_sent * sizeof(int));
                }
                child_say("%s", rows[i].what);
                child_check(sendmsg(n.control, &m, MSG_NOSIGNAL) == (ssize_t)rows[i].size);
                child_check(recv(n.control, &a, sizeof(a), 0) == sizeof(a) && a.error > 0 && a.pid <= 0);
                child_check(children("lethe-worker", pids, ARRAY_SIZE(pids)) == 1);
        }
        zygote_end(&n);
        return 0;
}

Test(spawner, an_order_that_makes_no_sense_is_refused) {
        child_assert_ok(bad_orders, NULL);
}
