/* What a region gives back while it runs (I-30): looked at through a second hold on the same physical pages, so that what is counted is what
 * the kernel got back. Each way is tried with the hook, and without it to see that the secret would have stayed. */
#include "base/clock.h"
#include "base/io.h"
#include "region/region.h"
#include "scrub/release_hook/hook.h"
#include "spawn/find.h"
#include "tests/isolation/scrub/guarded.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SHOWN 65536
#define WAIT_USEC 30000000

static uint64_t secret(void) {
        volatile uint64_t low = 0x0badcafe;

        return 0x5ec2e7a2UL << 32 | low;
}

typedef struct Freer {
        Grant grant;
        Region region;
        ReleaseHook *early;
        uint64_t deadline;
        char scratch[64]; /* in memory, as a region's is */
        char store[300];  /* the guard's folder */
        pid_t pid;
        int mirror, words, go;
        char line[256];
        bool told; /* that somebody was not held */
} Freer;

static int filter_file(const FilterInput *in) {
        struct sock_filter *f;
        size_t n;
        int fd = memfd_create("filter", 0);

        cr_assert_eq(filter_compile(in, &f, &n), 0);
        cr_assert(fd >= 0 && write(fd, f, n * sizeof(*f)) == (ssize_t)(n * sizeof(*f)) && lseek(fd, 0, SEEK_SET) == 0);
        free(f);
        return fd;
}

/* What the guard says. */
static bool hear_guard(Freer *f) {
        bool attached = false;
        GuardAnswer a;

        while (guard_answer(&f->region.guard, &a) == 1) {
                attached |= a.kind == GUARD_ATTACHED && a.error == 0;
                if (f->early && a.kind == GUARD_PAUSED)
                        hook_paused(f->early, (uint32_t)a.code, a.error);
                if (f->early && a.kind == GUARD_RESUMED)
                        hook_resumed(f->early, (uint32_t)a.code, a.error);
        }
        return attached;
}

/* The loop of a supervisor, until the program says something. */
static const char *serve(Freer *f) {
        uint64_t give_up = clock_mono_usec() + WAIT_USEC;
        size_t n = 0;

        for (;;) {
                struct pollfd p[3] = {{f->words, POLLIN, 0}, {f->region.notify.fd, POLLIN, 0}, {f->region.guard.control, POLLIN, 0}};
                uint64_t now = clock_mono_usec();

                cr_assert(now < give_up, "nothing for 30 s");
                cr_assert(poll(p, 3, f->deadline <= now ? 0 : f->deadline == UINT64_MAX ? 100 : 1) >= 0);
                if (f->early && f->deadline <= clock_mono_usec())
                        hook_tick(f->early, clock_mono_usec());
                if (f->early && !f->told && f->region.notify.freed.unheld > 0) /* what it waits for may come now */
                        f->told = write(f->go, "x", 1) == 1;
                if (p[2].revents)
                        hear_guard(f);
                if (p[1].revents) {
                        Breach b;
                        bool denied;

                        cr_assert_eq(region_notify_ready(&f->region.notify, p[1].revents, &b, &denied), 0);
                }
                if (p[0].revents) {
                        ssize_t k = read(f->words, f->line + n, 1);

                        cr_assert_eq(k, 1, "the program ended: %.*s", (int)n, f->line);
                        if (f->line[n] == '\n') {
                                f->line[n] = 0;
                                return f->line;
                        }
                        n = MIN(n + 1, sizeof(f->line) - 1);
                }
        }
}

static void settle(Freer *f) {
        uint64_t until = clock_mono_usec() + WAIT_USEC;

        while (f->early && f->deadline != UINT64_MAX && clock_mono_usec() < until) {
                hook_tick(f->early, clock_mono_usec());
                hear_guard(f);
                usleep(1000);
        }
}

static void start_guard(Freer *f) {
        GuardOrder o = {.version = GUARD_VERSION, .kind = GUARD_ATTACH, .passes = 1, .tier = TIER_NAMESPACES, .program = f->pid, .region = "r-test"};
        _cleanup_close_ int spec = memfd_create("spec", MFD_CLOEXEC); /* the guard gets a descriptor of its own */
        char *folder = strdup(getenv("LETHE_GUARD"));
        Diag d = {};

        snprintf(f->store, sizeof(f->store), "%s/early-XXXXXX", getenv("TMPDIR") ?: "/tmp");
        cr_assert(folder && strrchr(folder, '/') && mkdtemp(f->store));
        *strrchr(folder, '/') = 0;
        find_set_folder(folder);
        cr_assert_eq(guard_start(&f->region.guard, NULL, &d), 0, "%s", d.text);
        cr_assert_eq(guard_attach(&f->region.guard, &o, f->store, spec, f->region.budget.scratch, &d), 0, "%s", d.text);
        for (int i = 0; i < 10000 && !hear_guard(f); i++)
                usleep(1000);
        cr_assert(f->region.guard.attached);
        free(folder);
}

static void start(Freer *f, const char *way, bool hook, unsigned passes) {
        int filter, mirror[2], words[2], go[2], listener, pidfd;
        char *argv[] = {getenv("LETHE_FREER"), (char *)way, NULL};

        *f = (Freer){.scratch = "/dev/shm/lethe-test-XXXXXX", .deadline = UINT64_MAX};
        cr_assert(mkdtemp(f->scratch));
        f->grant = (Grant){.discipline = DISCIPLINE_MULTIPASS, .passes = passes, .budget.memory_bytes = 1ULL << 30};
        cr_assert_eq(region_init(&f->region, &f->grant), 0);
        filter_input(&f->grant, TIER_NAMESPACES, true, true, true, true, &f->region.notify.filter);
        filter = filter_file(&f->region.notify.filter);
        cr_assert(pipe2(mirror, O_CLOEXEC) == 0 && pipe2(words, O_CLOEXEC) == 0 && pipe2(go, O_CLOEXEC) == 0);
        f->pid = fork();
        if (f->pid == 0) {
                int fds[] = {filter, mirror[1], words[1], go[0]};

                for (int i = 0; i < 4; i++) /* out of the way first */
                        fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 100);
                for (int i = 0; i < 4; i++)
                        dup2(fds[i], 3 + i);
                if (chdir(f->scratch) == 0)
                        execv(argv[0], argv);
                _exit(127);
        }
        close(filter);
        close(mirror[1]);
        close(words[1]);
        close(go[0]);
        f->mirror = mirror[0];
        f->words = words[0];
        f->go = go[1];
        f->region.notify.fd = -1;
        f->region.spawned.pid = getpid();
        f->region.budget.scratch = open(f->scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
        cr_assert_eq(sscanf(serve(f), "listener %d", &listener), 1, "%s", f->line);
        pidfd = (int)syscall(SYS_pidfd_open, f->pid, 0);
        f->region.notify.tier = TIER_NAMESPACES;
        cr_assert_eq(region_notify_start(&f->region.notify, (int)syscall(SYS_pidfd_getfd, pidfd, listener, 0), getpid()), 0);
        close(pidfd);
        if (hook)
                start_guard(f);
        if (hook)
                cr_assert_eq(hook_start(&f->region, &f->deadline, &f->early), 0);
        f->told = !hook;
        cr_assert_eq(write(f->go, "xx", hook ? 1 : 2), hook ? 1 : 2);
}

/* Ends it. Returns the words of 8 bytes that are the secret, of what was in the pages. */
static size_t end(Freer *f) {
        uint64_t words[512];
        size_t found = 0;
        ssize_t n;

        /* What it has still is the guard's affair. */
        cr_assert_eq(fcntl(f->mirror, F_SETFL, O_NONBLOCK), 0);
        while ((n = read(f->mirror, words, sizeof(words))) > 0)
                for (ssize_t i = 0; i < n / 8; i++)
                        found += words[i] == secret();
        kill(f->pid, SIGKILL);
        cr_assert_eq(waitpid(f->pid, NULL, 0), f->pid);
        close(f->mirror);
        close(f->words);
        close(f->go);
        if (f->early)
                hook_finish(f->early);
        hook_free(f->early);
        if (*f->store) {
                guard_wait_empty(&f->region.guard, WAIT_USEC);
                guard_deinit(&f->region.guard);
                temp_remove_tree(AT_FDCWD, f->store);
        }
        closep(&f->region.budget.scratch);
        region_notify_deinit(&f->region.notify);
        region_budget_deinit(&f->region.budget);
        temp_remove_tree(AT_FDCWD, f->scratch);
        return found;
}

static const struct Way {
        const char *way;
        size_t left;     /* secrets that have to stay: somebody still uses the pages */
        uint64_t least;  /* bytes given back; at least */
        bool unheld;     /* somebody is not to stand */
        uint64_t lost;   /* bytes that cannot be overwritten, but are counted */
        uint64_t user_lost; /* the same where the supervisor is an ordinary user; 0: no other */
} ways[] = {
        {"munmap", 0, SHOWN, 0},
        {"large", 0, 40 << 20, 0},
        {"protected", 0, SHOWN, 0},
        {"brk", 0, SHOWN, 0},
        {"dontneed", 0, SHOWN, 0},
        {"free", 0, SHOWN, 0},
        {"fixed", 0, SHOWN, 0},
        {"fixed-fails", SHOWN / 8, 0, 0},
        {"mremap", 0, SHOWN, 0},
        {"mremap-over", 0, SHOWN, 0},
        {"mremap-second", 0, SHOWN, 0},
        {"fixed-wrong", SHOWN / 8, 0, 0},
        {"droppable", SHOWN / 8, 0, 0},
        {"brk-under", SHOWN / 8, 0, true},
        {"unaligned", SHOWN / 8, 0, 0},
        {"shared", 0, 2 * SHOWN, 0},
        {"shared-part", SHOWN / 8, 0, 0, 0, SHOWN},
        {"shared-advice", SHOWN / 8, 0, 0},
        {"shared-halves", 0, 2 * SHOWN, 0, 0, SHOWN},
        {"shared-unseen", 0, 2 * SHOWN, 0, 0, 2 * SHOWN},
        {"shared-remove", 0, SHOWN, 0},
        {"shared-fork", 0, 0, 0}, /* the child looks that it is there, and its end takes it */
        {"fork", SHOWN / 8, 0, 0},
        {"threads", 0, SHOWN, 0},
        {"threads-write", 0, SHOWN, 0},
        {"vfork-free", 0, SHOWN, 0},
        {"vfork", SHOWN / 8, 0, 0},
        {"exec", 0, SHOWN, 0},
        {"exec-fails", SHOWN / 8, 0, 0},
        {"copies", SHOWN / 8, 0, 0, SHOWN},
        {"file-unlink", 0, 2 * SHOWN, 0},
        {"file-read-only", 0, 2 * SHOWN, 0},
        {"file-unlink-open", 0, 2 * SHOWN, 0},
        {"file-unlink-mapped", 0, 2 * SHOWN, 0},
        {"file-other-name", SHOWN / 8, 0, 0},
        {"file-rename", 0, 2 * SHOWN, 0},
        {"file-dotdot", 0, 2 * SHOWN, 0},
        {"file-deep", SHOWN / 8, 0, true},
        {"file-truncate", 0, 2 * SHOWN, 0},
        {"file-ftruncate", 0, 2 * SHOWN, 0},
        {"file-ftruncate-part", SHOWN / 8, SHOWN - 4096, 0},
        {"file-hole", 0, SHOWN, 0},
        {"file-open", 0, 2 * SHOWN, 0},
        {"file-tail", 0, 4096, 0},
        {"file-race", 0, 2 * SHOWN, 0},
        {"file-two-names", 0, 2 * SHOWN, 0},
        {"file-remove", SHOWN / 8, 0, 0},
        {"file-fifo", SHOWN / 8, 0, true},
        {"file-unnamed", SHOWN / 8, 0, 0},
};

static void try_way(const struct Way *w, unsigned passes) {
        bool user = geteuid() != 0 && w->user_lost > 0;
        size_t left, stays = user ? SHOWN / 8 : w->left;
        FreedCount *c;
        Freer f;

        start(&f, w->way, true, passes);
        cr_expect_str_eq(serve(&f), "done", "%s: %s", w->way, f.line);
        settle(&f);
        left = end(&f);
        c = &f.region.notify.freed;
        cr_expect_eq(left, stays, "%s, %u passes: %zu secrets are left, not %zu", w->way, passes, left, stays);
        cr_expect((user || c->overwritten >= w->least) && c->bytes == c->overwritten + c->missed, "%s: %lu bytes, %lu overwritten", w->way,
                  (unsigned long)c->bytes, (unsigned long)c->overwritten);
        cr_expect(c->missed == c->kept + (user ? w->user_lost : w->lost), "%s: %lu bytes missed", w->way, (unsigned long)c->missed);
        cr_expect_eq(c->exec_failed, 0, "%s", w->way);
        cr_expect((c->unheld > 0) == w->unheld, "%s: %lu calls unheld", w->way, (unsigned long)c->unheld);
        cr_expect(c->racing == 0, "%s: %lu bytes racing", w->way, (unsigned long)c->racing);
}

/* I-30: nothing of what was given back is left, and nothing is taken from who still uses it. */
Test(early, with_the_hook) {
        for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
                for (unsigned passes = 1; passes <= 4; passes += 3)
                        try_way(&ways[i], passes);
}

/* The same by /proc/PID/pagemap alone: Linux before 6.7. */
Test(early, without_pagemap_scan) {
        guarded_lose_scan();
        cr_assert(!guarded_has_scan());
        for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
                try_way(&ways[i], 1);
}

/* Without the hook every one of them would have stayed: the look sees what it is there to see. */
Test(early, without_the_hook) {
        for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
                static const char *const except[] = {"file-unnamed", "free", "file-remove", "droppable"};
                bool skip = false;
                size_t left;
                Freer f;

                for (size_t k = 0; k < ARRAY_SIZE(except); k++)
                        skip |= strcmp(ways[i].way, except[k]) == 0;
                if (skip)
                        continue; /* what the program looks at is the hook's own doing */
                start(&f, ways[i].way, false, 1);
                cr_expect_str_eq(serve(&f), "done", "%s: %s", ways[i].way, f.line);
                left = end(&f);
                cr_expect_eq(left, SHOWN / 8, "%s: %zu secrets are left", ways[i].way, left);
        }
}

/* A file outside the scratch is the operator's: what the region does to it is not undone, nor added to. */
Test(early, nothing_outside) {
        Freer f;

        start(&f, "file-ftruncate", true, 3);
        hook_free(f.early); /* as if the scratch were elsewhere */
        closep(&f.region.budget.scratch);
        f.region.budget.scratch = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        cr_assert_eq(hook_start(&f.region, &f.deadline, &f.early), 0);
        cr_expect_str_eq(serve(&f), "done");
        settle(&f);
        cr_expect_eq(end(&f), SHOWN / 8);
        cr_expect_eq(f.region.notify.freed.files, 0);
}
