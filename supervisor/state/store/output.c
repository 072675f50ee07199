#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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
        do { /* the folders that are still to be made lie in the last one that is there */
                slash = strrchr(folder, '/');
                slash[slash == folder] = 0;
                real = realpath(folder, NULL);
        } while (!real && (errno == ENOENT || errno == ENOTDIR) && slash > folder);
        if (!real)
                return 0; /* whoever writes there will say why it cannot */
        while ((slash = strrchr(real, '/'))) {
                if (output_is_there(real, "data.mdb") && output_is_there(real, "key"))
                        return diag(reterr, -EPERM, "%s: lies in the store %s, in which only Lethe's own files are; fix: another folder", path, real);
                if (slash == real)
                        break;
                *slash = 0;
        }
        return 0;
}
