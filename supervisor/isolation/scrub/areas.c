#include "scrub/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The names that the kernel gives to what is the kernel's; a file's path begins with a slash. */
static const char *const kernel_names[] = {"[vvar", "[vsys", "[vdso"};
/* Shared anonymous memory: without a name, and with one that the program gave it (Linux 6.2). */
static const char zero[] = "/dev/zero (deleted)", named[] = "[anon_shmem:";
static const char deleted[] = " (deleted)";

static uint64_t hex(const char **p) {
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

static bool begins(const char *p, const char *end, const char *text) {
        size_t n = strlen(text);

        return (size_t)(end - p) >= n && memcmp(p, text, n) == 0;
}

static uint32_t flags_of_name(const Scan *s, const char *p, const char *end) {
        uint32_t flags = 0;

        for (size_t i = 0; i < sizeof(kernel_names) / sizeof(*kernel_names); i++)
                flags |= begins(p, end, kernel_names[i]) ? AREA_KERNEL : 0;
        if ((begins(p, end, zero) && end - p == sizeof(zero) - 1) || begins(p, end, named))
                flags |= AREA_ZERO;
        if (s->below && begins(p, end, s->below) && end - p > (ssize_t)strlen(s->below) && p[strlen(s->below)] == '/')
                flags |= AREA_BELOW;
        return flags;
}

/* "START-END rwxp OFFSET MAJOR:MINOR INODE   NAME"; a name cannot hold a newline, the kernel writes \012. */
static void parse_area(const Scan *s, const char *p, const char *end, Area *ret) {
        *ret = (Area){.start = hex(&p)};
        p++;
        ret->end = hex(&p);
        ret->flags = (p[1] == 'r' ? AREA_READ : 0) | (p[2] == 'w' ? AREA_WRITE : 0) | (p[4] == 's' ? AREA_SHARED : 0);
        p += 6;
        ret->offset = hex(&p);
        p++;
        ret->major = (uint32_t)hex(&p);
        p++;
        ret->minor = (uint32_t)hex(&p);
        p++;
        for (; *p >= '0' && *p <= '9'; p++)
                ret->inode = ret->inode * 10 + (uint64_t)(*p - '0');
        while (p < end && *p == ' ')
                p++;
        ret->flags |= flags_of_name(s, p, end);
}

static int add_area(Scan *s, const char *line, const char *end) {
        if (s->n_areas == s->max_areas) {
                size_t max = s->max_areas ? s->max_areas * 2 : 128;
                Area *v = realloc(s->areas, max * sizeof(*v));

                if (!v)
                        return -ENOMEM;
                s->areas = v;
                s->max_areas = max;
        }
        parse_area(s, line, end, &s->areas[s->n_areas++]);
        return 0;
}

/* A line is as long as the path of its file, which a program can nest as deeply as it likes: of a long one the middle is dropped. */
int areas_read(Scan *s, int fd) {
        char text[16384];
        size_t have = 0;
        bool goes_on = false; /* what is in `text` belongs to the last area */

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
                        int e = goes_on ? 0 : add_area(s, line, nl);

                        if (e < 0)
                                return e;
                        if (nl - line >= (ssize_t)sizeof(deleted) - 1 && memcmp(nl - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1) == 0)
                                s->areas[s->n_areas - 1].flags |= AREA_DELETED;
                        goes_on = false;
                        line = nl + 1;
                }
                have = (size_t)(text + have - line);
                memmove(text, line, have);
                if (have == sizeof(text) - 1) {
                        int e = goes_on ? 0 : add_area(s, text, text + have);

                        if (e < 0)
                                return e;
                        goes_on = true;
                        memmove(text, text + have - sizeof(deleted), sizeof(deleted));
                        have = sizeof(deleted);
                }
        }
}

/* A line of smaps: either an area's, or what there is of one kind in the area before. */
static void take_line(Scan *s, const char *line, size_t *i) {
        const char *p = line;

        if ((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f')) {
                uint64_t start = hex(&p);

                while (*i < s->n_areas && s->areas[*i].start < start)
                        (*i)++;
                if (*i < s->n_areas && s->areas[*i].start == start)
                        s->areas[*i].flags |= AREA_EMPTY;
                return;
        }
        if (*i < s->n_areas && (strncmp(line, "Anonymous:", 10) == 0 || strncmp(line, "Swap:", 5) == 0) && strtoull(strchr(line, ':') + 1, NULL, 10) > 0)
                s->areas[*i].flags &= ~(uint32_t)AREA_EMPTY;
}

void areas_mark_empty(Scan *s, int fd) {
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
                        take_line(s, line, &i);
                        at = 0;
                }
        /* The last area's lines may be missing. */
        if (n < 0)
                for (i = 0; i < s->n_areas; i++)
                        s->areas[i].flags &= ~(uint32_t)AREA_EMPTY;
}
