#include "policy/inside.h"

#include "base/owner.h"
#include "base/path-lookup.h"
#include "policy/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define INSIDE_LINKS_MAX 40 /* as the kernel's MAXSYMLINKS */

/* A walk through a path, one component at a time. */
typedef struct InsideWalk {
        const FileGrant *files;
        size_t n;
        char done[PATH_MAX]; /* resolved part, without a slash at the end */
        char rest[PATH_MAX]; /* unresolved rest */
        char host[PATH_MAX]; /* host path of `done`, if `done` is a file or folder of the host */
        unsigned links;
        bool folder; /* `done` is a folder that only holds places */
        bool settled;
} InsideWalk;

typedef enum InsidePlace { INSIDE_NOTHING, INSIDE_HOST, INSIDE_FOLDER } InsidePlace;

void inside_deinit(Inside *i) {
        free(i->end);
        free(i->host);
        *i = (Inside){0};
}

bool inside_is_system(const char *path) {
        static const char *const folders[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                if (path_is_under(path, folders[i]))
                        return true;
        return false;
}

/* Without root in the user namespace, root's files show an unmapped owner: for system folders the owner of / counts. */
static bool inside_only_root(const char *path, bool of_system, const struct stat *st) {
        struct stat top;

        return (st->st_uid == 0 || (of_system && stat("/", &top) == 0 && st->st_uid == top.st_uid)) &&
               (S_ISLNK(st->st_mode) || !(st->st_mode & (S_IWGRP | S_IWOTH))) && owner_server(path, st) == 0;
}

bool inside_only_root_writes(const char *real) {
        char path[PATH_MAX];
        struct stat st;

        if (strlen(real) >= sizeof(path))
                return false;
        strcpy(path, real);
        for (;;) {
                char *slash = strrchr(path, '/');

                if (lookup_stat(*path ? path : "/", false, &st) < 0 ||
                    !inside_only_root(*path ? path : "/", inside_is_system(real), &st))
                        return false;
                if (!*path)
                        return true;
                *slash = 0;
        }
}

static InsidePlace inside_place(InsideWalk *w, const char *place, char ret_host[static PATH_MAX]) {
        const FileGrant *f = place_shows(w->files, w->n, place);

        if (f) {
                /* a region may write as root */
                w->settled = w->settled && !f->write && inside_only_root_writes(f->source);
                return !f->mask && place_outside(f, place, ret_host) ? INSIDE_HOST : INSIDE_NOTHING;
        }
        if (strcmp(place, "/etc") == 0)
                return INSIDE_FOLDER;
        if (inside_is_system(place) || path_is_under(place, "/etc/alternatives"))
                return snprintf(ret_host, PATH_MAX, "%s", place) < PATH_MAX ? INSIDE_HOST : INSIDE_NOTHING;
        for (size_t i = 0; i < w->n; i++)
                if (path_is_under(w->files[i].target, place))
                        return INSIDE_FOLDER;
        return INSIDE_NOTHING;
}

/* Puts the text of a link before the rest. */
static int inside_follow(InsideWalk *w, const char *host) {
        char target[PATH_MAX], rest[PATH_MAX];
        _cleanup_close_ int fd = -1;
        ssize_t n;
        int r;

        if (++w->links > INSIDE_LINKS_MAX)
                return -ELOOP;
        fd = lookup_open(host, O_NOFOLLOW, 0);
        r = fd < 0 ? fd : lookup_may_read_link(fd);
        if (r < 0)
                return r;
        n = readlinkat(fd, "", target, sizeof(target));
        if (n < 0)
                return -errno;
        if (n == 0 || n == (ssize_t)sizeof(target))
                return n == 0 ? -ENOENT : -ENAMETOOLONG;
        target[n] = 0;
        if (snprintf(rest, sizeof(rest), "%s%s%s", target, *w->rest ? "/" : "", w->rest) >= (int)sizeof(rest))
                return -ENAMETOOLONG;
        strcpy(w->rest, rest);
        if (*target == '/')
                *w->done = 0;
        return 0;
}

/* Takes the next component off the rest: false at the end. */
static bool inside_next(InsideWalk *w, char ret[static NAME_MAX + 1], int *reterr) {
        const char *from = w->rest + strspn(w->rest, "/");
        size_t n = strcspn(from, "/");

        *reterr = n > NAME_MAX ? -ENAMETOOLONG : 0;
        if (n == 0 || n > NAME_MAX)
                return false;
        memcpy(ret, from, n);
        ret[n] = 0;
        from += n;
        from += strspn(from, "/");
        memmove(w->rest, from, strlen(from) + 1);
        return true;
}

static int inside_step(InsideWalk *w, const char *name) {
        char place[PATH_MAX], host[PATH_MAX], *slash;
        struct stat st;
        int r;

        if (strcmp(name, ".") == 0)
                return 0;
        if (strcmp(name, "..") == 0) {
                if ((slash = strrchr(w->done, '/')))
                        *slash = 0;
                return 0;
        }
        if (snprintf(place, sizeof(place), "%s/%s", w->done, name) >= (int)sizeof(place))
                return -ENAMETOOLONG;
        switch (inside_place(w, place, host)) {
        case INSIDE_NOTHING:
                strcpy(w->done, place);
                return -ENOENT;
        case INSIDE_FOLDER:
                strcpy(w->done, place);
                w->folder = true;
                return 0;
        case INSIDE_HOST:
                break;
        }
        r = lookup_stat(host, false, &st);
        if (r == 0 && w->settled)
                w->settled = inside_only_root(host, inside_is_system(host), &st);
        if (r == 0 && S_ISLNK(st.st_mode))
                return inside_follow(w, host);
        strcpy(w->done, place);
        strcpy(w->host, host);
        w->folder = false;
        return r == -ENOTDIR ? -ENOENT : r;
}

int inside_find(const FileGrant *files, size_t n, const char *path, Inside *ret) {
        InsideWalk w = {.files = files, .n = n, .settled = true, .folder = true};
        char name[NAME_MAX + 1];
        Inside i;
        int r = 0;

        if (snprintf(w.rest, sizeof(w.rest), "%s", path) >= (int)sizeof(w.rest))
                return -ENAMETOOLONG;
        while (r == 0 && inside_next(&w, name, &r))
                r = inside_step(&w, name);
        if (r == 0 && w.folder)
                return -EISDIR;
        if (r < 0 && r != -ENOENT)
                return r;
        i = (Inside){.end = strdup(w.done),
                     .host = r == 0 ? strdup(w.host) : NULL,
                     .link = w.links > 0,
                     .settled = w.settled};
        if (!i.end || (r == 0 && !i.host)) {
                inside_deinit(&i);
                return -ENOMEM;
        }
        *ret = i;
        return r;
}
