#include "spawn/trusted.h"

#include "base/buf.h"
#include "base/owner.h"

#include <glob.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* Beside those that the interpreter itself comes with. Each one takes those of its own version, in its own order. */
static const struct {
        const char *interpreter, *folders[10];
} trusted_places[] = {
        {"python3", {"/usr/lib/python3/dist-packages", "/usr/lib/python3.*/site-packages", "/usr/lib64/python3.*/site-packages",
                     "/usr/local/lib/python3.*/dist-packages", "/usr/local/lib/python3.*/site-packages", "/usr/local/lib64/python3.*/site-packages"}},
        {"perl", {"/usr/share/perl5", "/usr/share/perl5/*_perl", "/usr/share/perl/*", "/usr/lib/*/perl-base", "/usr/lib/*/perl/*", "/usr/lib/*/perl5/*",
                  "/usr/lib*/perl5", "/usr/lib*/perl5/*_perl", "/usr/local/share/perl*/*", "/usr/local/lib/*/perl/*"}},
        {"lethe-load", {"/lib", "/lib64", "/lib/*-linux-gnu*", "/usr/lib", "/usr/lib64", "/usr/lib/*-linux-gnu*", "/usr/local/lib", "/usr/local/lib64",
                        "/usr/local/lib/*-linux-gnu*"}},
};

static bool trusted_one(const char *path) {
        struct stat st;

        return lstat(path, &st) == 0 && st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH)) && owner_server(path, &st) == 0;
}

bool trusted_path(const char *path) {
        char real[PATH_MAX];

        if (!realpath(path, real) || !trusted_one("/") || !trusted_one(real))
                return false;
        for (char *slash = strchr(real + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = 0;
                if (!trusted_one(real))
                        return false;
                *slash = '/';
        }
        return true;
}

/* Returns 0 or -ENOMEM. */
static int trusted_add(Buf *b, const char *pattern) {
        glob_t found;
        int e = 0;

        if (glob(pattern, 0, NULL, &found) != 0)
                return 0;
        for (size_t i = 0; i < found.gl_pathc && e == 0; i++) {
                const char *path = found.gl_pathv[i];

                if (!strchr(path, ':') && trusted_path(path))
                        e = buf_add(b, path, strlen(path)) ?: buf_add(b, ":", 1);
        }
        globfree(&found);
        return e;
}

char *trusted_folders(const char *interpreter) {
        const char *slash = strrchr(interpreter, '/'), *name = slash ? slash + 1 : interpreter;
        Buf b = {};
        int e = 0;

        for (size_t i = 0; i < ARRAY_SIZE(trusted_places); i++)
                for (size_t k = 0; k < ARRAY_SIZE(trusted_places[i].folders) && trusted_places[i].folders[k] && e == 0; k++)
                        if (strcmp(trusted_places[i].interpreter, name) == 0)
                                e = trusted_add(&b, trusted_places[i].folders[k]);
        if (e == 0)
                e = buf_add(&b, "", 1);
        if (e < 0)
                buf_deinit(&b);
        else if (b.n > 1)
                b.data[b.n - 2] = 0; /* the last ':' */
        return e < 0 ? NULL : b.data;
}
