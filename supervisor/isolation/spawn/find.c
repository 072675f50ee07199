#include "spawn/find.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder_first;

void find_set_folder(const char *folder) {
        folder_first = folder;
}

static char own[PATH_MAX]; /* the folder of the running program; empty: not known */

static void find_own(void) {
        ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
        char *slash = n > 0 ? strrchr(own, '/') : NULL;

        if (slash)
                *slash = 0;
        else
                *own = 0;
}

static const char *own_folder(void) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        pthread_once(&once, find_own);
        return *own ? own : NULL;
}

/* Opens what belongs to Lethe. A tree that was installed below another prefix, or moved as a whole, is found from its own bin folder. */
static int find(const char *name, int flags, char path[static PATH_MAX + 64]) {
        const char *beside = own_folder();
        const struct {
                const char *folder, *below;
        } places[] = {{folder_first, ""}, {beside, ""}, {beside, "/../libexec/lethe"}, {LETHE_LIBEXECDIR, ""}};
        int fd = -1;

        for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(places); i++) {
                if (!places[i].folder)
                        continue;
                snprintf(path, PATH_MAX + 64, "%s%s/%s", places[i].folder, places[i].below, name);
                fd = open(path, O_PATH | O_CLOEXEC | flags);
        }
        return fd < 0 ? -errno : fd;
}

int find_program(const char *name, char **ret_path) {
        char path[PATH_MAX + 64];
        int fd = find(name, 0, path);

        if (ret_path)
                *ret_path = strdup(path);
        return fd;
}

int find_worker(char **ret_path) {
        return find_program("lethe-worker", ret_path);
}

char *find_shims(void) {
        char path[PATH_MAX + 64];
        _cleanup_close_ int fd = find("shim-root", O_DIRECTORY, path);

        return fd < 0 ? NULL : realpath(path, NULL); /* it is opened without following a link */
}

char *find_skill(const char *name) {
        char path[PATH_MAX + 64], below[NAME_MAX];
        _cleanup_close_ int fd = -1;

        if (snprintf(below, sizeof(below), "skills/%s", name) >= (int)sizeof(below))
                return NULL;
        fd = find(below, O_DIRECTORY, path);
        return fd < 0 ? NULL : realpath(path, NULL);
}
