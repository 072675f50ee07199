#include "request/secrets.h"

#include "base/quiet.h"
#include "engine/skill.h"
#include "ledger/anchor.h"
#include "policy/hide.h"
#include "policy/place.h"
#include "spawn/alias.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PASSWD_BYTES 4096

static const char *secrets_socket;

void secrets_set_socket(const char *path) {
        secrets_socket = path;
}

typedef struct SecretsList {
        Hidden *v;
        size_t n;
        bool aliases; /* also where else each can be seen */
        Diag *reterr;
} SecretsList;

static void secrets_free(SecretsList *l) {
        for (size_t i = 0; i < l->n; i++)
                free(l->v[i].path);
        free(l->v);
}

static int secrets_add_one(SecretsList *l, const Hidden *h) {
        Hidden *more = reallocarray(l->v, l->n + 1, sizeof(*more));

        if (!more)
                return -ENOMEM;
        l->v = more;
        more[l->n] = *h;
        more[l->n].path = strdup(h->path);
        return more[l->n++].path ? 0 : -ENOMEM;
}

/* A region of the same user reaches no path that cannot be reached from here; of a file system that does not answer nobody knows. */
static int secrets_failed(SecretsList *l, const char *path, int e) {
        if (e != -ETIMEDOUT)
                return e == -ENOMEM ? e : 0;
        return diag(l->reterr, GRANT_E_REFUSED, "\"%s\", which no region may be shown, cannot be looked for: %s", path, quiet_strerror(e));
}

/* A file with a second name would be shown by that, wherever it is: nobody can find it. Returns 0 or GRANT_E_REFUSED. */
static int secrets_check_links(const SecretsList *l, const char *real, const char *what) {
        struct stat st;

        if (!l->aliases || quiet_stat(real, false, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink < 2)
                return 0;
        return diag(l->reterr, GRANT_E_REFUSED,
                    "%s is %s, and has another name somewhere on its file system (%lu links), by which a granted folder could show it; fix: remove that name", real, what,
                    (unsigned long)st.st_nlink);
}

static bool secrets_is_folder(const char *path) {
        struct stat st;

        return quiet_stat(path, false, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Splits a path that is not there into the part that exists, without links, and the rest. */
static int secrets_add_absent(SecretsList *l, const char *path, Hidden h) {
        _cleanup_free_ char *above = strdup(path);
        char *slash;

        while (above && (slash = strrchr(above, '/')) && slash > above) {
                _cleanup_free_ char *real = NULL, *whole = NULL;
                int e;

                *slash = 0;
                e = quiet_real(above, &real);
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

/* ours: this user, or whom a region of this user's could act for, can make it: then it counts also while it is not there. What cannot be reached from here, a
 * region of the same user cannot reach. */
static int secrets_add(SecretsList *l, const char *path, Hidden h, bool ours) {
        _cleanup_free_ char *real = NULL, *data = NULL;
        _cleanup_strv_ char **at = NULL;
        struct stat st, of_data;
        int r = quiet_real_stat(path, &real, &st);

        if (r < 0)
                return ours && r == -ENOENT && *path == '/' ? secrets_add_absent(l, path, h) : secrets_failed(l, path, r);
        if (h.secret && asprintf(&data, "%s/data.mdb", real) < 0) {
                data = NULL;
                return -ENOMEM;
        }
        /* A store is made elsewhere and renamed over an empty folder, and what hides that one goes with it. */
        r = data ? quiet_stat(data, true, &of_data) : 0;
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
                r = alias_paths(real, &at);
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

static const Hidden a_store = {.what = "where a store of Lethe's is", .secret = true}, an_anchor = {.what = "where Lethe keeps copies of checkpoints"},
                    a_policy = {.what = "where the operator's policy is"}, a_socket = {.what = "where a socket of Lethe's is"};

static int secrets_of_home(SecretsList *l, const char *home, bool ours) {
        int r = secrets_add_in(l, home, ".local/state/lethe", a_store, ours);

        if (r == 0)
                r = secrets_add_in(l, home, ".local/state/lethe-anchors", an_anchor, ours);
        return r == 0 ? secrets_add_in(l, home, ".config/lethe", a_policy, ours) : r;
}

/* HOME may say something else than the user's entry; network accounts have no other. Out: "" for none. */
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

/* Where they are when nobody says otherwise: for this user, and for root. */
static int secrets_usual(SecretsList *l) {
        const bool root = geteuid() == 0;
        const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
        char own[PATH_MAX];
        int r = home ? secrets_of_home(l, home, true) : 0;

        secrets_home_of_user(own);
        if (r == 0 && *own && (!home || strcmp(home, own) != 0))
                r = secrets_of_home(l, own, false);
        if (r == 0 && strcmp(own, "/root") != 0)
                r = secrets_of_home(l, "/root", false);
        if (r == 0)
                r = secrets_add_in(l, state, "lethe", a_store, true);
        if (r == 0)
                r = secrets_add_in(l, state, "lethe-anchors", an_anchor, true);
        if (r == 0)
                r = secrets_add_in(l, getenv("XDG_CONFIG_HOME"), "lethe", a_policy, true);
        if (r == 0)
                r = secrets_add_in(l, getenv("XDG_RUNTIME_DIR"), "lethe", a_socket, true);
        if (r == 0)
                r = secrets_add(l, "/etc/lethe", a_policy, root);
        if (r == 0)
                r = secrets_add(l, "/run/lethe", a_socket, root);
        return r == 0 ? secrets_add(l, "/var/lib/lethe", (Hidden){.what = "where the daemon's store is"}, root) : r;
}

/* Adds the places that are in use, wherever they are. */
static int secrets_named(SecretsList *l, const SecretsOf *of) {
        const char *dir = of->store ? store_dir(of->store) : of->store_dir, *anchor = anchor_said(), *policy = getenv("LETHE_POLICY"),
                   *socket = getenv("LETHE_SOCKET"), *store = getenv("LETHE_STORE");
        int r = dir ? secrets_add(l, dir, (Hidden){.what = "the store, which has the signing key"}, false) : 0;

        if (r == 0 && of->policy && of->policy->path)
                r = secrets_add(l, of->policy->path, (Hidden){.what = "the operator's policy"}, false);
        if (r == 0 && anchor)
                r = secrets_add(l, anchor, (Hidden){.what = "the store's anchor"}, false);
        if (r == 0 && policy && *policy)
                r = secrets_add(l, policy, a_policy, false);
        if (r == 0 && store && *store)
                r = secrets_add(l, store, (Hidden){.what = a_store.what}, false);
        if (r == 0 && secrets_socket)
                r = secrets_add(l, secrets_socket, a_socket, false);
        return r == 0 && socket && *socket ? secrets_add(l, socket, a_socket, false) : r;
}

static int secrets_skills(SecretsList *l, Store *store, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        SkillRow *rows = NULL;
        size_t n = 0;
        int r = store_begin_at_once(store, &t, reterr);

        if (r == 0)
                r = engine_skill_list(t, &rows, &n);
        for (size_t i = 0; i < n; i++) {
                if (r == 0)
                        r = secrets_add(l, rows[i].folder, (Hidden){.what = "a registered skill", .skill = true}, false);
                skill_row_deinit(&rows[i]);
        }
        free(rows);
        return r > 0 ? diag(reterr, GRANT_E_REFUSED, "registered skills cannot be listed, so that none could be hidden: %s", reterr->text) : r;
}

int secrets_settle(Grant *g, const SecretsOf *of, Diag *reterr) {
        __attribute__((cleanup(secrets_free))) SecretsList l = {.aliases = g->n_files > 0, .reterr = reterr};
        int r = places_check(g, reterr);

        if (r == 0)
                r = secrets_named(&l, of);
        if (r == 0 && g->n_files > 0)
                r = secrets_usual(&l);
        if (r == 0 && g->n_files > 0 && of->store)
                r = secrets_skills(&l, of->store, reterr);
        if (r == 0)
                r = grant_hide(g, l.v, l.n, reterr);
        return r == 0 ? place_pin(g) : r;
}
