/* The guard alone, with programs of many processes: pages in common by fork, address spaces in common by vfork, shared memory, deleted files,
 * and what ends faster than one can look (I-12, I-29, I-34). */
#include "spawn/guard.h"
#include "tests/isolation/scrub/guarded.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MB (1024ULL * 1024)

static int end_status(Guarded *g) {
        int status;

        cr_assert(waitpid(g->prey, &status, 0) == g->prey);
        return status;
}

static void run(Guarded *g, const char *way, const char *arg) {
        guarded_start(g, 0, 1, 2, -1, (const char *[]){way, arg, NULL});
        guarded_go(g);
        guarded_expect(g, GUARD_EMPTY);
        cr_expect(end_status(g) == 0, "%s %s: its own checks failed", way, arg);
        cr_expect(g->evidence->bytes_held == g->evidence->bytes_overwritten && guarded_missed(g) == 0, "%s %s: missed %lu", way, arg,
                  guarded_missed(g));
}

Test(guard_tree, common_pages_are_left_to_the_last_process) {
        GUARDED_USERS {
                Guarded g;

                run(&g, "fork", "20");
                cr_expect(g.evidence->processes == 21);
                /* the parent's 2 MB once, and what each child wrote: not 20 times everything */
                cr_expect(g.evidence->bytes_overwritten > 2 * MB + 20 * 128 * 1024 && g.evidence->bytes_overwritten < 15 * MB, "%lu",
                          g.evidence->bytes_overwritten);
                guarded_end(&g);
                run(&g, "orphan", "");
                cr_expect(g.evidence->processes == 2 && g.evidence->bytes_overwritten > 2 * MB);
                guarded_end(&g);
        }
}

Test(guard_tree, chains_of_exec_and_vfork) {
        GUARDED_USERS {
                Guarded g;

                run(&g, "exec", "20");
                cr_expect(g.evidence->processes == 1 && g.evidence->exec_images == 20 - (g.evidence->exec_images == 19), "%lu images",
                          g.evidence->exec_images);
                guarded_end(&g);
                run(&g, "vfork", "3"); /* checks itself that a child's end leaves its parent's memory alone */
                cr_expect(g.evidence->processes == 1 + 2 + 4 + 8 && g.evidence->exec_images == 0, "%lu", g.evidence->processes);
                guarded_end(&g);
                run(&g, "thread-exec", "");
                cr_expect(g.evidence->processes == 1);
                guarded_end(&g);
        }
}

Test(guard_tree, shared_memory_is_left_to_the_last_process) {
        GUARDED_USERS {
                Guarded g;

                run(&g, "shared", "5"); /* checks itself that a child's end leaves it alone */
                cr_expect(g.evidence->shared_bytes == MB, "%lu", g.evidence->shared_bytes);
                guarded_end(&g);
                run(&g, "shared-absent", "w");
                cr_expect(g.evidence->shared_bytes == MB, "%lu", g.evidence->shared_bytes);
                guarded_end(&g);
                run(&g, "shared-sparse", ""); /* */
                cr_expect(g.evidence->shared_bytes == 5 * 4096 && guarded_missed(&g) == 0, "%lu, %lu missed", g.evidence->shared_bytes, guarded_missed(&g));
                guarded_end(&g);
        }
}

/* Shared memory that nobody may write any more: only root reaches it, and an ordinary user's guard says that it did not. */
Test(guard_tree, read_only_shared_memory) {
        GUARDED_USERS {
                Guarded g;

                guarded_start(&g, 0, 1, 2, -1, (const char *[]){"shared-absent", "r", NULL});
                guarded_go(&g);
                guarded_expect(&g, GUARD_EMPTY);
                if (guarded_uid == 0)
                        cr_expect(g.evidence->shared_bytes == MB && guarded_missed(&g) == 0);
                else
                        cr_expect(g.evidence->bytes_missed[GUARD_MISSED_DENIED] == MB && guarded_missed(&g) == MB);
                guarded_end(&g);
        }
}

/* Sixty-four terabytes of addresses, on a kernel that can only be asked about each page of them. */
Test(guard_tree, reserved_addresses_are_not_looked_at_one_by_one) {
        for (int i = 0; guarded_user(i); i++) {
                Guarded g;

                guarded_without_scan = true;
                run(&g, "reserve", "");
                cr_expect(g.evidence->bytes_overwritten > 2 * MB);
                guarded_end(&g);
                guarded_without_scan = false;
        }
}

static bool huge_pages(void) {
        char text[64] = "";
        int fd = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);

        if (fd >= 0) {
                cr_assert(read(fd, text, sizeof(text) - 1) > 0);
                close(fd);
        }
        return *text && !strstr(text, "[never]");
}

/* The kernel copies what is written of a huge page that fork shared, and the old bytes stay where they were: this is seen, and said (I-16).
 * In a region there are none. */
Test(guard_tree, moved_pages_are_missed) {
        Guarded g;

        guarded_uid = geteuid();
        guarded_start(&g, 0, 1, 2, -1, (const char *[]){"huge-fork", "", NULL});
        guarded_go(&g);
        guarded_expect(&g, GUARD_EMPTY);
        cr_expect(g.evidence->bytes_held == g.evidence->bytes_overwritten + guarded_missed(&g));
        cr_expect((g.evidence->frames_checked > 0) == (geteuid() == 0));
        cr_expect(!huge_pages() || geteuid() != 0 || g.evidence->bytes_missed[GUARD_MISSED_MOVED] > 0);
        guarded_end(&g);
}

/* Either all stand before the first is overwritten, or the first goes while others come. */
static void end_all(Guarded *g, bool stand_first) {
        guarded_order(g, GUARD_FREEZE);
        if (stand_first)
                guarded_expect(g, GUARD_FROZEN);
        guarded_order(g, GUARD_SCRUB);
        if (!stand_first)
                guarded_expect(g, GUARD_FROZEN);
        guarded_expect(g, GUARD_EMPTY);
}

#define STAND_OR_NOT for (int stand = 0; stand < 2; stand++)

static void start_twins(Guarded *g, int n, unsigned tier) {
        char count[16], line[64];

        snprintf(count, sizeof(count), "%d", n);
        guarded_start(g, 0, 1, tier, -1, (const char *[]){"twins", count, NULL});
        guarded_go(g);
        for (int i = 0; i < 2 * n; i++)
                guarded_hear(g, line, sizeof(line));
}

/* All of them end at once, and most of them in one round: what only two of them have in common, what is shared by none of the others, and what
 * nobody read is found all the same (I-12, I-29). */
Test(guard_tree, what_few_of_many_have) {
        enum { TWINS = 6 };

        GUARDED_USERS STAND_OR_NOT {
                const GuardEvidence *v;
                Guarded g;

                start_twins(&g, TWINS, 2);
                end_all(&g, stand);
                v = g.evidence;
                cr_expect(v->processes == 2 * TWINS + 1 && guarded_missed(&g) == 0 && v->registers_missed == 0, "%lu", v->processes);
                cr_expect(v->bytes_overwritten - v->shared_bytes > TWINS * 2 * MB, "%lu bytes", v->bytes_overwritten - v->shared_bytes);
                cr_expect(v->shared_bytes == TWINS * MB / 16, "%lu bytes shared", v->shared_bytes);
                cr_expect(v->queue_bytes == TWINS * 4096, "%lu bytes in pipes", v->queue_bytes);
                guarded_end(&g);
        }
}

/* The state letter of a process, or 0. */
static char state_of(pid_t pid) {
        char path[64], text[256] = "", *p;
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
                *text = 0;
        if (fd >= 0)
                close(fd);
        p = strrchr(text, ')');
        return p && p[1] ? p[2] : 0;
}

/* Until it stands for its tracer. */
static void await_stand(pid_t pid) {
        for (int i = 0; state_of(pid) != 't'; i++) {
                cr_assert(i < 60000, "%d does not stand", (int)pid);
                usleep(1000);
        }
}

static void stop_guard(const Guarded *g) {
        int status;

        cr_assert(kill(g->guard, SIGSTOP) == 0 && waitpid(g->guard, &status, WUNTRACED) == g->guard && WIFSTOPPED(status));
}

static void each_child(const Guarded *g, void (*f)(pid_t child)) {
        char path[64], text[512] = "", *p = text, *end;
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)g->traced, (int)g->traced);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        cr_assert(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
        close(fd);
        for (long child; (child = strtol(p, &end, 10)) > 0; p = end)
                f((pid_t)child);
}

static void kill_it(pid_t child) {
        cr_assert(kill(child, SIGKILL) == 0);
}

static void kill_and_await(pid_t child) {
        kill_it(child);
        await_stand(child);
}

/* A first process that waits for its end: dead or alive. */
static pid_t first_process(bool dead) {
        siginfo_t info;
        pid_t pid = fork();

        if (pid == 0)
                for (;;)
                        pause();
        cr_assert(pid > 0);
        if (dead)
                cr_assert(kill(pid, SIGKILL) == 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
        return pid;
}

/* The end of a PID namespace's first process kills all others, and no order comes before them: what they leave unread is overwritten all the same
 * (I-12). As long as that one lives, somebody may yet read, and none of their pipes is held open. */
Test(guard_tree, what_is_unread_at_the_end_of_a_pid_namespace) {
        enum { TWINS = 6 };

        GUARDED_USERS STAND_OR_NOT {
                bool dead = stand;
                Guarded g;

                guarded_init = first_process(dead);
                start_twins(&g, TWINS, 2);
                each_child(&g, kill_it);
                for (int i = 0; __atomic_load_n(&g.evidence->processes, __ATOMIC_ACQUIRE) < 2 * TWINS; i++) {
                        cr_assert(i < 30000, "%lu processes", g.evidence->processes);
                        usleep(1000);
                }
                kill(g.traced, SIGKILL);
                guarded_expect(&g, GUARD_EMPTY);
                cr_expect(g.evidence->queue_bytes == (dead ? TWINS * 4096 : 0), "%lu bytes in pipes", g.evidence->queue_bytes);
                guarded_end(&g);
                kill(guarded_init, SIGKILL);
                waitpid(guarded_init, NULL, 0);
                guarded_init = 0;
        }
}

/* An order that was given before they were killed is known before any of them is overwritten. */
Test(guard_tree, what_is_unread_when_an_order_was_on_its_way) {
        enum { TWINS = 6 };

        GUARDED_USERS {
                Guarded g;

                start_twins(&g, TWINS, 1);
                stop_guard(&g);
                guarded_order(&g, GUARD_FREEZE);
                guarded_order(&g, GUARD_SCRUB);
                each_child(&g, kill_and_await);
                kill(g.traced, SIGKILL);
                await_stand(g.traced);
                kill(g.guard, SIGCONT);
                guarded_expect(&g, GUARD_FROZEN);
                guarded_expect(&g, GUARD_EMPTY);
                cr_expect(g.evidence->queue_bytes == TWINS * 4096, "%lu bytes in pipes", g.evidence->queue_bytes);
                guarded_end(&g);
        }
}

/* A child of vfork(2) is through with execve(2) and is killed before the guard hears of it. The guard is stopped meanwhile, so that this is certain: its new
 * memory is overwritten, its parent's is not, and no file is missed, because nobody else could have closed one of its own (I-16, I-29, I-69). */
Test(guard_tree, killed_before_it_says_that_it_executed) {
        GUARDED_USERS {
                _cleanup_temp_dir_ TempDir dir = TEMP_DIR_NULL;
                const GuardEvidence *v;
                char line[64];
                pid_t child;
                Guarded g;

                cr_assert(temp_dir_make(&dir) == 0);
                guarded_start(&g, 0, 1, 1, dir.fd, (const char *[]){"told", "", NULL});
                guarded_go(&g);
                guarded_hear(&g, line, sizeof(line));
                child = atoi(line);
                stop_guard(&g);
                guarded_go(&g);
                await_stand(child);
                kill(child, SIGKILL);
                kill(g.guard, SIGCONT);
                guarded_hear(&g, line, sizeof(line)); /* the parent goes on */
                kill(g.traced, SIGKILL);
                guarded_expect(&g, GUARD_EMPTY);
                v = g.evidence;
                cr_expect(v->processes == 2 && v->exec_images == 0 && v->bytes_overwritten > MB, "%lu processes, %lu images", v->processes, v->exec_images);
                cr_expect(v->calls_cut == 0 && guarded_missed(&g) == 0, "%lu calls, %lu missed", v->calls_cut, guarded_missed(&g));
                guarded_end(&g);
        }
}

/* The other side of it: a thread, whose table another one has, is killed in a call that may have been the last to hold a file. */
Test(guard_tree, killed_in_a_call_that_holds_a_file) {
        GUARDED_USERS {
                _cleanup_temp_dir_ TempDir dir = TEMP_DIR_NULL;
                char line[64];
                Guarded g;

                cr_assert(temp_dir_make(&dir) == 0);
                guarded_start(&g, 0, 1, 1, dir.fd, (const char *[]){"locks", "", NULL});
                guarded_go(&g);
                guarded_hear(&g, line, sizeof(line));
                guarded_await_call(atoi(line), SYS_flock);
                kill(g.traced, SIGKILL);
                guarded_expect(&g, GUARD_EMPTY);
                cr_expect(g.evidence->calls_cut == 1 && g.evidence->bytes_missed[GUARD_MISSED_FILE] == 4096, "%lu calls, %lu missed", g.evidence->calls_cut,
                          guarded_missed(&g));
                guarded_end(&g);
        }
}

/* It makes processes faster than they are seen, until all are frozen; not one is left, and each is overwritten. */
Test(guard_tree, fork_storm) {
        GUARDED_USERS STAND_OR_NOT {
                char line[64];
                Guarded g;

                guarded_start(&g, 0, 1, 2, -1, (const char *[]){"storm", "5000", NULL});
                guarded_go(&g);
                guarded_hear(&g, line, sizeof(line));
                for (int i = 0; __atomic_load_n(&g.evidence->living, __ATOMIC_ACQUIRE) < 2; i++) {
                        cr_assert(i < 60000, "no storm");
                        usleep(1000);
                }
                end_all(&g, stand);
                cr_expect(g.evidence->processes > 1 && guarded_missed(&g) == 0, "%lu processes, missed %lu", g.evidence->processes,
                          guarded_missed(&g));
                guarded_end(&g);
        }
}

/* In tier landlock; in tier namespaces the scratch is a file system of its own, which its used inodes tell about. */
static void with_scratch(const char *way, uint64_t files) {
        _cleanup_temp_dir_ TempDir dir = TEMP_DIR_NULL;
        char path[PATH_MAX + 8], bystander[PATH_MAX + 16];
        struct stat st;
        Guarded g;
        int fd;

        cr_assert(temp_dir_make(&dir) == 0 && fchmod(dir.fd, 0777) == 0 && chmod(dir.path, 0777) == 0);
        snprintf(path, sizeof(path), "%s/f", dir.path);
        snprintf(bystander, sizeof(bystander), "%s/x (deleted)", dir.path);
        fd = open(bystander, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        cr_assert(fd >= 0 && write(fd, "stays", 5) == 5);
        guarded_start(&g, 0, 1, 1, dir.fd, (const char *[]){way, path, NULL});
        guarded_go(&g);
        guarded_expect(&g, GUARD_EMPTY);
        cr_expect(end_status(&g) == 0);
        cr_expect(g.evidence->files == files && g.evidence->file_bytes == files * MB && guarded_missed(&g) == 0, "%s: %lu files, %lu bytes, missed %lu",
                  way, g.evidence->files, g.evidence->file_bytes, guarded_missed(&g));
        cr_expect((stat(path, &st) == 0) == (files == 0));
        cr_expect(pread(fd, path, 5, 0) == 5 && memcmp(path, "stays", 5) == 0);
        guarded_end(&g);
        close(fd);
}

Test(guard_tree, deleted_files_are_kept_until_nobody_has_them) {
        GUARDED_USERS {
                with_scratch("file", 1);
                with_scratch("file-kept", 0);
        }
}

typedef enum Looking { LOOKS_NOT, LOOKS_FOR_A_WHILE, LOOKS_ON } Looking;

/* I-69: what only the queue of a socket holds, in tier landlock, where nobody sums up the scratch. */
static void with_supervisor_in_a_look(Looking how) {
        _cleanup_temp_dir_ TempDir dir = TEMP_DIR_NULL;
        bool seen = how != LOOKS_ON;
        char path[PATH_MAX + 8];
        uint64_t beats;
        Guarded g;

        cr_assert(temp_dir_make(&dir) == 0 && fchmod(dir.fd, 0777) == 0 && chmod(dir.path, 0777) == 0);
        snprintf(path, sizeof(path), "%s/f", dir.path);
        guarded_start(&g, 0, 1, 1, dir.fd, (const char *[]){"sent", path, NULL});
        __atomic_store_n(&g.evidence->supervisor_looks, how != LOOKS_NOT, __ATOMIC_SEQ_CST);
        beats = __atomic_load_n(&g.evidence->beats, __ATOMIC_SEQ_CST);
        guarded_go(&g);
        if (how == LOOKS_FOR_A_WHILE) {
                struct pollfd over = {.fd = g.control, .events = POLLIN};

                while (__atomic_load_n(&g.evidence->beats, __ATOMIC_SEQ_CST) < beats + 10 && poll(&over, 1, 0) == 0)
                        usleep(100);
                __atomic_store_n(&g.evidence->supervisor_looks, 0, __ATOMIC_SEQ_CST);
        }
        guarded_expect(&g, GUARD_EMPTY);
        cr_expect(end_status(&g) == 0);
        cr_expect(g.evidence->files == seen && g.evidence->file_bytes == seen * MB && (guarded_missed(&g) == 0) == seen,
                  "%d: %lu files, %lu bytes, missed %lu", how, g.evidence->files, g.evidence->file_bytes, guarded_missed(&g));
        cr_expect(g.evidence->guard_looks == 0);
        guarded_end(&g);
}

Test(guard_tree, supervisor_and_guard_do_not_look_into_a_socket_at_one_time) {
        GuardEvidence page = {};
        Guard guard = GUARD_NULL;

        GUARDED_USERS {
                with_supervisor_in_a_look(LOOKS_NOT);
                with_supervisor_in_a_look(LOOKS_FOR_A_WHILE);
                with_supervisor_in_a_look(LOOKS_ON);
        }
        cr_expect(guard_look_begin(&guard)); /* without a guard */
        guard.page = &page;
        cr_expect(guard_look_begin(&guard) && page.supervisor_looks == 1);
        guard_look_end(&guard);
        cr_expect(page.supervisor_looks == 0);
        page.guard_looks = 1;
        cr_expect(!guard_look_begin(&guard) && page.supervisor_looks == 0);
}
