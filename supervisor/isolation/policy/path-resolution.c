#include "policy/path-resolution.h"

#include "base/owner.h"
#include "base/path-lookup.h"
#include "policy/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define PATH_LINKS_MAX 40 /* as the kernel's MAXSYMLINKS */

/* A walk through a path, one component at a time. */
typedef struct PathWalk {
        const FileGrant *files;
        size_t n;
        char done[PATH_MAX]; /* resolved part, without a slash at the end */
        char rest[PATH_MAX]; /* unresolved rest */
        char host[PATH_MAX]; /* host path of `done`, if `done` is a file or folder of the host */
        unsigned links;
        bool folder; /* `done` is a folder that only holds places */
        bool settled;
} PathWalk;

typedef enum PathPlace { PATH_NOTHING, PATH_HOST, PATH_FOLDER } PathPlace;

void resolved_path_deinit(ResolvedPath *i) {
        free(i->end);
        free(i->host);
        *i = (ResolvedPath){0};
}

bool path_is_shared(const char *path) {
        return path_is_system(path) && !path_is_under(path, "/etc");
}

/* Without root in the user namespace, root's files show an unmapped owner: for system folders the owner of / counts. */
static bool path_walk_only_root(const char *path, bool of_system, const struct stat *st) {
        struct stat top;

        return (st->st_uid == 0 || (of_system && stat("/", &top) == 0 && st->st_uid == top.st_uid)) &&
               (S_ISLNK(st->st_mode) || !(st->st_mode & (S_IWGRP | S_IWOTH))) && owner_server(path, st) == 0;
}

bool path_only_root_writes(const char *real) {
        char path[PATH_MAX];
        struct stat st;

        if (strlen(real) >= sizeof(path))
                return false;
        strcpy(path, real);
        for (;;) {
                char *slash = strrchr(path, '/');

                if (lookup_stat(*path ? path : "/", false, &st) < 0 ||
                    !path_walk_only_root(*path ? path : "/", path_is_shared(real), &st))
                        return false;
                if (!*path)
                        return true;
                *slash = 0;
        }
}

static PathPlace path_walk_place(PathWalk *w, const char *place, char ret_host[static PATH_MAX]) {
        const FileGrant *f = place_shows(w->files, w->n, place);

        if (f) {
                /* a region may write as root */
                w->settled = w->settled && !f->write && path_only_root_writes(f->source);
                return !f->mask && place_outside(f, place, ret_host) ? PATH_HOST : PATH_NOTHING;
        }
        if (strcmp(place, "/etc") == 0)
                return PATH_FOLDER;
        if (path_is_shared(place) || path_is_under(place, "/etc/alternatives"))
                return snprintf(ret_host, PATH_MAX, "%s", place) < PATH_MAX ? PATH_HOST : PATH_NOTHING;
        for (size_t i = 0; i < w->n; i++)
                if (path_is_under(w->files[i].target, place))
                        return PATH_FOLDER;
        return PATH_NOTHING;
}

/* Puts the text of a link before the rest. */
static int path_walk_follow(PathWalk *w, const char *host) {
        char target[PATH_MAX], rest[PATH_MAX];
        _cleanup_close_ int fd = -1;
        ssize_t n;
        int r;

        if (++w->links > PATH_LINKS_MAX)
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
static bool path_walk_next(PathWalk *w, char ret[static NAME_MAX + 1], int *reterr) {
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

static int path_walk_step(PathWalk *w, const char *name) {
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
        switch (path_walk_place(w, place, host)) {
        case PATH_NOTHING:
                strcpy(w->done, place);
                return -ENOENT;
        case PATH_FOLDER:
                strcpy(w->done, place);
                w->folder = true;
                return 0;
        case PATH_HOST:
                break;
        }
        r = lookup_stat(host, false, &st);
        if (r == 0 && w->settled)
                w->settled = path_walk_only_root(host, path_is_shared(host), &st);
        if (r == 0 && S_ISLNK(st.st_mode))
                return path_walk_follow(w, host);
        strcpy(w->done, place);
        strcpy(w->host, host);
        w->folder = false;
        return r == -ENOTDIR ? -ENOENT : r;
}

int path_resolve(const FileGrant *files, size_t n, const char *path, ResolvedPath *ret) {
        PathWalk w = {.files = files, .n = n, .settled = true, .folder = true};
        char name[NAME_MAX + 1];
        ResolvedPath i;
        int r = 0;

        if (snprintf(w.rest, sizeof(w.rest), "%s", path) >= (int)sizeof(w.rest))
                return -ENAMETOOLONG;
        while (r == 0 && path_walk_next(&w, name, &r))
                r = path_walk_step(&w, name);
        if (r == 0 && w.folder)
                return -EISDIR;
        if (r < 0 && r != -ENOENT)
                return r;
        i = (ResolvedPath){.end = strdup(w.done),
                     .host = r == 0 ? strdup(w.host) : NULL,
                     .settled = w.settled};
        if (!i.end || (r == 0 && !i.host)) {
                resolved_path_deinit(&i);
                return -ENOMEM;
        }
        *ret = i;
        return r;
}
