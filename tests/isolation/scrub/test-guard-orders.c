/* What the supervisor orders (I-13, I-33), its own death, and that the record is never better than the truth (I-16). */
#include "base/proc.h"
#include "tests/isolation/scrub/guarded.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define MB (1024ULL * 1024)
#define LONG_MSEC 30000

static bool silent(Guarded *g) {
        GuardAnswer a;

        return recv(g->control, &a, sizeof(a), MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* Every process is killed where it is, and then overwritten. */
static void freeze_and_scrub(Guarded *g) {
        guarded_order(g, GUARD_FREEZE);
        guarded_expect(g, GUARD_FROZEN);
        guarded_order(g, GUARD_SCRUB);
        guarded_expect(g, GUARD_EMPTY);
}

/* Frozen: everything is at its exit stop, with its memory as it was, however often it is killed; scrubbed only when that is ordered. */
Test(guard_orders, frozen_until_scrub) {
        GUARDED_USERS {
                char line[64];
                Guarded g;

                guarded_start(&g, 0, 1, 2, -1, (const char *[]){"keep", "spin", NULL});
                guarded_go(&g);
                guarded_hear(&g, line, sizeof(line));
                guarded_order(&g, GUARD_FREEZE);
                guarded_expect(&g, GUARD_FROZEN);
                for (int i = 0; i < 10; i++)
                        cr_expect(kill(g.traced, SIGKILL) == 0);
                cr_expect(guarded_secrets(g.prey) >= MB / 8);
                cr_expect(g.evidence->state == GUARD_STATE_FROZEN && g.evidence->processes == 0 && g.evidence->frozen_usec > 0);
                cr_expect(silent(&g));
                guarded_order(&g, GUARD_SCRUB);
                guarded_expect(&g, GUARD_EMPTY);
                cr_expect(guarded_secrets(g.prey) == 0 && guarded_missed(&g) == 0);
                cr_expect(g.evidence->empty_usec >= g.evidence->frozen_usec);
                guarded_end(&g);
        }
}

static void await_letter(pid_t pid, char letter) {
        uint64_t f[1] = {0};

        for (int ms = 0; ms < LONG_MSEC && (!proc_stat(pid, f, ARRAY_SIZE(f)) || f[0] != (uint64_t)letter); ms++)
                usleep(1000);
        cr_assert_eq(f[0], (uint64_t)letter, "%c, not %c", (char)f[0], letter);
}

/* Who is to stand does, nobody but the guard sees it, and it goes on where it was. One that is killed meanwhile is overwritten. */
Test(guard_orders, stands_until_it_may_walk) {
        for (int how = 0; how < 2; how++)
                GUARDED_USERS {
                        char line[64];
                        Guarded g;
                        int status;

                        guarded_start(&g, 0, 1, 2, -1, (const char *[]){"spin", NULL});
                        guarded_go(&g);
                        guarded_hear(&g, line, sizeof(line));
                        guarded_order(&g, GUARD_STAND);
                        await_letter(g.prey, 't');
                        cr_expect_eq(waitpid(g.prey, &status, WUNTRACED | WNOHANG), 0);
                        if (how == 0) {
                                guarded_order(&g, GUARD_WALK);
                                await_letter(g.prey, 'R');
                                cr_expect_eq(waitpid(g.prey, &status, WUNTRACED | WCONTINUED | WNOHANG), 0);
                        }
                        freeze_and_scrub(&g);
                        cr_expect(g.evidence->bytes_overwritten > MB && guarded_missed(&g) == 0);
                        guarded_end(&g);
                }
}

static void watch(Guarded *g, uint64_t machine, uint64_t growth, uint32_t flags) {
        const GuardOrder o = {.version = GUARD_VERSION, .kind = GUARD_WATCH, .flags = flags, .machine = machine, .growth = growth, .watch_usec = 1000};

        cr_assert_eq(send(g->control, &o, sizeof(o), MSG_NOSIGNAL), (ssize_t)sizeof(o));
}

/* The guard has taken all that was ordered before. */
static void await_orders(Guarded *g) {
        GuardAnswer a;

        guarded_order(g, GUARD_PAUSE); /* of nobody */
        cr_assert(recv(g->control, &a, sizeof(a), 0) == sizeof(a) && a.kind == GUARD_PAUSED, "not %u", a.kind);
}

/* The machine has given out more than `growth`: always, or never. */
Test(guard_orders, stands_when_the_machine_has_given_out_more) {
        GUARDED_USERS {
                char line[64];
                Guarded g;

                guarded_start(&g, 0, 1, 2, -1, (const char *[]){"spin", NULL});
                guarded_go(&g);
                guarded_hear(&g, line, sizeof(line));
                watch(&g, 0, UINT64_MAX, 0);
                await_orders(&g);
                await_letter(g.prey, 'R');
                watch(&g, 0, 1, 0);
                guarded_expect(&g, GUARD_STOOD);
                await_letter(g.prey, 't');
                guarded_order(&g, GUARD_WALK);
                await_letter(g.prey, 'R');
                await_orders(&g);
                cr_expect(silent(&g), "it is said once");
                watch(&g, 0, 1, 0);
                guarded_expect(&g, GUARD_STOOD);
                freeze_and_scrub(&g);
                cr_expect(g.evidence->bytes_overwritten > MB && guarded_missed(&g) == 0);
                guarded_end(&g);
        }
}

static int processors(pid_t pid) {
        cpu_set_t set;

        cr_assert_eq(sched_getaffinity(pid, sizeof(set), &set), 0);
        return CPU_COUNT(&set);
}

Test(guard_orders, leaves_one_processor_to_others) {
        const int all = processors(0);
        char line[64];
        Guarded g;

        guarded_start(&g, 0, 1, 2, -1, (const char *[]){"spin", NULL});
        guarded_go(&g);
        guarded_hear(&g, line, sizeof(line));
        watch(&g, 0, UINT64_MAX, GUARD_SPARE);
        await_orders(&g);
        cr_expect_eq(processors(g.prey), MAX(all - 1, 1));
        watch(&g, 0, 0, 0);
        await_orders(&g);
        cr_expect_eq(processors(g.prey), all);
        freeze_and_scrub(&g);
        guarded_end(&g);
}

/* A stopped job is no one that stands: it stays stopped until SIGCONT. */
Test(guard_orders, a_stopped_job_stays_so) {
        char line[64];
        Guarded g;
        int status;

        guarded_start(&g, 0, 1, 2, -1, (const char *[]){"stop", NULL});
        guarded_go(&g);
        guarded_hear(&g, line, sizeof(line));
        cr_assert(waitpid(g.prey, &status, WUNTRACED) == g.prey && WIFSTOPPED(status));
        guarded_order(&g, GUARD_STAND);
        guarded_order(&g, GUARD_WALK);
        await_orders(&g);
        cr_expect_eq(waitpid(g.prey, &status, WCONTINUED | WNOHANG), 0);
        kill(g.prey, SIGCONT);
        guarded_hear(&g, line, sizeof(line));
        cr_expect(atoi(line) == 1);
        guarded_expect(&g, GUARD_EMPTY);
        guarded_end(&g);
}

/* With hold, a program that ends by itself waits for the supervisor; its children do not. */
Test(guard_orders, held_at_its_own_end) {
        int status;
        Guarded g;

        guarded_start(&g, GUARD_HOLD, 1, 2, -1, (const char *[]){"fork", "3", NULL});
        guarded_go(&g);
        cr_expect(guarded_expect(&g, GUARD_ENDING) == 0);
        cr_expect(g.evidence->processes == 3);
        cr_expect(waitpid(g.prey, &status, WNOHANG) == 0);
        cr_expect(guarded_secrets(g.traced) >= 2 * MB / 8 && silent(&g));
        freeze_and_scrub(&g);
        cr_expect(waitpid(g.prey, &status, 0) == g.prey && status == 0);
        cr_expect(g.evidence->processes == 4 && guarded_missed(&g) == 0);
        guarded_end(&g);

        guarded_start(&g, GUARD_HOLD, 1, 2, -1, (const char *[]){"segv", NULL});
        guarded_go(&g);
        cr_expect((guarded_expect(&g, GUARD_ENDING) & 0x7f) == SIGSEGV);
        guarded_order(&g, GUARD_SCRUB);
        guarded_expect(&g, GUARD_EMPTY);
        guarded_end(&g);
}

static GuardFile read_file(Guarded *g) {
        int fd = openat(g->run, "r-test" GUARD_FILE, O_RDONLY | O_CLOEXEC);
        GuardFile f;

        cr_assert(fd >= 0 && read(fd, &f, sizeof(f)) == sizeof(f));
        close(fd);
        return f;
}

/* The supervisor dies at some moment: running, frozen, or with an empty region whose evidence nobody recorded. */
static void orphan(int moment) {
        _cleanup_temp_dir_ TempDir dir = TEMP_DIR_NULL;
        char line[64], path[PATH_MAX + 8], text[16] = "", spec[sizeof(GUARDED_SPEC)];
        GuardFile f;
        int fd, lock, status;
        Guarded g;

        cr_assert(temp_dir_make(&dir) == 0 && fchmod(dir.fd, 0777) == 0);
        snprintf(path, sizeof(path), "%s/d", dir.path);
        cr_assert(mkdir(path, 0777) == 0 && chown(path, guarded_uid, guarded_gid()) == 0);
        snprintf(path, sizeof(path), "%s/d/kept", dir.path);
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        cr_assert(fd >= 0 && write(fd, "a secret word", 13) == 13 && fchown(fd, guarded_uid, guarded_gid()) == 0 && fchmod(fd, 0) == 0);
        guarded_start(&g, 0, 1, 1, dir.fd, (const char *[]){"keep", moment == 2 ? "exit" : "spin", NULL});
        guarded_go(&g);
        if (moment < 2)
                guarded_hear(&g, line, sizeof(line));
        if (moment == 1) {
                guarded_order(&g, GUARD_FREEZE);
                guarded_expect(&g, GUARD_FROZEN);
        }
        if (moment == 2)
                guarded_expect(&g, GUARD_EMPTY);
        lock = openat(g.run, "lock", O_RDWR | O_CLOEXEC);
        cr_expect(flock(lock, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK);
        close(g.control);
        g.control = -1;
        cr_assert(waitpid(g.guard, &status, 0) == g.guard && status == 0);
        g.guard = -1;
        cr_expect(flock(lock, LOCK_EX | LOCK_NB) == 0, "the lock is free when the guard is gone");
        close(lock);
        cr_expect(guarded_secrets(g.prey) == 0);
        f = read_file(&g);
        cr_expect(memcmp(f.magic, GUARD_FILE_MAGIC, 8) == 0 && strcmp(f.region, "r-test") == 0);
        cr_expect(f.evidence.state == GUARD_STATE_EMPTY && f.evidence.facts & GUARD_FACT_ORPHANED);
        cr_expect(f.evidence.processes == 1 && f.evidence.bytes_overwritten >= MB / 2 && f.evidence.scratch_files == 1, "uid %d, moment %d: %lu processes, %lu bytes, %lu files", (int)guarded_uid,
                  moment, f.evidence.processes, f.evidence.bytes_overwritten, f.evidence.scratch_files);
        cr_expect(f.evidence.bytes_held == f.evidence.bytes_overwritten);
        cr_expect(pread(g.spec, spec, sizeof(spec), 0) == sizeof(spec));
        for (size_t i = 0; i < sizeof(spec); i++)
                cr_expect(spec[i] == 0, "the launch spec, byte %zu", i);
        cr_expect(pread(fd, text, 13, 0) == 13 && memcmp(text, "\0\0\0\0\0\0\0\0\0\0\0\0\0", 13) == 0);
        close(fd);
        guarded_end(&g);
}

Test(guard_orders, supervisor_dies) {
        GUARDED_USERS for (int moment = 0; moment < 3; moment++)
                orphan(moment);
}

/* The guard dies: what it traced dies with it, and its evidence is not complete. */
Test(guard_orders, guard_dies) {
        char line[64];
        Guarded g;
        int status;

        guarded_start(&g, 0, 1, 2, -1, (const char *[]){"spin", NULL});
        guarded_go(&g);
        guarded_hear(&g, line, sizeof(line));
        kill(g.guard, SIGKILL);
        cr_assert(waitpid(g.guard, NULL, 0) == g.guard);
        g.guard = -1;
        cr_assert(waitpid(g.prey, &status, 0) == g.prey && WTERMSIG(status) == SIGKILL);
        cr_expect(g.evidence->state == GUARD_STATE_ATTACHED && g.evidence->bytes_overwritten == 0);
        close(g.control);
        g.control = -1;
        guarded_end(&g);
}

/* A process outside keeps pages in common with the traced one. They are not written (nothing outside the region ever is: that process looks
 * at them), and they are said to be missed. */
Test(guard_orders, what_another_process_keeps_is_missed) {
        GUARDED_USERS for (guarded_without_scan = false;; guarded_without_scan = true) {
                char line[64];
                Guarded g;

                guarded_start(&g, 0, 1, 2, -1, (const char *[]){"outside", NULL});
                guarded_go(&g);
                guarded_expect(&g, GUARD_EMPTY);
                cr_expect(g.evidence->bytes_missed[GUARD_MISSED_SHARED] >= MB - 64 * 1024, "%lu",
                          g.evidence->bytes_missed[GUARD_MISSED_SHARED]);
                cr_expect(g.evidence->bytes_overwritten >= 64 * 1024 && g.evidence->bytes_overwritten < MB);
                cr_expect(g.evidence->bytes_held == g.evidence->bytes_overwritten + guarded_missed(&g));
                guarded_hear(&g, line, sizeof(line)); /* it saw its own pages as they were */
                guarded_end(&g);
                if (guarded_without_scan)
                        break;
        }
}

/* What it has in common with a process outside may be what that one had before, and told so: then that is no loss, and is counted apart. */
Test(guard_orders, what_a_warm_interpreter_keeps_is_its_own) {
        GUARDED_USERS {
                char line[64];
                Guarded g;

                guarded_start(&g, GUARD_WARM, 1, 2, -1, (const char *[]){"outside", NULL});
                guarded_go(&g);
                guarded_expect(&g, GUARD_EMPTY);
                cr_expect(guarded_missed(&g) == 0 && g.evidence->warm_bytes >= MB - 64 * 1024, "%lu", g.evidence->warm_bytes);
                cr_expect(g.evidence->bytes_overwritten >= 64 * 1024 && g.evidence->bytes_overwritten < MB);
                guarded_hear(&g, line, sizeof(line)); /* it saw its own pages as they were */
                guarded_end(&g);
        }
}

/* An order of another version, a second program, a name that leads out of the folder. */
Test(guard_orders, bad_orders) {
        static const GuardOrder bad[] = {
                {.version = GUARD_VERSION + 1, .kind = GUARD_ATTACH, .passes = 1, .program = 1, .region = "r"},
                {.version = GUARD_VERSION, .kind = GUARD_ATTACH, .passes = 1, .program = 1, .region = "../r"},
                {.version = GUARD_VERSION, .kind = GUARD_ATTACH, .passes = 1, .program = 1, .region = "r"},
        };
        Guarded g;

        guarded_start(&g, 0, 1, 2, -1, (const char *[]){"exit", NULL});
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                GuardAnswer a;

                cr_assert(send(g.control, &bad[i], sizeof(bad[i]), MSG_NOSIGNAL) == sizeof(bad[i]));
                cr_assert(recv(g.control, &a, sizeof(a), 0) == sizeof(a));
                cr_expect(a.kind == GUARD_ATTACHED && a.error == EPROTO);
        }
        cr_assert(send(g.control, "x", 1, MSG_NOSIGNAL) == 1);
        guarded_go(&g);
        guarded_expect(&g, GUARD_EMPTY);
        guarded_end(&g);
}
