/* Runs: supervisor. */
#include "region/region-file-memory.h"

#include "base/dirents.h"
#include "base/timed-syscall.h"
#include "region/region-proc.h"
#include "region/region-tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define OPENS_FILE 256    /* an open file */
#define OPENS_OBJECT 448  /* a small object behind a descriptor */
#define OPENS_PROC 6144   /* a file of /proc: inode, and a page of text */
#define OPENS_WATCH 200   /* a file watched by an epoll */
#define OPENS_LISTS 16    /* lists read in each call of timed_run() */
#define OPENS_LINES_MAX (1 << 20)

static bool opens_is_folder(const char *link) {
        struct statx st;

        return statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0 && S_ISDIR(st.stx_mode);
}

uint64_t opens_bytes(const OpensLook *l, const char *link, const char *name) {
        if (strncmp(name, "anon_inode:", 11) == 0)
                return OPENS_OBJECT;
        /* The kernel doubles a buffer until the whole text fits, and keeps the buffer until the close. */
        if (strncmp(name, "/proc/", 6) == 0)
                return OPENS_FILE + OPENS_PROC + (strstr(name, "/fdinfo/") ? 2 * l->longest : 0);
        return OPENS_FILE + (opens_is_folder(link) ? OPENS_FOLDER : 0);
}

typedef struct OpensLists {
        char path[OPENS_LISTS][48];
        size_t n;
        uint64_t lines, longest;
        char text[16384];
} OpensLists;

/* Job for timed_run(): the kernel makes the list under the epoll's lock, held while a watched file is polled. */
__attribute__((no_sanitize("address", "undefined"))) static long opens_count(void *job) {
        OpensLists *o = job;

        for (size_t i = 0; i < o->n; i++) {
                long fd = timed_do(SYS_openat, AT_FDCWD, o->path[i], O_RDONLY | O_CLOEXEC), k;
                uint64_t bytes = 0;

                if (fd < 0)
                        continue;
                while (o->lines < OPENS_LINES_MAX && (k = timed_do(SYS_read, fd, o->text, sizeof(o->text))) > 0) {
                        bytes += (uint64_t)k;
                        for (long at = 0; at < k; at++)
                                o->lines += o->text[at] == '\n';
                }
                if (bytes > o->longest)
                        o->longest = bytes;
                timed_do(SYS_close, fd);
        }
        return 0;
}

uint64_t opens_watched(OpensLook *l, pid_t tid, const int *fds, size_t n, size_t beyond, uint64_t most,
                       uint64_t in_table) {
        _cleanup_free_ OpensLists *o = n > 0 && l->blocked < OPENS_BLOCKED_MAX ? malloc(sizeof(*o)) : NULL;
        uint64_t sum = beyond * most * OPENS_WATCH;

        for (size_t at = 0; at < n; at += OPENS_LISTS) {
                if (!o || l->blocked >= OPENS_BLOCKED_MAX)
                        return sum + (n - at) * most * OPENS_WATCH;
                o->n = MIN(n - at, (size_t)OPENS_LISTS);
                o->lines = o->longest = 0;
                for (size_t i = 0; i < o->n; i++)
                        snprintf(o->path[i], sizeof(o->path[i]), "/proc/%d/fdinfo/%d", (int)tid, fds[at + i]);
                /* or the machine is too busy */
                if (timed_run(opens_count, o, sizeof(*o), -1, TIMED_USEC) == -ETIMEDOUT) {
                        l->blocked++;
                        return sum + (n - at) * in_table * OPENS_WATCH;
                }
                l->blocked = 0;
                sum += o->lines * OPENS_WATCH;
                l->longest = MAX(l->longest, o->longest);
        }
        return sum;
}

static uint64_t opens_folders_at(pid_t tid) {
        _cleanup_close_ int fd = open(PROC_PATH("%d/fd", tid), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        uint64_t sum = 0;
        const char *name;
        Dirents d;

        if (fd < 0)
                return 0;
        dirents_begin(&d, fd);
        while ((name = dirents_next(&d)))
                sum += opens_is_folder(PROC_PATH("%d/fd/%.20s", tid, name)) ? OPENS_FOLDER : 0;
        dirents_end(&d);
        return sum;
}

uint64_t opens_folders(pid_t root) {
        _cleanup_free_ pid_t *list = NULL;
        uint64_t sum = 0;
        size_t n = 0;

        if (proc_tree_list(root, &list, &n) < 0)
                return 0;
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ pid_t *tables = NULL;
                size_t n_tables = 0;

                if (tables_of(list[i], &tables, &n_tables) < 0)
                        break;
                for (size_t k = 0; k < n_tables; k++)
                        sum += opens_folders_at(tables[k]);
        }
        return sum;
}
