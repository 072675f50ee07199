#include "policy/program.h"

#include "base/cache.h"
#include "base/path-lookup.h"
#include "base/watchdog.h"
#include "base/owner.h"
#include "manifest/copy.h"
#include "policy/path-resolution.h"
#include "policy/place.h"
#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define PROGRAM_NOT_INSIDE 100
#define WORTH_BYTES 8192 /* hashing a smaller file is faster than the look-up of its digest */

int program_settled_sec = 2;

typedef struct KnownDigest {
        Look look; /* of the hashed file */
        char digest[DIGEST_TEXT_MAX];
} KnownDigest;

static bool program_look(int fd, Look *ret) {
        return look_at(fd, "", &(const LookRule){0}, ret);
}

/* A program of a system package is large (node has 95 MB) and changes only with the package. The digest may be
 * remembered when only root can write the file: another writer may hold a mapping, and writing through a mapping does
 * not change the times. A file that changed within the last seconds may change again at the same time stamp. */
static bool program_may_be_remembered(int fd, const struct stat *st, Look *ret) {
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return st->st_uid == 0 && !(st->st_mode & 022) && program_look(fd, ret) &&
               ret->changed + program_settled_sec < now.tv_sec;
}

static void program_cache_name(const struct stat *st, char ret[static NAME_MAX]) {
        snprintf(ret, NAME_MAX, "program-%llx-%llx", (unsigned long long)st->st_dev, (unsigned long long)st->st_ino);
}

static bool program_remembered_digest(int cache, const char *name, const Look *look, char ret[static DIGEST_TEXT_MAX]) {
        _cleanup_free_ uint8_t *bytes = NULL;
        KnownDigest k;
        size_t n;

        if (cache_get(cache, name, sizeof(k), &bytes, &n) < 0 || n != sizeof(k))
                return false;
        memcpy(&k, bytes, sizeof(k));
        if (!look_same(&k.look, look) || memchr(k.digest, 0, sizeof(k.digest)) == NULL)
                return false;
        strcpy(ret, k.digest);
        return true;
}

static int program_digest(int fd, const char *path, const struct stat *st, const char *store_dir,
                          char ret[static DIGEST_TEXT_MAX], Diag *reterr) {
        KnownDigest k = {0};
        _cleanup_close_ int cache = store_dir && st->st_size >= WORTH_BYTES &&
                                                    program_may_be_remembered(fd, st, &k.look)
                                            ? cache_open(store_dir) : -1;
        char name[NAME_MAX];
        Look after;
        int r;

        program_cache_name(st, name);
        if (cache >= 0 && program_remembered_digest(cache, name, &k.look, ret))
                return 0;
        r = bundle_program_digest(fd, path, ret, reterr);
        /* Remembered only if the file did not change during the reading. */
        if (r == 0 && cache >= 0 && program_look(fd, &after) && look_same(&k.look, &after)) {
                strcpy(k.digest, ret);
                cache_put(cache, name, &k, sizeof(k));
        }
        return r;
}

void program_deinit(Program *p) {
        free(p->path);
        free(p->link);
        free(p->host);
        free(p->real);
        free(p->copy);
        free(p->note);
        *p = (Program){0};
}

/* Opens and checks the file: the same descriptor is hashed and copied, so that all results are about the same file. */
static int program_open(const char *path, int *ret_fd, struct stat *ret_st, Diag *reterr) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        const char *shown = DIAG_QUOTED(path);

        if (fd < 0)
                return diag(reterr, REQUEST_E_NOT_EXECUTABLE,
                            "--exec \"%s\": cannot be read, so that its digest cannot be recorded: %s", shown,
                            strerror(errno));
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

/* The name by which the program is called, which some programs read: in tier landlock the copy itself is executed. */
static const char *program_name(const Program *p) {
        return strrchr(p->path, '/') + 1;
}

int program_copy(Program *p, const char *store_dir, Diag *reterr) {
        _cleanup_watchdog_ WatchdogWait w = watchdog_wait("the program", p->host);
        _cleanup_close_ int fd = -1;
        struct stat st;
        int r = program_open(p->host, &fd, &st, reterr);

        return r != 0 ? r
                      : program_copy_failed(copy_program(store_dir, fd, program_name(p), p->digest, &p->copy, reterr));
}

static int program_shown(const char *program, int code, int e, Diag *reterr) {
        if (e == -ENOMEM || e == -EMFILE || e == -ENFILE)
                return e;
        if (e == -EACCES || e == -EPERM) /* the file may exist */
                code = REQUEST_E_NOT_EXECUTABLE;
        else if (e != -ENOENT && e != -ENOTDIR && e != -ELOOP && e != -ENAMETOOLONG) /* the path could not be checked */
                code = REQUEST_E_SOURCE;
        return diag(reterr, code, "--exec \"%s\": %s", DIAG_QUOTED(program),
                    lookup_strerror(e));
}

static char *program_join(const char *folder, const char *program) {
        return *program == '/' ? strdup(program) : text_printf("%s/%s", folder, program);
}

/* `folder`/`program`, or an absolute `program`, normalised. */
static int program_absolute(const char *folder, const char *program, char **ret, Diag *reterr) {
        _cleanup_free_ char *path = program_join(folder, program);

        return path ? path_normalise(path, ret, reterr) : -ENOMEM;
}

/* Like program_absolute(), with ".." resolved on the host (view NULL) or in the region. ret_end: see
 * program_inside(). */
static int program_dotted(const char *folder, const char *program, const ProgramView *view, char **ret, char **ret_end,
                          Diag *reterr) {
        _cleanup_free_ char *path = program_join(folder, program), *real = NULL, *whole = NULL;
        _cleanup_resolved_path_ ResolvedPath in = {0};
        char *slash;
        int r;

        if (!path)
                return -ENOMEM;
        slash = strrchr(path, '/');
        *slash = 0;
        r = view ? path_resolve(view->files, view->n_files, *path ? path : "/", &in)
                 : lookup_real(*path ? path : "/", &real);
        if (r == -ENOENT && view)
                *ret_end = TAKE_PTR(in.end);
        if (r < 0)
                return r;
        if (!(whole = text_printf("%s/%s", real ?: in.end, slash + 1)))
                return -ENOMEM;
        return path_normalise(whole, ret, reterr);
}

/* Whether the program can be run in place: a file of a system folder that only root can write. A granted folder, and
 * any other folder of root, may be writable by another region as its owner. */
static bool program_stays(const char *host) {
        return path_is_shared(host) && path_only_root_writes(host);
}

static int program_take(Program *p, const char *path, ResolvedPath *in, const ProgramView *view) {
        p->path = strdup(path);
        p->granted = place_shows(view->files, view->n_files, in->end) != NULL;
        p->loose = !in->settled;
        p->host = TAKE_PTR(in->host);
        if (!p->path)
                return -ENOMEM;
        if (p->granted || !program_stays(p->host))
                p->real = TAKE_PTR(in->end);
        return 0;
}

/* Finds the program in the region. Returns 0, PROGRAM_NOT_INSIDE, REQUEST_E_*, -errno. *ret_end: the resolved part of
 * the path. *ret_out: the program's path on the host, owned, if a link led out of the granted folder. */
static int program_inside(const char *program, const ProgramView *view, Program *p, char **ret_end, char **ret_out,
                          Diag *reterr) {
        const char *folder = view->workdir ?: REGION_WORK_DIR;
        _cleanup_free_ char *plain = NULL;
        _cleanup_resolved_path_ ResolvedPath in = {0};
        const bool dots = path_has_dots(program);
        int r = dots ? program_dotted(folder, program, view, &plain, ret_end, reterr)
                     : program_absolute(folder, program, &plain, reterr);

        if (r > 0)
                return REQUEST_E_BAD;
        if (r == -ENOENT || r == -EISDIR || r == -EACCES) /* a folder of the path does not exist */
                return PROGRAM_NOT_INSIDE;
        r = r ?: path_resolve(view->files, view->n_files, plain, &in);
        if (r == -ENOENT || r == -EISDIR || r == -EACCES) {
                const FileGrant *g = place_shows(view->files, view->n_files, plain);

                *ret_end = TAKE_PTR(in.end);
                if (g && *ret_end && !path_is_under(*ret_end, g->target) &&
                    !(*ret_out = text_printf("%s%s", g->source, plain + strlen(g->target))))
                        return -ENOMEM;
                return PROGRAM_NOT_INSIDE;
        }
        if (r < 0)
                return program_shown(program, REQUEST_E_NOT_FOUND, r, reterr);
        return program_take(p, *program != '/' && !dots ? program : plain, &in, view);
}

/* Makes a link at a path of the host that the region lacks, or uses the link of a system folder. */
static int program_by_link(Program *p, const char *named, const ProgramView *view) {
        const FileGrant end = {.source = p->host, .target = p->host};
        _cleanup_resolved_path_ ResolvedPath in = {0};
        Diag d;

        p->link_loose = owner_check(named, OWNER_ROOT_ALONE, &d) != 0;
        if (path_resolve(&end, 1, named, &in) == 0 && strcmp(in.end, p->host) == 0) {
                p->loose = p->link_loose;
                return (p->path = strdup(named)) ? 0 : -ENOMEM;
        }
        /* no place for a link */
        if (path_target_check(named, false, &d) != 0 || place_shows(view->files, view->n_files, named))
                return (p->path = strdup(p->host)) ? 0 : -ENOMEM;
        p->path = strdup(named);
        p->link = strdup(p->host);
        return p->path && p->link ? 0 : -ENOMEM;
}

/* Finds the virtual environment whose interpreter is the host's program; NULL in *ret: no environment. */
static int program_environment(const char *program, char **ret) {
        static const char *const places[] = {"/../pyvenv.cfg", "/pyvenv.cfg"};
        const char *slash = strrchr(program, '/');

        *ret = NULL;
        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                _cleanup_free_ char *path = NULL, *real = NULL;

                if (!(path = text_printf("%.*s%s", (int)(slash - program), program, places[i])))
                        return -ENOMEM;
                if (lookup_real(path, &real) < 0)
                        continue;
                *strrchr(real, '/') = 0;
                *ret = TAKE_PTR(real);
                return 0;
        }
        return 0;
}

/* Sets the note for an interpreter whose virtual environment the region lacks: it silently uses other packages. */
static int program_note(Program *p) {
        _cleanup_free_ char *real = NULL;
        int r = program_environment(p->path, &real);

        if (r == 0 && real &&
            !(p->note =
                      text_printf("%s is of the Python virtual environment %s, which the region does not see: it runs "
                                  "without its packages; fix: -v %s:%s",
                                  p->path, real, real, real)))
                return -ENOMEM;
        return r;
}

/* A link of a volume whose target the region lacks, such as the interpreter of a virtual environment made by uv or
 * pyenv: called by another path, the interpreter would run without its packages. out: the link on the host. Returns 0
 * when the link has no target, or when (outside an environment) the caller's own path may be used; REQUEST_E_NOT_FOUND,
 * -errno. */
static int program_led_out(const char *program, const char *out, Diag *reterr) {
        _cleanup_free_ char *real = NULL, *environment = NULL;
        int n, r = lookup_real(out, &real);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        r = program_environment(out, &environment);
        if (r < 0 || (!environment && *program != '/'))
                return r;
        n = (int)strlen(real);
        for (int up = environment ? 2 : 1; up > 0 && n > 1; up--) /* PREFIX/bin/python3: the library is in PREFIX too */
                while (n > 1 && real[--n] != '/')
                        ;
        return diag(reterr, REQUEST_E_NOT_FOUND,
                    "--exec \"%s\": %s%s leads to %s, which the region does not see; fix: -v %.*s:%.*s as well",
                    DIAG_QUOTED(program),
                    environment ? "its virtual environment " : "a link", environment ?: "", real, n, real, n, real);
}

/* Finds the program on the host, if the region lacks the path. */
static int program_outside(const char *program, const ProgramView *view, const char *end, Program *p, Diag *reterr) {
        _cleanup_free_ char *named = NULL;
        _cleanup_resolved_path_ ResolvedPath in = {0};
        const char *shown = DIAG_QUOTED(program);
        char cwd[PATH_MAX];
        const FileGrant *over;
        int r;

        if (*program != '/' && !getcwd(cwd, sizeof(cwd)))
                return program_shown(program, REQUEST_E_NOT_FOUND, -errno, reterr);
        r = path_has_dots(program) ? program_dotted(cwd, program, NULL, &named, NULL, reterr)
                                   : program_absolute(cwd, program, &named, reterr);
        r = r ?: lookup_real(named, &p->host);
        if (r == -ENOENT && end && view->n_files > 0)
                return diag(reterr, REQUEST_E_NOT_FOUND,
                            "--exec \"%s\": there is no \"%s\" in the region, and no such program on the host", shown,
                            DIAG_QUOTED(end));
        if (r != 0)
                return r < 0 ? program_shown(program, REQUEST_E_NOT_FOUND, r, reterr) : REQUEST_E_BAD;
        /* visible at the same path */
        if (*program != '/' && path_resolve(view->files, view->n_files, named, &in) == 0 &&
            strcmp(in.host, p->host) == 0) {
                free(TAKE_PTR(p->host));
                return program_take(p, named, &in, view);
        }
        over = place_shows(view->files, view->n_files, named) ?: place_shows(view->files, view->n_files, p->host);
        if (over)
                return diag(reterr, REQUEST_E_NOT_FOUND,
                            "--exec \"%s\": \"%s\" is not in the region: %s, which is granted, stands at %s, and has "
                            "no such program",
                            shown, end ? DIAG_QUOTED(end) : named, over->source,
                            over->target);
        if (strcmp(named, p->host) == 0)
                r = (p->path = strdup(named)) ? 0 : -ENOMEM;
        else
                r = program_by_link(p, named, view);
        r = r ?: program_note(p);
        if (r == 0 && !program_stays(p->host))
                r = program_copy_failed(path_normalise(p->host, &p->real, reterr));
        return r;
}

/* A hint for a name without a slash that no folder of PATH has. */
static const char *program_hint(const char *program, const ProgramView *view) {
        _cleanup_free_ char *path = NULL;
        _cleanup_resolved_path_ ResolvedPath in = {0};
        struct stat st;

        if (lookup_stat(program, true, &st) == 0)
                return "; ./ before it names the one in this folder";
        path = text_printf("%s/%s", view->workdir ?: REGION_WORK_DIR, program);
        if (path && path_resolve(view->files, view->n_files, path, &in) == 0)
                return "; ./ before it names the one in the working folder";
        return "; fix: its package on the host, or its path";
}

int program_find(const char *program, const ProgramView *view, const char *store_dir, Program *ret, Diag *reterr) {
        _cleanup_free_ char *found = NULL, *end = NULL, *out = NULL;
        _cleanup_program_ Program p = {0};
        _cleanup_close_ int fd = -1;
        const char *shown = DIAG_QUOTED(program);
        struct stat st;
        int r = 0;

        if (!*program)
                return diag(reterr, REQUEST_E_BAD, "--exec is empty: it names a program");
        if (!strchr(program, '/'))
                r = path_search(program, &found);
        if (r < 0)
                return r;
        if (!strchr(program, '/') && !found)
                return diag(reterr, REQUEST_E_NOT_FOUND, "--exec \"%s\": not found in %s%s", shown, REGION_PATH,
                            program_hint(program, view));
        r = program_inside(found ?: program, view, &p, &end, &out, reterr);
        if (r == PROGRAM_NOT_INSIDE) {
                r = out ? program_led_out(program, out, reterr) : 0;
                r = r ?: program_outside(found ?: program, view, end, &p, reterr);
        }
        if (r != 0)
                return r;
        r = lookup_may_read(p.host);
        if (r < 0)
                return program_shown(program, REQUEST_E_SOURCE, r, reterr);
        _cleanup_watchdog_ WatchdogWait w = watchdog_wait("the program", p.host);
        r = program_open(p.host, &fd, &st, reterr);
        if (r != 0)
                return r;
        r = program_digest(fd, p.host, &st, store_dir, p.digest, reterr);
        if (r != 0)
                return program_copy_failed(r);
        if (p.real && store_dir) {
                r = copy_find_program(store_dir, p.digest, program_name(&p), &p.copy, reterr);
                r = r == -ENOENT ? 0 : r;
        }
        if (r)
                return program_copy_failed(r);
        *ret = p;
        p = (Program){0};
        return 0;
}
