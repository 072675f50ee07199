#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool output_is_there(const char *dir, const char *name) {
        _cleanup_free_ char *path = NULL;
        struct stat st;

        return asprintf(&path, "%s/%s", dir, name) >= 0 && lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

int store_check_output(const char *path, Diag *reterr) {
        _cleanup_free_ char *folder = NULL, *real = NULL;
        char *slash;

        if (asprintf(&folder, *path == '/' ? "%s" : "./%s", path) < 0) {
                folder = NULL;
                return -ENOMEM;
        }
        do { /* missing folders will be made in the last existing folder */
                slash = strrchr(folder, '/');
                slash[slash == folder] = 0;
                real = realpath(folder, NULL);
        } while (!real && (errno == ENOENT || errno == ENOTDIR) && slash > folder);
        if (!real)
                return 0; /* the later write reports the error */
        while ((slash = strrchr(real, '/'))) {
                if (output_is_there(real, "data.mdb") && output_is_there(real, "key"))
                        return diag(reterr, -EPERM,
                                    "%s: lies in the store %s, for Lethe's own files only; fix: another folder", path,
                                    real);
                if (slash == real)
                        break;
                *slash = 0;
        }
        return 0;
}
