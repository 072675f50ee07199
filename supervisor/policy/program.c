#include "policy/program.h"

#include "manifest/terms.h"
#include "policy/request.h"
#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool in_system_folder(const char *path) {
        static const char *const folders[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                if (path_is_under(path, folders[i]))
                        return true;
        return false;
}

/* The first file of that name in REGION_PATH, as a shell would find it: owned, or NULL in *ret. */
static int search(const char *name, char **ret) {
        const char *p = REGION_PATH;

        *ret = NULL;
        while (*p) {
                size_t n = strcspn(p, ":");
                char *path;
                struct stat st;

                if (asprintf(&path, "%.*s/%s", (int)n, p, name) < 0)
                        return -ENOMEM;
                if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111)) {
                        *ret = path;
                        return 0;
                }
                free(path);
                p += n;
                p += *p == ':';
        }
        return 0;
}

/* Opens, judges and hashes the file itself: one descriptor for all three, so that they speak of the same file. */
static int judge(const char *path, const char *shown, char ret_digest[static DIGEST_TEXT_MAX], Diag *reterr) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        struct stat st;
        int r;

        if (fd < 0)
                return diag(reterr, REQUEST_E_NOT_EXECUTABLE, "--exec \"%s\": cannot be read, so that its digest cannot be recorded: %s", shown,
                            strerror(errno));
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return diag(reterr, REQUEST_E_NOT_EXECUTABLE, "--exec \"%s\": not a file", shown);
        if (!(st.st_mode & 0111))
                return diag(reterr, REQUEST_E_NOT_EXECUTABLE, "--exec \"%s\": not executable", shown);
        r = bundle_program_digest(fd, path, ret_digest, reterr);
        return r > 0 ? REQUEST_E_BAD : r;
}

int program_find(const char *program, char **ret_path, bool *ret_bind, char ret_digest[static DIGEST_TEXT_MAX], Diag *reterr) {
        _cleanup_free_ char *found = NULL, *real = NULL, *plain = NULL;
        char shown[256];
        int r;

        diag_quote(program, strlen(program), shown, sizeof(shown));
        if (!*program)
                return diag(reterr, REQUEST_E_BAD, "--exec is empty: it names a program");
        if (strchr(program, '/'))
                r = (found = strdup(program)) ? 0 : -ENOMEM;
        else
                r = search(program, &found);
        if (r < 0)
                return r;
        if (!found)
                return diag(reterr, REQUEST_E_NOT_FOUND, "--exec \"%s\": not found in %s", shown, REGION_PATH);
        real = realpath(found, NULL);
        if (!real)
                return errno == ENOMEM ? -ENOMEM : diag(reterr, REQUEST_E_NOT_FOUND, "--exec \"%s\": %s", shown, strerror(errno));
        r = judge(real, shown, ret_digest, reterr);
        if (r)
                return r;
        *ret_bind = !in_system_folder(real);
        r = path_normalise(*ret_bind ? real : found, &plain, reterr);
        if (r == 0 && !*ret_bind && !in_system_folder(plain))
                r = 1; /* a link from elsewhere into a system folder: the region has only its end */
        if (r > 0) {
                free(plain);
                plain = NULL;
                r = path_normalise(real, &plain, reterr);
        }
        if (r)
                return r < 0 ? r : REQUEST_E_BAD;
        *ret_path = TAKE_PTR(plain);
        return 0;
}
