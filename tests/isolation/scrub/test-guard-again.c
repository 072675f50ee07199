/* One guard for one region after another: what it had of a region is not in it when it serves the next one (I-3, I-57), and its record is of that one
 * alone (I-16). */
#include "tests/isolation/scrub/guarded.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define REGION "r-0canary0of0a0region"
#define NAME "a-canary-in-the-name" /* of its program */

static bool has(const char *bytes, size_t n, const char *what) {
        return memmem(bytes, n, what, strlen(what)) != NULL;
}

/* Is the text anywhere in the memory of the process? */
static bool knows(pid_t pid, const char *what) {
        char path[64], line[512];
        bool found = false;
        FILE *maps;
        int mem;

        snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
        mem = open(path, O_RDONLY | O_CLOEXEC);
        snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
        maps = fopen(path, "re");
        cr_assert(mem >= 0 && maps);
        while (fgets(line, sizeof(line), maps)) {
                unsigned long from, to;
                char *bytes;
                ssize_t n;

                cr_assert(sscanf(line, "%lx-%lx", &from, &to) == 2);
                bytes = malloc(to - from);
                cr_assert(bytes);
                n = pread(mem, bytes, to - from, (off_t)from);
                found |= n > 0 && has(bytes, (size_t)n, what);
                free(bytes);
        }
        fclose(maps);
        close(mem);
        return found;
}

static size_t open_in(pid_t pid) {
        char path[64];
        struct dirent *d;
        size_t n = 0;
        DIR *folder;

        snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
        folder = opendir(path);
        cr_assert(folder);
        while ((d = readdir(folder)))
                n += d->d_name[0] != '.';
        closedir(folder);
        return n;
}

static bool lock_is_free(Guarded *g) {
        int lock = openat(g->run, "lock", O_RDWR | O_CLOEXEC);
        bool is_free = flock(lock, LOCK_EX | LOCK_NB) == 0;

        close(lock);
        return is_free;
}

/* A program whose name is to be seen in its maps, which the guard reads. */
static void name_prey(const TempDir *t) {
        char path[PATH_MAX + sizeof(NAME)], command[3 * PATH_MAX];

        snprintf(path, sizeof(path), "%s/" NAME, t->path);
        snprintf(command, sizeof(command), "chmod 755 %s && cp %s %s", t->path, getenv("LETHE_PREY"), path);
        cr_assert(system(command) == 0);
        setenv("LETHE_PREY", path, 1);
}

Test(guard_again, nothing_of_one_region_is_in_it_when_it_serves_the_next) {
        const GuardEvidence blank = {.version = GUARD_VERSION};
        char before[PATH_MAX];

        snprintf(before, sizeof(before), "%s", getenv("LETHE_PREY"));
        GUARDED_USERS {
                _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
                Guarded g;

                cr_assert(temp_dir_make(&t) == 0);
                guarded_start(&g, 0, 1, 2, -1, (const char *[]){"exit", NULL});
                name_prey(&t);
                for (int i = 0; i < 4; i++) {
                        guarded_go(&g);
                        guarded_expect(&g, GUARD_EMPTY);
                        cr_expect(g.evidence->processes == 1 && guarded_missed(&g) == 0 && !lock_is_free(&g));
                        if (geteuid() == 0) /* else it cannot be looked into */
                                cr_expect(knows(g.guard, NAME) == (i == 1) && knows(g.guard, REGION) == (i == 1), "this test sees what it looks for");
                        guarded_again(&g);
                        guarded_expect(&g, GUARD_AS_NEW);
                        cr_expect(memcmp(g.evidence, &blank, sizeof(blank)) == 0);
                        cr_expect(lock_is_free(&g));
                        if (geteuid() == 0) {
                                cr_expect(!knows(g.guard, NAME) && !knows(g.guard, REGION) && guarded_secrets(g.guard) == 0, "region %d", i);
                                cr_expect(open_in(g.guard) == GUARD_FD_CONTROL + 1);
                        }
                        guarded_next(&g, i == 0 ? REGION : "r-next", (const char *[]){"exit", NULL});
                        setenv("LETHE_PREY", before, 1);
                }
                guarded_go(&g);
                guarded_expect(&g, GUARD_EMPTY);
                guarded_end(&g);
        }
}

/* Its supervisor dies in its second region: what it leaves is of that one. In between, it just ends. */
Test(guard_again, supervisor_dies) {
        GUARDED_USERS for (int serves = 0; serves < 2; serves++) {
                char line[64];
                GuardFile f;
                Guarded g;
                int fd, status;

                guarded_start(&g, 0, 1, 2, -1, (const char *[]){"fork", "3", NULL});
                guarded_go(&g);
                guarded_expect(&g, GUARD_EMPTY);
                guarded_again(&g);
                guarded_expect(&g, GUARD_AS_NEW);
                if (serves) {
                        guarded_next(&g, "r-second", (const char *[]){"spin", NULL});
                        guarded_go(&g);
                        guarded_hear(&g, line, sizeof(line));
                }
                close(g.control);
                g.control = -1;
                cr_assert(waitpid(g.guard, &status, 0) == g.guard && status == 0);
                g.guard = -1;
                cr_expect(lock_is_free(&g));
                fd = openat(g.run, "r-test" GUARD_FILE, O_RDONLY | O_CLOEXEC);
                cr_expect(fd < 0, "of the first region nothing is left to be told");
                fd = openat(g.run, "r-second" GUARD_FILE, O_RDONLY | O_CLOEXEC);
                cr_expect((fd >= 0) == (serves == 1));
                if (serves) {
                        cr_assert(read(fd, &f, sizeof(f)) == sizeof(f));
                        close(fd);
                        cr_expect(f.evidence.state == GUARD_STATE_EMPTY && f.evidence.processes == 1 && strcmp(f.region, "r-second") == 0);
                        cr_expect(waitpid(g.prey, &status, 0) == g.prey && WTERMSIG(status) == SIGKILL);
                }
                guarded_end(&g);
        }
}

static void is_over(Guarded *g, const char *what) {
        GuardAnswer a;
        int status;

        guarded_again(g);
        cr_assert(recv(g->control, &a, sizeof(a), 0) <= 0, "%s: it says %u", what, a.kind);
        cr_assert(waitpid(g->guard, &status, 0) == g->guard && status == 0, "%s", what);
        g->guard = -1;
        close(g->control);
        g->control = -1;
        guarded_end(g);
}

/* After anything out of the ordinary it ends: bytes that it missed, several passes, a region that was killed, tier landlock, an order that makes no
 * sense; and after some regions in any case. */
Test(guard_again, in_doubt_it_serves_no_other) {
        char line[64];
        Guarded g;

        guarded_start(&g, 0, 1, 2, -1, (const char *[]){"outside", NULL});
        guarded_go(&g);
        guarded_expect(&g, GUARD_EMPTY);
        is_over(&g, "missed");
        guarded_start(&g, 0, 3, 2, -1, (const char *[]){"exit", NULL});
        guarded_go(&g);
        guarded_expect(&g, GUARD_EMPTY);
        is_over(&g, "passes");
        guarded_start(&g, 0, 1, 1, -1, (const char *[]){"exit", NULL});
        guarded_go(&g);
        guarded_expect(&g, GUARD_EMPTY);
        is_over(&g, "landlock");
        guarded_start(&g, 0, 1, 2, -1, (const char *[]){"spin", NULL});
        guarded_go(&g);
        guarded_hear(&g, line, sizeof(line));
        guarded_order(&g, GUARD_FREEZE);
        guarded_expect(&g, GUARD_FROZEN);
        guarded_order(&g, GUARD_SCRUB);
        guarded_expect(&g, GUARD_EMPTY);
        is_over(&g, "killed");
        guarded_start(&g, 0, 1, 2, -1, (const char *[]){"exit", NULL});
        cr_assert(send(g.control, "x", 1, MSG_NOSIGNAL) == 1);
        guarded_go(&g);
        guarded_expect(&g, GUARD_EMPTY);
        is_over(&g, "no sense");
        guarded_start(&g, 0, 1, 2, -1, (const char *[]){"exit", NULL});
        for (int i = 0; i < 64; i++) {
                guarded_go(&g);
                guarded_expect(&g, GUARD_EMPTY);
                guarded_again(&g);
                guarded_expect(&g, GUARD_AS_NEW);
                guarded_next(&g, "r-next", (const char *[]){"exit", NULL});
        }
        guarded_go(&g);
        guarded_expect(&g, GUARD_EMPTY);
        is_over(&g, "after many");
}

/* What still traces something, or never did, is not as new. An order before its time ends the region as the supervisor's death does. */
Test(guard_again, not_before_its_region_is_over) {
        char line[64];
        int status;
        Guarded g;

        guarded_start(&g, 0, 1, 2, -1, (const char *[]){"spin", NULL});
        guarded_go(&g);
        guarded_hear(&g, line, sizeof(line));
        is_over(&g, "running");
        guarded_start(&g, 0, 1, 2, -1, (const char *[]){"exit", NULL});
        guarded_go(&g);
        guarded_expect(&g, GUARD_EMPTY);
        guarded_again(&g);
        guarded_expect(&g, GUARD_AS_NEW);
        guarded_again(&g);
        cr_assert(waitpid(g.guard, &status, 0) == g.guard && status == 0);
        g.guard = -1;
        close(g.control);
        g.control = -1;
        guarded_end(&g);
}
