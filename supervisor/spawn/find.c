#include "spawn/find.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *folder_first;

void find_set_folder(const char *folder) {
        folder_first = folder;
}

/* The folder of the running program. Returns 0 or -errno. */
static int own_folder(char out[static PATH_MAX]) {
        ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
        char *slash;

        if (n < 0)
                return -errno;
        out[n] = 0;
        slash = strrchr(out, '/');
        if (!slash)
                return -ENOENT;
        *slash = 0;
        return 0;
}

int find_worker(char **ret_path) {
        char own[PATH_MAX], path[PATH_MAX + 32] = "lethe-worker";
        const char *folders[] = {folder_first, own_folder(own) == 0 ? own : NULL, LETHE_LIBEXECDIR};
        int fd = -1;

        for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(folders); i++) {
                if (!folders[i])
                        continue;
                snprintf(path, sizeof(path), "%s/lethe-worker", folders[i]);
                fd = open(path, O_PATH | O_CLOEXEC);
        }
        if (ret_path)
                *ret_path = strdup(path);
        return fd < 0 ? -errno : fd;
}

char *find_shims(void) {
        char own[PATH_MAX], path[PATH_MAX + 32];
        const char *folders[] = {folder_first, own_folder(own) == 0 ? own : NULL, LETHE_LIBEXECDIR};
        struct stat st;

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                if (!folders[i])
                        continue;
                snprintf(path, sizeof(path), "%s/shim-root", folders[i]);
                if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
                        return realpath(path, NULL); /* it is opened without following a link */
        }
        return NULL;
}
