#include "region/region-tables.h"

#include "base/dirents.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define TABLES_LINE_MAX 32768 /* of /proc/PID/maps: a path with up to four bytes for each byte, and some numbers */
#define TABLES_VSIZE 20 /* of proc_stat(): 0 for a task without memory */

static bool tables_has_memory(pid_t tid) {
        uint64_t f[TABLES_VSIZE + 1];

        return proc_stat(tid, f, ARRAY_SIZE(f)) && f[TABLES_VSIZE] > 0;
}

/* Calls f with each thread until f returns false. */
static void tables_each(pid_t pid, bool (*f)(pid_t tid, void *arg), void *arg) {
        _cleanup_close_ int fd = open(PROC_PATH("%d/task", pid), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const char *name;
        bool more = true;
        Dirents d;

        if (fd < 0)
                return;
        dirents_begin(&d, fd);
        while (more && (name = dirents_next(&d)))
                more = f((pid_t)strtol(name, NULL, 10), arg);
        dirents_end(&d);
}

static bool tables_tells(pid_t tid, void *arg) {
        if (!tables_has_memory(tid))
                return true;
        *(pid_t *)arg = tid;
        return false;
}

pid_t tables_teller(pid_t pid) {
        pid_t teller = 0;

        if (tables_has_memory(pid))
                return pid;
        tables_each(pid, tables_tells, &teller);
        return teller;
}

typedef struct Tables {
        pid_t *v; /* in the kernel's order of tables */
        size_t n;
        int error;
} Tables;

/* The kernel's order of two tables: < 0, 0, > 0. Tasks without an answer are ordered by number. */
static int tables_compare(pid_t a, pid_t b) {
        switch (syscall(SYS_kcmp, a, b, KCMP_FILES, 0UL, 0UL)) {
        case 0:
                return 0;
        case 1:
                return -1;
        case 2:
                return 1;
        default:
                return a < b ? -1 : 1;
        }
}

static bool tables_add(pid_t tid, void *arg) {
        size_t from = 0, to;
        Tables *t = arg;

        for (to = t->n; from < to;) {
                size_t middle = (from + to) / 2;
                int order = tables_compare(tid, t->v[middle]);

                if (order == 0)
                        return true;
                if (order < 0)
                        to = middle;
                else
                        from = middle + 1;
        }
        if (!GROW(t->v, t->n)) {
                t->error = -ENOMEM;
                return false;
        }
        memmove(&t->v[from + 1], &t->v[from], (t->n - from) * sizeof(*t->v));
        t->v[from] = tid;
        t->n++;
        return true;
}

int tables_of(pid_t pid, pid_t **ret, size_t *ret_n) {
        Tables t = {};

        tables_each(pid, tables_add, &t);
        if (t.error < 0) {
                free(t.v);
                return t.error;
        }
        *ret = t.v;
        *ret_n = t.n;
        return 0;
}

int tables_each_mapping(pid_t pid, int (*fn)(pid_t teller, const char *line, void *arg), void *arg) {
        pid_t teller = tables_teller(pid);
        char text[TABLES_LINE_MAX];
        _cleanup_close_ int fd = open(PROC_PATH("%d/maps", teller), O_RDONLY | O_CLOEXEC);
        size_t n = 0;
        ssize_t k;
        int e = 0;

        while (fd >= 0 && e == 0 && n < sizeof(text) - 1 && (k = read(fd, text + n, sizeof(text) - 1 - n)) > 0) {
                char *line = text, *end;

                n += (size_t)k;
                text[n] = 0;
                for (; e == 0 && (end = strchr(line, '\n')); line = end + 1) {
                        *end = 0;
                        e = fn(teller, line, arg);
                }
                n -= (size_t)(line - text);
                memmove(text, line, n);
        }
        return e;
}
