#include "policy/program.h"

#include "base/cache.h"
#include "base/quiet.h"
#include "base/waiting.h"
#include "base/owner.h"
#include "manifest/copy.h"
#include "manifest/terms.h"
#include "policy/request.h"
#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define WORTH_BYTES 8192 /* a smaller file is hashed sooner than its digest is looked up */

int program_settled_sec = 2;

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

/* What a digest was taken of. */
typedef struct Seen {
        uint64_t bytes;
        int64_t mtime_sec, mtime_nsec, ctime_sec, ctime_nsec;
} Seen;

typedef struct KnownDigest {
        Seen seen;
        char digest[DIGEST_TEXT_MAX];
} KnownDigest;

static Seen seen_of(const struct stat *st) {
        return (Seen){(uint64_t)st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec, st->st_ctim.tv_sec, st->st_ctim.tv_nsec};
}

/* A program of a system package is large (node has 95 MB) and changes when the package does. Its digest may be remembered when only root can write
 * it: whoever else can write may hold a mapping of it, and what is written there leaves the times as they were. A file that changed within the
 * last seconds may change once more without another time. */
static bool may_be_known(const struct stat *st) {
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return st->st_uid == 0 && !(st->st_mode & 022) && st->st_ctim.tv_sec + program_settled_sec < now.tv_sec;
}

static void known_name(const struct stat *st, char ret[static NAME_MAX]) {
        snprintf(ret, NAME_MAX, "program-%llx-%llx", (unsigned long long)st->st_dev, (unsigned long long)st->st_ino);
}

static bool known_digest(int cache, const struct stat *st, char ret[static DIGEST_TEXT_MAX]) {
        _cleanup_free_ uint8_t *bytes = NULL;
        const Seen seen = seen_of(st);
        char name[NAME_MAX];
        KnownDigest k;
        size_t n;

        known_name(st, name);
        if (cache_get(cache, name, sizeof(k), &bytes, &n) < 0 || n != sizeof(k))
                return false;
        memcpy(&k, bytes, sizeof(k));
        if (memcmp(&k.seen, &seen, sizeof(seen)) != 0 || memchr(k.digest, 0, sizeof(k.digest)) == NULL)
                return false;
        strcpy(ret, k.digest);
        return true;
}

/* As it was before and after it was read, or it is not remembered. */
static void remember(int cache, int fd, const struct stat *before, const char *digest) {
        KnownDigest k = {.seen = seen_of(before)};
        char name[NAME_MAX];
        struct stat after;
        Seen now;

        if (fstat(fd, &after) < 0)
                return;
        now = seen_of(&after);
        if (memcmp(&now, &k.seen, sizeof(now)) != 0)
                return;
        known_name(before, name);
        strcpy(k.digest, digest);
        cache_put(cache, name, &k, sizeof(k));
}

static int digest(int fd, const char *path, const struct stat *st, const char *store_dir, char ret[static DIGEST_TEXT_MAX], Diag *reterr) {
        _cleanup_close_ int cache = store_dir && st->st_size >= WORTH_BYTES && may_be_known(st) ? cache_open(store_dir) : -1;
        int r;

        if (cache >= 0 && known_digest(cache, st, ret))
                return 0;
        r = bundle_program_digest(fd, path, ret, reterr);
        if (r == 0 && cache >= 0)
                remember(cache, fd, st, ret);
        return r;
}

void program_deinit(Program *p) {
        free(p->path);
        free(p->real);
        free(p->copy);
        *p = (Program){0};
}

/* The file and each folder above it. real: absolute, without symlinks. In a user namespace that does not know root, what root owns belongs to nobody that it
 * knows; there the owner of the root folder is root, for the system's own folders. */
static bool only_root_writes(const char *real) {
        char path[PATH_MAX];
        struct stat st;
        uid_t system = 0;

        if (strlen(real) >= sizeof(path))
                return false;
        if (in_system_folder(real) && stat("/", &st) == 0)
                system = st.st_uid;
        strcpy(path, real);
        for (;;) {
                char *slash = strrchr(path, '/');

                if (lstat(*path ? path : "/", &st) < 0 || (st.st_uid != 0 && st.st_uid != system) || (st.st_mode & (S_IWGRP | S_IWOTH)) ||
                    owner_server(*path ? path : "/", &st) != 0)
                        return false;
                if (!*path)
                        return true;
                *slash = 0;
        }
}

/* Opens and judges the file itself: the descriptor is what is hashed and copied, so that all of it is about the same file. */
static int program_open(const char *path, int *ret_fd, struct stat *ret_st, Diag *reterr) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        char shown[256];

        diag_quote(path, strlen(path), shown, sizeof(shown));
        if (fd < 0)
                return diag(reterr, REQUEST_E_NOT_EXECUTABLE, "--exec \"%s\": cannot be read, so that its digest cannot be recorded: %s", shown, strerror(errno));
        if (fstat(fd, ret_st) < 0)
                return -errno;
        if (!S_ISREG(ret_st->st_mode))
                return diag(reterr, REQUEST_E_NOT_EXECUTABLE, "--exec \"%s\": not a file", shown);
        if (!(ret_st->st_mode & 0111))
                return diag(reterr, REQUEST_E_NOT_EXECUTABLE, "--exec \"%s\": not executable", shown);
        *ret_fd = TAKE_FD(fd);
        return 0;
}

static int program_copy_failed(int r) {
        return r > 0 ? REQUEST_E_BAD : r;
}

int program_copy(const char *path, const char *real, const char *store_dir, char ret_digest[static DIGEST_TEXT_MAX], char **ret_copy, Diag *reterr) {
        _cleanup_waiting_ Waiting w = waiting_for("the program", real);
        _cleanup_close_ int fd = -1;
        struct stat st;
        int r = program_open(real, &fd, &st, reterr);

        return r != 0 ? r : program_copy_failed(copy_program(store_dir, fd, strrchr(path, '/') + 1, ret_digest, ret_copy, reterr));
}

int program_find(const char *program, const char *store_dir, Program *ret, Diag *reterr) {
        _cleanup_free_ char *found = NULL, *real = NULL;
        _cleanup_program_ Program p = {0};
        _cleanup_close_ int fd = -1;
        char shown[256];
        struct stat st;
        bool bind, root_only;
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
        r = quiet_real(found, &real);
        if (r < 0)
                return r == -ENOMEM || r == -EMFILE || r == -ENFILE ? r : diag(reterr, r == -ETIMEDOUT ? REQUEST_E_SOURCE : REQUEST_E_NOT_FOUND, "--exec \"%s\": %s", shown, quiet_strerror(r));
        r = quiet_may_read(real);
        if (r < 0)
                return diag(reterr, REQUEST_E_SOURCE, "--exec \"%s\": %s", shown, quiet_strerror(r));
        _cleanup_waiting_ Waiting w = waiting_for("the program", real);
        r = program_open(real, &fd, &st, reterr);
        if (r != 0)
                return r;
        r = digest(fd, real, &st, store_dir, p.digest, reterr);
        if (r != 0)
                return program_copy_failed(r);
        bind = !in_system_folder(real);
        r = path_normalise(bind ? real : found, &p.path, reterr);
        if (r == 0 && !bind && !in_system_folder(p.path))
                r = 1; /* a link from elsewhere into a system folder: the region has only its end */
        if (r > 0) {
                free(TAKE_PTR(p.path));
                r = path_normalise(real, &p.path, reterr);
        }
        root_only = only_root_writes(real);
        if (r == 0 && (bind || !root_only))
                r = path_normalise(real, &p.real, reterr);
        if (r == 0 && p.real && root_only)
                r = (p.copy = strdup(p.real)) ? 0 : -ENOMEM;
        else if (r == 0 && p.real && store_dir) {
                r = copy_find_program(store_dir, p.digest, strrchr(p.path, '/') + 1, &p.copy, reterr);
                r = r == -ENOENT ? 0 : r;
        }
        if (r)
                return program_copy_failed(r);
        *ret = p;
        p = (Program){0};
        return 0;
}
