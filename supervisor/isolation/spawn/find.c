#include "spawn/find.h"
#include "spawn/libexecdir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const char *folder_first;

void find_set_folder(const char *folder) {
        folder_first = folder;
}

static char own[PATH_MAX]; /* the folder of the running program; empty: unknown */

static void find_own(void) {
        ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
        char *slash = n > 0 ? strrchr(own, '/') : NULL;

        if (slash)
                *slash = 0;
        else
                *own = 0;
}

static const char *find_own_folder(void) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        pthread_once(&once, find_own);
        return *own ? own : NULL;
}

static bool find_is_missing(int error) {
        return error == ENOENT || error == ENOTDIR || error == EACCES;
}

/* Opens a file or folder of Lethe. A moved installation is found from its own bin folder. An error that says nothing of
 * a place (EMFILE) ends the search: another thread may close a descriptor, and the next place would be told as missing. */
static int find_open(const char *name, int flags, char path[static PATH_MAX + 64]) {
        const char *beside = find_own_folder();
        const struct {
                const char *folder, *below;
        } places[] = {{folder_first, ""}, {beside, ""}, {beside, "/../libexec/lethe"}, {LETHE_LIBEXECDIR, ""}};
        int fd = -1;

        for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(places); i++) {
                if (!places[i].folder)
                        continue;
                snprintf(path, PATH_MAX + 64, "%s%s/%s", places[i].folder, places[i].below, name);
                fd = open(path, O_PATH | O_CLOEXEC | flags);
                if (fd < 0 && !find_is_missing(errno))
                        break;
        }
        return fd < 0 ? -errno : fd;
}

int find_program(const char *name, char **ret_path) {
        char path[PATH_MAX + 64];
        int fd = find_open(name, 0, path);

        if (ret_path)
                *ret_path = strdup(path);
        return fd;
}

int find_needed(const char *name, int code, int *ret_fd, Diag *reterr) {
        _cleanup_free_ char *path = NULL;
        int fd = find_program(name, &path);

        if (fd < 0 && find_is_missing(-fd))
                return diag(reterr, code, "%s is not beside lethe and not at %s; fix: install the program there", name,
                            path ?: "its place");
        *ret_fd = fd;
        return MIN(fd, 0);
}

static char *find_real_folder(const char *name) {
        char path[PATH_MAX + 64];
        _cleanup_close_ int fd = find_open(name, O_DIRECTORY, path);

        return fd < 0 ? NULL : realpath(path, NULL); /* later opened without following links */
}

char *find_shims(void) {
        return find_real_folder("shim-root");
}

char *find_skill(const char *name) {
        char below[NAME_MAX];

        return snprintf(below, sizeof(below), "skills/%s", name) < (int)sizeof(below) ? find_real_folder(below) : NULL;
}
