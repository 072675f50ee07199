#include "scrub/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel's names for its own areas; a file's path begins with a slash. */
static const char *const kernel_names[] = {"[vvar", "[vsys", "[vdso"};
/* Shared anonymous memory: without a name, or named by the program (Linux 6.2). */
static const char zero[] = "/dev/zero (deleted)", named[] = "[anon_shmem:";
static const char deleted[] = " (deleted)";

static uint64_t maps_hex(const char **p) {
        uint64_t n = 0;

        for (;; (*p)++) {
                if (**p >= '0' && **p <= '9')
                        n = n << 4 | (uint64_t)(**p - '0');
                else if (**p >= 'a' && **p <= 'f')
                        n = n << 4 | (uint64_t)(**p - 'a' + 10);
                else
                        return n;
        }
}

static bool maps_begins_with(const char *p, const char *end, const char *text) {
        size_t n = strlen(text);

        return (size_t)(end - p) >= n && memcmp(p, text, n) == 0;
}

static uint32_t maps_name_flags(const PageScan *s, const char *p, const char *end) {
        uint32_t flags = 0;

        for (size_t i = 0; i < sizeof(kernel_names) / sizeof(*kernel_names); i++)
                flags |= maps_begins_with(p, end, kernel_names[i]) ? AREA_KERNEL : 0;
        if ((maps_begins_with(p, end, zero) && end - p == sizeof(zero) - 1) || maps_begins_with(p, end, named))
                flags |= AREA_ZERO;
        if (s->below && maps_begins_with(p, end, s->below) && end - p > (ssize_t)strlen(s->below) &&
            p[strlen(s->below)] == '/')
                flags |= AREA_BELOW;
        return flags;
}

/* "START-END rwxp OFFSET MAJOR:MINOR INODE   NAME"; a name cannot hold a newline, the kernel writes \012. */
static void maps_parse_line(const PageScan *s, const char *p, const char *end, Area *ret) {
        *ret = (Area){.start = maps_hex(&p)};
        p++;
        ret->end = maps_hex(&p);
        ret->flags = (p[1] == 'r' ? AREA_READ : 0) | (p[2] == 'w' ? AREA_WRITE : 0) | (p[4] == 's' ? AREA_SHARED : 0);
        p += 6;
        ret->offset = maps_hex(&p);
        p++;
        ret->major = (uint32_t)maps_hex(&p);
        p++;
        ret->minor = (uint32_t)maps_hex(&p);
        p++;
        for (; *p >= '0' && *p <= '9'; p++)
                ret->inode = ret->inode * 10 + (uint64_t)(*p - '0');
        while (p < end && *p == ' ')
                p++;
        ret->flags |= maps_name_flags(s, p, end);
}

static int maps_add(PageScan *s, const char *line, const char *end) {
        if (s->n_areas == s->max_areas && array_grow(&s->areas, &s->max_areas, 128, sizeof(*s->areas)) < 0)
                return -ENOMEM;
        maps_parse_line(s, line, end, &s->areas[s->n_areas++]);
        return 0;
}

/* A line is as long as the path of its file, and folders nest without limit: the middle of a long line is dropped. */
static int maps_read_all(PageScan *s, int fd) {
        char text[16384];
        size_t have = 0;
        bool goes_on = false; /* the bytes in `text` belong to the last area */

        s->n_areas = 0;
        for (;;) {
                ssize_t n = read(fd, text + have, sizeof(text) - 1 - have);
                char *line = text, *nl;

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        return have > 0 ? -EBADMSG : 0;
                have += (size_t)n;
                text[have] = 0;
                while ((nl = memchr(line, '\n', (size_t)(text + have - line)))) {
                        int e = goes_on ? 0 : maps_add(s, line, nl);

                        if (e < 0)
                                return e;
                        if (nl - line >= (ssize_t)sizeof(deleted) - 1 &&
                            memcmp(nl - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1) == 0)
                                s->areas[s->n_areas - 1].flags |= AREA_DELETED;
                        goes_on = false;
                        line = nl + 1;
                }
                have = (size_t)(text + have - line);
                memmove(text, line, have);
                if (have == sizeof(text) - 1) {
                        int e = goes_on ? 0 : maps_add(s, text, text + have);

                        if (e < 0)
                                return e;
                        goes_on = true;
                        memmove(text, text + have - sizeof(deleted), sizeof(deleted));
                        have = sizeof(deleted);
                }
        }
}

int scan_open(pid_t pid, const char *name) {
        /* musl's open() makes two calls */
        int fd = openat(AT_FDCWD, PROC_PATH("%d/%s", pid, name), O_RDONLY | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

int scan_open_object(pid_t pid, const Area *a) {
        const char *path = PROC_PATH("%d/map_files/%llx-%llx", pid, (unsigned long long)a->start,
                                     (unsigned long long)a->end);
        int fd = openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

        return fd < 0 ? -errno : fd;
}

int maps_read(PageScan *s, pid_t pid) {
        int fd, e;

        s->pid = pid;
        s->n_areas = 0;
        fd = scan_open(pid, "maps");
        if (fd < 0)
                return fd;
        e = maps_read_all(s, fd);
        close(fd);
        return e;
}

/* A line of smaps: either an area's first line, or one counter of the area before. */
static void maps_take_smaps_line(PageScan *s, const char *line, size_t *i) {
        const char *p = line;

        if ((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f')) {
                uint64_t start = maps_hex(&p);

                while (*i < s->n_areas && s->areas[*i].start < start)
                        (*i)++;
                if (*i < s->n_areas && s->areas[*i].start == start)
                        s->areas[*i].flags |= AREA_EMPTY;
                return;
        }
        if (*i < s->n_areas && (strncmp(line, "Anonymous:", 10) == 0 || strncmp(line, "Swap:", 5) == 0) &&
            strtoull(strchr(line, ':') + 1, NULL, 10) > 0)
                s->areas[*i].flags &= ~(uint32_t)AREA_EMPTY;
}

void maps_mark_empty(PageScan *s, int fd) {
        char bytes[16384], line[64];
        size_t at = 0, i = 0;
        ssize_t n;

        while ((n = read(fd, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR))
                for (ssize_t k = 0; k < n; k++) {
                        if (bytes[k] != '\n') {
                                line[at] = bytes[k];
                                at += at + 1 < sizeof(line);
                                continue;
                        }
                        line[at] = 0;
                        maps_take_smaps_line(s, line, &i);
                        at = 0;
                }
        /* The last area's lines may be missing. */
        if (n < 0)
                for (i = 0; i < s->n_areas; i++)
                        s->areas[i].flags &= ~(uint32_t)AREA_EMPTY;
}

int array_grow(void *array, size_t *max, size_t first, size_t size) {
        size_t more = *max ? *max * 2 : first;
        void *v;

        memcpy(&v, array, sizeof(v));
        v = realloc(v, more * size);
        if (!v)
                return -ENOMEM;
        memcpy(array, &v, sizeof(v));
        *max = more;
        return 0;
}

int runs_add(Runs *r, uint64_t start, uint64_t end) {
        r->bytes += end - start;
        if (r->n > 0 && r->v[r->n - 1].end == start) {
                r->v[r->n - 1].end = end;
                return 0;
        }
        if (r->n == r->max && array_grow(&r->v, &r->max, 256, sizeof(*r->v)) < 0)
                return -ENOMEM;
        r->v[r->n++] = (AddressRun){start, end};
        return 0;
}

void runs_clear(Runs *r) {
        r->n = 0;
        r->bytes = 0;
}

void runs_deinit(Runs *r) {
        free(r->v);
        *r = (Runs){};
}
