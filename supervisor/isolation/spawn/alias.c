#include "spawn/alias.h"

#include "base/io.h"
#include "base/quiet.h"
#include "manifest/vocabulary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ALIAS_LIST_MAX (16 * 1024 * 1024) /* of mountinfo */

/* A line of /proc/self/mountinfo (proc_pid_mountinfo(5)). */
typedef struct AliasMount {
        char device[32];     /* major:minor of the file system */
        char root[PATH_MAX]; /* which part of it */
        char point[PATH_MAX];
} AliasMount;

/* A space, a tab, a newline and a backslash are octal. False: longer than a path. */
static bool alias_field(const char **p, char *ret, size_t room) {
        size_t n = 0;

        while (**p && **p != ' ' && **p != '\n') {
                const char *s = *p;
                char c = *s++;

                if (c == '\\' && s[0] >= '0' && s[0] <= '3' && s[1] >= '0' && s[1] <= '7' && s[2] >= '0' && s[2] <= '7') {
                        c = (char)((s[0] - '0') << 6 | (s[1] - '0') << 3 | (s[2] - '0'));
                        s += 3;
                }
                if (n + 1 >= room)
                        return false;
                ret[n++] = c;
                *p = s;
        }
        ret[n] = 0;
        *p += **p == ' ';
        return true;
}

static bool alias_line(const char *line, AliasMount *ret) {
        char number[32], parent[32];

        return alias_field(&line, number, sizeof(number)) && alias_field(&line, parent, sizeof(parent)) &&
               alias_field(&line, ret->device, sizeof(ret->device)) && alias_field(&line, ret->root, sizeof(ret->root)) &&
               alias_field(&line, ret->point, sizeof(ret->point));
}

/* `path` as it is seen below `to` instead of `from`. False: it is not below `from`, or too long. */
static bool alias_move(const char *path, const char *from, const char *to, char ret[static PATH_MAX]) {
        const char *rest;

        if (!path_is_under(path, from))
                return false;
        rest = from[1] ? path + strlen(from) : path[1] ? path : "";
        return snprintf(ret, PATH_MAX, "%s%s", to[1] || !*rest ? to : "", rest) < PATH_MAX;
}

/* The mount in which a path stands: of those above it the deepest, and of these the last. False: none. */
static bool alias_mount_of(const char *list, const char *path, AliasMount *ret) {
        AliasMount m;
        bool found = false;

        for (const char *p = list; *p; p += strcspn(p, "\n"), p += *p == '\n')
                if (alias_line(p, &m) && path_is_under(path, m.point) && (!found || strlen(m.point) >= strlen(ret->point))) {
                        *ret = m;
                        found = true;
                }
        return found;
}

static bool alias_is(const char *path, const struct stat *of) {
        struct stat st;

        return quiet_stat(path, false, &st) == 0 && st.st_dev == of->st_dev && st.st_ino == of->st_ino;
}

static int alias_find(const char *list, const char *real, const struct stat *st, char ***ret) {
        char inside[PATH_MAX], path[PATH_MAX];
        AliasMount own, m;
        int r = 0;

        if (!alias_mount_of(list, real, &own) || !alias_move(real, own.point, own.root, inside))
                return 0;
        for (const char *p = list; r == 0 && *p; p += strcspn(p, "\n"), p += *p == '\n') {
                if (!alias_line(p, &m) || strcmp(m.device, own.device) != 0)
                        continue;
                if (alias_move(inside, m.root, m.point, path)) {
                        if (strcmp(path, real) != 0 && !strv_has(*ret, path) && alias_is(path, st))
                                r = strv_add(ret, path);
                } else if (path_is_under(m.root, inside) && !strv_has(*ret, m.point))
                        r = strv_add(ret, m.point);
        }
        return r;
}

int alias_paths(const char *real, char ***ret) {
        _cleanup_free_ char *list = NULL;
        _cleanup_strv_ char **paths = NULL;
        struct stat st;
        size_t n;
        int r = quiet_stat(real, false, &st) ?: io_read_file(AT_FDCWD, "/proc/self/mountinfo", ALIAS_LIST_MAX, &list, &n);

        if (r == 0)
                r = strv_add(&paths, real);
        if (r == 0)
                r = alias_find(list, real, &st, &paths);
        if (r == 0)
                *ret = TAKE_PTR(paths);
        return r;
}
