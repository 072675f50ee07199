#include "request/secrets.h"

#include "base/path-lookup.h"
#include "engine/skill.h"
#include "ledger/anchor.h"
#include "policy/hide.h"
#include "policy/place.h"
#include "base/io.h"
#include "manifest/vocabulary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PASSWD_BYTES 4096
#define SECRETS_LIST_MAX (16 * 1024 * 1024) /* of mountinfo */

static const char *secrets_socket;

void secrets_set_socket(const char *path) {
        secrets_socket = path;
}

typedef struct SecretsList {
        Hidden *v;
        size_t n;
        bool aliases; /* also all other paths of each place */
        Diag *reterr;
} SecretsList;

/* A line of /proc/self/mountinfo (proc_pid_mountinfo(5)). */
typedef struct SecretsMount {
        char device[32];     /* major:minor of the file system */
        char root[PATH_MAX]; /* the mounted part of the file system */
        char point[PATH_MAX];
} SecretsMount;

/* A space, a tab, a newline and a backslash are octal. False: longer than a path. */
static bool secrets_alias_field(const char **p, char *ret, size_t room) {
        size_t n = 0;

        while (**p && **p != ' ' && **p != '\n') {
                const char *s = *p;
                char c = *s++;

                if (c == '\\' && s[0] >= '0' && s[0] <= '3' && s[1] >= '0' && s[1] <= '7' && s[2] >= '0' &&
                    s[2] <= '7') {
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

static bool secrets_alias_line(const char *line, SecretsMount *ret) {
        char number[32], parent[32];

        return secrets_alias_field(&line, number, sizeof(number)) &&
               secrets_alias_field(&line, parent, sizeof(parent)) &&
               secrets_alias_field(&line, ret->device, sizeof(ret->device)) &&
               secrets_alias_field(&line, ret->root, sizeof(ret->root)) &&
               secrets_alias_field(&line, ret->point, sizeof(ret->point));
}

/* `path` as seen below `to` instead of `from`. False: `path` is not below `from`, or too long. */
static bool secrets_alias_move(const char *path, const char *from, const char *to, char ret[static PATH_MAX]) {
        const char *rest;

        if (!path_is_under(path, from))
                return false;
        rest = from[1] ? path + strlen(from) : path[1] ? path : "";
        return snprintf(ret, PATH_MAX, "%s%s", to[1] || !*rest ? to : "", rest) < PATH_MAX;
}

/* The mount of a path: the deepest mount point above, and the last mount there. False: no mount. */
static bool secrets_alias_mount_of(const char *list, const char *path, SecretsMount *ret) {
        SecretsMount m;
        bool found = false;

        for (const char *p = list; *p; p += strcspn(p, "\n"), p += *p == '\n')
                if (secrets_alias_line(p, &m) && path_is_under(path, m.point) &&
                    (!found || strlen(m.point) >= strlen(ret->point))) {
                        *ret = m;
                        found = true;
                }
        return found;
}

static bool secrets_alias_is(const char *path, const struct stat *of) {
        struct stat st;

        return lookup_stat(path, false, &st) == 0 && st.st_dev == of->st_dev && st.st_ino == of->st_ino;
}

static int secrets_alias_find(const char *list, const char *real, const struct stat *st, char ***ret) {
        char inside[PATH_MAX], path[PATH_MAX];
        SecretsMount own, m;
        int r = 0;

        if (!secrets_alias_mount_of(list, real, &own) || !secrets_alias_move(real, own.point, own.root, inside))
                return 0;
        for (const char *p = list; r == 0 && *p; p += strcspn(p, "\n"), p += *p == '\n') {
                if (!secrets_alias_line(p, &m) || strcmp(m.device, own.device) != 0)
                        continue;
                if (secrets_alias_move(inside, m.root, m.point, path)) {
                        if (strcmp(path, real) != 0 && !strv_has(*ret, path) && secrets_alias_is(path, st))
                                r = strv_add(ret, path);
                } else if (path_is_under(m.root, inside) && !strv_has(*ret, m.point))
                        r = strv_add(ret, m.point);
        }
        return r;
}

/* The paths of `real` (absolute, existing, without symbolic links) or of a part of `real` in this process's mounts,
 * `real` first. A mounted part is listed by its mount point. *ret: owned strings. Returns 0 or -errno. */
static int secrets_alias_paths(const char *real, char ***ret) {
        _cleanup_free_ char *list = NULL;
        _cleanup_strv_ char **paths = NULL;
        struct stat st;
        size_t n;
        int r = lookup_stat(real, false, &st)
                        ?: io_read_file(AT_FDCWD, "/proc/self/mountinfo", SECRETS_LIST_MAX, &list, &n)
                        ?: strv_add(&paths, real)
                        ?: secrets_alias_find(list, real, &st, &paths);

        if (r == 0)
                *ret = TAKE_PTR(paths);
        return r;
}

static void secrets_free(SecretsList *l) {
        for (size_t i = 0; i < l->n; i++)
                free(l->v[i].path);
        free(l->v);
}

static int secrets_add_one(SecretsList *l, const Hidden *h) {
        if (!GROW(l->v, l->n))
                return -ENOMEM;
        l->v[l->n] = *h;
        l->v[l->n].path = strdup(h->path);
        return l->v[l->n++].path ? 0 : -ENOMEM;
}

/* A path out of reach of this process is out of reach of the same user's regions; a time-out leaves that open. */
static int secrets_failed(SecretsList *l, const char *path, int e) {
        if (e != -ETIMEDOUT)
                return e == -ENOMEM ? e : 0;
        return diag(l->reterr, GRANT_E_REFUSED, "\"%s\", which every region must not see, cannot be searched: %s", path,
                    lookup_strerror(e));
}

/* A second hard link would show the file, at an unknown place. Returns 0 or GRANT_E_REFUSED. */
static int secrets_check_links(const SecretsList *l, const char *real, const char *what) {
        struct stat st;

        if (!l->aliases || lookup_stat(real, false, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink < 2)
                return 0;
        return diag(l->reterr, GRANT_E_REFUSED, "%s is %s, and has another name somewhere on its file system (%lu "
                    "links), by which a granted folder could show the file; fix: remove that name", real, what,
                    (unsigned long)st.st_nlink);
}

static bool secrets_is_folder(const char *path) {
        struct stat st;

        return lookup_stat(path, false, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Splits a missing path into the existing part, without links, and the rest. */
static int secrets_add_absent(SecretsList *l, const char *path, Hidden h) {
        _cleanup_free_ char *above = strdup(path);
        char *slash;

        while (above && (slash = strrchr(above, '/')) && slash > above) {
                _cleanup_free_ char *real = NULL, *whole = NULL;
                int e;

                *slash = 0;
                e = lookup_real(above, &real);
                if (e == -ENOENT)
                        continue;
                if (e < 0)
                        return secrets_failed(l, above, e);
                if (asprintf(&whole, "%s%s", real[1] ? real : "", path + strlen(above)) < 0) {
                        whole = NULL;
                        return -ENOMEM;
                }
                h.path = whole;
                h.absent = true;
                return secrets_add_one(l, &h);
        }
        return above ? 0 : -ENOMEM;
}

/* ours: this user, or a user who the region could act for, can make the path: then the path is hidden also while
 * missing. A path out of reach of this process is out of reach of the same user's regions. */
static int secrets_add(SecretsList *l, const char *path, Hidden h, bool ours) {
        _cleanup_free_ char *real = NULL, *data = NULL;
        _cleanup_strv_ char **at = NULL;
        struct stat st, of_data;
        int r = lookup_real_stat(path, &real, &st);

        if (r < 0)
                return ours && r == -ENOENT && *path == '/' ? secrets_add_absent(l, path, h)
                                                            : secrets_failed(l, path, r);
        if (h.secret && asprintf(&data, "%s/data.mdb", real) < 0) {
                data = NULL;
                return -ENOMEM;
        }
        /* A store is made elsewhere and renamed over an empty folder, which replaces the folder and its mask. */
        r = data ? lookup_stat(data, true, &of_data) : 0;
        if (r == -ETIMEDOUT)
                return secrets_failed(l, path, r);
        if (r < 0) {
                h.path = real;
                h.absent = true;
                return ours ? secrets_add_one(l, &h) : 0;
        }
        r = secrets_check_links(l, real, h.what);
        if (r != 0)
                return r;
        if (l->aliases)
                r = secrets_alias_paths(real, &at);
        else
                r = strv_add(&at, real);
        for (size_t i = 0; r == 0 && at[i]; i++) {
                h.path = at[i];
                h.folder = l->aliases ? secrets_is_folder(at[i]) : S_ISDIR(st.st_mode);
                r = secrets_add_one(l, &h);
        }
        return r == -ENOENT || r == -EACCES ? 0 : r;
}

static int secrets_add_in(SecretsList *l, const char *folder, const char *name, Hidden h, bool ours) {
        _cleanup_free_ char *path = NULL;

        if (!folder || *folder != '/')
                return 0;
        if (asprintf(&path, "%s/%s", folder, name) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        return secrets_add(l, path, h, ours);
}

static const Hidden a_store = {.what = "a store of Lethe", .secret = true},
                    an_anchor = {.what = "a folder with copies of checkpoints"},
                    a_policy = {.what = "the operator's policy"}, a_socket = {.what = "a socket of Lethe"},
                    daemon_store = {.what = "the daemon's store"};

static int secrets_of_home(SecretsList *l, const char *home, bool ours) {
        return secrets_add_in(l, home, ".local/state/lethe", a_store, ours)
                        ?: secrets_add_in(l, home, ".local/state/lethe-anchors", an_anchor, ours)
                        ?: secrets_add_in(l, home, ".config/lethe", a_policy, ours);
}

/* The home of the user's entry, which HOME may contradict; "" without an entry, as for a network account. */
static void secrets_home_of_user(char ret[static PATH_MAX]) {
        FILE *f = fopen("/etc/passwd", "re");
        struct passwd pw, *found = NULL;
        char text[PASSWD_BYTES];

        *ret = 0;
        while (f && fgetpwent_r(f, &pw, text, sizeof(text), &found) == 0 && found)
                if (pw.pw_uid == geteuid() && pw.pw_dir[0] == '/' && pw.pw_dir[1]) {
                        snprintf(ret, PATH_MAX, "%s", pw.pw_dir);
                        break;
                }
        if (f)
                fclose(f);
}

/* Adds the standard places: of this user, and of root. */
static int secrets_usual(SecretsList *l) {
        const bool root = geteuid() == 0;
        const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
        const struct {
                const char *folder, *name;
                const Hidden *hidden;
                bool ours;
        } places[] = {
                {state, "lethe", &a_store, true}, {state, "lethe-anchors", &an_anchor, true},
                {getenv("XDG_CONFIG_HOME"), "lethe", &a_policy, true},
                {getenv("XDG_RUNTIME_DIR"), "lethe", &a_socket, true},
                {"/etc", "lethe", &a_policy, root}, {"/run", "lethe", &a_socket, root},
                {"/var/lib", "lethe", &daemon_store, root},
        };
        char own[PATH_MAX];
        int r = home ? secrets_of_home(l, home, true) : 0;

        secrets_home_of_user(own);
        if (r == 0 && *own && (!home || strcmp(home, own) != 0))
                r = secrets_of_home(l, own, false);
        if (r == 0 && strcmp(own, "/root") != 0)
                r = secrets_of_home(l, "/root", false);
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(places); i++)
                r = secrets_add_in(l, places[i].folder, places[i].name, *places[i].hidden, places[i].ours);
        return r;
}

/* Adds the places in use. */
static int secrets_named(SecretsList *l, const SecretsOf *of) {
        const struct {
                const char *path;
                Hidden hidden;
        } places[] = {
                {of->store ? store_dir(of->store) : of->store_dir, {.what = "the store, which has the signing key"}},
                {of->policy ? of->policy->path : NULL, {.what = "the operator's policy"}},
                {anchor_said(), {.what = "the store's anchor"}},
                {getenv("LETHE_POLICY"), a_policy},
                {getenv("LETHE_STORE"), {.what = a_store.what}},
                {secrets_socket, a_socket},
                {getenv("LETHE_SOCKET"), a_socket},
        };
        const char *name;
        json_t *source;
        int r = 0;

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(places); i++)
                if (places[i].path && *places[i].path)
                        r = secrets_add(l, places[i].path, places[i].hidden, false);
        if (of->policy)
                json_object_foreach(of->policy->secrets, name, source) {
                        if (r == 0 && *json_str(source, "file"))
                                r = secrets_add(l, json_str(source, "file"), (Hidden){.what = "a secret of the policy"}, false);
                }
        return r;
}

static int secrets_skills(SecretsList *l, Store *store, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        SkillRow *rows = NULL;
        size_t n = 0;
        int r = store_begin_at_once(store, &t, reterr) ?: engine_skill_list(t, &rows, &n);

        for (size_t i = 0; r == 0 && i < n; i++)
                r = secrets_add(l, rows[i].folder, (Hidden){.what = "a registered skill", .skill = true}, false);
        skill_rows_free(rows, n);
        return r > 0 ? diag(reterr, GRANT_E_REFUSED, "registered skills cannot be listed and so cannot be hidden: %s",
                            reterr->text)
                     : r;
}

int secrets_settle(Grant *g, const SecretsOf *of, Diag *reterr) {
        __attribute__((cleanup(secrets_free))) SecretsList l = {.aliases = g->n_files > 0, .reterr = reterr};
        int r = places_check(g, reterr) ?: secrets_named(&l, of);

        if (r == 0 && g->n_files > 0)
                r = secrets_usual(&l);
        if (r == 0 && g->n_files > 0 && of->store)
                r = secrets_skills(&l, of->store, reterr);
        return r ?: grant_hide(g, l.v, l.n, reterr) ?: place_pin(g);
}
