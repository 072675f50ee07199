#include "policy/request.h"

#include "base/path-lookup.h"
#include "base/size.h"
#include "policy/route.h"
#include "schema/limits.h"

#include <errno.h>
#include <string.h>

#define LIST_MAX 64 /* mounts, connects */
#define ENV_MAX 256

void request_deinit(RunRequest *r) {
        free(r->exec);
        program_deinit(&r->program);
        file_grants_free(r->mounts, r->n_mounts);
        strv_free(r->env);
        free(r->workdir);
        net_grants_free(r->connects, r->n_connects);
        net_names_free(r->allows, r->n_allows);
        strv_free(r->routes);
        free(r->entry);
        free(r->inside);
        free(r->name);
        *r = (RunRequest){0};
}

/* Prefixes a message of vocabulary.h with the option. */
static int request_prefix(int r, const char *option, Diag *reterr) {
        if (r <= 0)
                return r;
        diag_prefix(reterr, "--%s", option);
        return REQUEST_E_BAD;
}

static int request_set_text(char **field, const char *value) {
        char *copy = strdup(value);

        if (!copy)
                return -ENOMEM;
        free(*field);
        *field = copy;
        return 0;
}

typedef enum MountMode { MOUNT_READ, MOUNT_WRITE, MOUNT_OVERLAY } MountMode;

/* option, said: the option, without and with its value, for messages. plain: the source as written. */
static int request_mount(RunRequest *r, const char *option, const char *said, const char *plain, const char *at,
                         MountMode mode, Diag *reterr) {
        const bool write = mode != MOUNT_READ;
        _cleanup_free_ char *source = NULL, *target = NULL, *real = NULL;
        FileGrant *more;
        int q;

        if (r->n_mounts >= LIST_MAX)
                return diag(reterr, REQUEST_E_BAD, "%s: more than %d mounts", said, LIST_MAX);
        q = path_normalise(at, &target, reterr);
        if (q)
                return request_prefix(q, option, reterr);
        q = lookup_real(plain, &real);
        if (q < 0)
                return q == -ENOMEM ? q
                                    : diag(reterr, REQUEST_E_SOURCE, "%s: %s: %s%s", said, DIAG_QUOTED(plain),
                                           lookup_strerror(q),
                                           q == -ENOENT ? "; fix: the path of a file or folder of the host (there are no named volumes)" : "");
        q = path_normalise(real, &source, reterr); /* refuses paths that no record could show */
        if (q)
                return request_prefix(q, option, reterr);
        q = path_target_check(target, !write && (strcmp(source, target) == 0 || strcmp(plain, target) == 0), reterr);
        if (q)
                return request_prefix(q, option, reterr);
        for (size_t i = 0; i < r->n_mounts; i++)
                if (strcmp(r->mounts[i].target, target) == 0)
                        return diag(reterr, REQUEST_E_BAD, "%s: %s is mounted twice", said, target);
        more = reallocarray(r->mounts, r->n_mounts + 1, sizeof(*more));
        if (!more)
                return -ENOMEM;
        r->mounts = more;
        more[r->n_mounts++] = (FileGrant){.source = TAKE_PTR(source), .target = TAKE_PTR(target),
                                              .write = mode == MOUNT_WRITE, .overlay = mode == MOUNT_OVERLAY};
        return 0;
}

/* SRC:DST[:ro|rw|overlay] */
static int request_add_mount(RunRequest *r, const char *value, Diag *reterr) {
        _cleanup_free_ char *copy = strdup(value), *said = NULL;
        const char *shown = DIAG_QUOTED(value);
        size_t n = strlen(value);
        MountMode mode = MOUNT_READ;
        char *colon;

        if (!copy || !(said = text_printf("-v \"%s\"", shown)))
                return -ENOMEM;
        if (n > 3 && (strcmp(copy + n - 3, ":ro") == 0 || strcmp(copy + n - 3, ":rw") == 0)) {
                mode = copy[n - 1] == 'w' ? MOUNT_WRITE : MOUNT_READ;
                copy[n - 3] = 0;
        } else if (n > 8 && strcmp(copy + n - 8, ":overlay") == 0) {
                mode = MOUNT_OVERLAY;
                copy[n - 8] = 0;
        }
        colon = strrchr(copy, ':');
        if (!colon || colon == copy || !colon[1])
                return diag(reterr, REQUEST_E_BAD,
                            "-v \"%s\": must be SOURCE:TARGET, or that with :ro, :rw or :overlay", shown);
        if (colon[1] != '/')
                return diag(reterr, REQUEST_E_BAD,
                            "-v \"%s\": \"%s\" is neither ro, rw, overlay nor an absolute path of the region", shown,
                            DIAG_QUOTED(colon + 1));
        *colon = 0;
        return request_mount(r, "volume", said, copy, colon + 1, mode, reterr);
}

static int request_set_workdir(RunRequest *r, const char *value, Diag *reterr) {
        char *path;
        int q = path_normalise(value, &path, reterr);

        if (q)
                return request_prefix(q, "workdir", reterr);
        free(r->workdir);
        r->workdir = path;
        return 0;
}

/* MODE:FOLDER: the caller's folder stands at its own path, and is the working folder unless -w names another one. */
static int request_set_here(RunRequest *r, const char *value, Diag *reterr) {
        const char *colon = strchr(value, ':'), *folder = colon ? colon + 1 : value;
        const size_t n = (size_t)(folder - value);
        int q;

        if (r->here)
                return diag(reterr, REQUEST_E_BAD, "--here stands there twice");
        if (!(n == 3 && (strncmp(value, "ro", 2) == 0 || strncmp(value, "rw", 2) == 0)) &&
            !(n == 8 && strncmp(value, "overlay", 7) == 0))
                return diag(reterr, REQUEST_E_BAD, "--here=%s: must be ro, rw or overlay",
                            DIAG_QUOTED_N(value, n > 0 ? n - 1 : strlen(value)));
        q = request_mount(r, "here", "--here", folder, folder,
                          n == 8 ? MOUNT_OVERLAY : value[1] == 'w' ? MOUNT_WRITE : MOUNT_READ, reterr);
        r->here = true;
        return q ?: r->workdir_said ? q : request_set_workdir(r, folder, reterr);
}

/* NAME=VALUE, or NAME with the value of the caller's environment. */
static int request_add_env(RunRequest *r, const char *value, Diag *reterr) {
        const char *eq = strchr(value, '='), *here;
        size_t n = eq ? (size_t)(eq - value) : strlen(value);
        _cleanup_free_ char *line = NULL;
        const char *shown = DIAG_QUOTED_N(value, n); /* never the value: the value may be a secret */

        if (!env_name_valid(value, n))
                return diag(reterr, REQUEST_E_BAD,
                            "-e \"%s\": a variable's name has letters, digits and \"_\", no digit first; fix: -e NAME=VALUE", shown);
        if (strncmp(value, "LETHE_", 6) == 0)
                return diag(reterr, REQUEST_E_BAD, "-e \"%s\": LETHE_* is Lethe's own in a region", shown);
        if (strv_length(r->env) >= ENV_MAX)
                return diag(reterr, REQUEST_E_BAD, "-e \"%s\": more than %d variables", shown, ENV_MAX);
        if (eq)
                return strv_add(&r->env, value);
        here = getenv(value);
        if (!here)
                return diag(reterr, REQUEST_E_BAD, "-e \"%s\": is not set here; write %s=VALUE", shown, shown);
        if (!(line = text_printf("%s=%s", value, here)))
                return -ENOMEM;
        return strv_add(&r->env, line);
}

static int request_set_network(RunRequest *r, const char *value, Diag *reterr) {
        const int mode = network_parse(value);

        if (r->network_said && r->network == NETWORK_CONNECT)
                return diag(reterr, REQUEST_E_BAD, "--network and --connect exclude each other");
        if (r->n_allows > 0 && mode != NETWORK_LOOPBACK)
                return diag(reterr, REQUEST_E_BAD, "--network and --allow exclude each other: --allow has network loopback");
        if (r->n_publishes > 0 && mode != NETWORK_LOOPBACK)
                return diag(reterr, REQUEST_E_BAD, "--network %s and --publish exclude each other: --publish has network loopback",
                            DIAG_QUOTED(value));
        if (r->routes && mode != NETWORK_LOOPBACK)
                return diag(reterr, REQUEST_E_BAD, "--network and --route exclude each other: --route has network loopback");
        if (mode < 0 || mode == NETWORK_CONNECT)
                return diag(reterr, REQUEST_E_BAD,
                            "--network \"%s\": must be none, loopback or host; --allow HOST:PORT allows one host",
                            DIAG_QUOTED(value));
        r->network = (NetworkMode)mode;
        r->network_said = true;
        return 0;
}

static int request_add_connect(RunRequest *r, const char *value, Diag *reterr) {
        NetGrant *more, g;
        int q;

        if (r->network_said && r->network != NETWORK_CONNECT)
                return diag(reterr, REQUEST_E_BAD, "--connect excludes --network, --allow and --route");
        if (r->n_connects >= LIST_MAX)
                return diag(reterr, REQUEST_E_BAD, "--connect: more than %d addresses", LIST_MAX);
        q = net_parse(value, &g, reterr);
        if (q)
                return request_prefix(q, "connect", reterr);
        more = reallocarray(r->connects, r->n_connects + 1, sizeof(*more));
        if (!more) {
                free(g.text);
                return -ENOMEM;
        }
        r->connects = more;
        more[r->n_connects++] = g;
        r->network = NETWORK_CONNECT;
        r->network_said = true;
        return 0;
}

static int request_add_allow(RunRequest *r, const char *value, Diag *reterr) {
        NetName a = {};
        int q;

        if (r->network_said && r->network != NETWORK_LOOPBACK)
                return diag(reterr, REQUEST_E_BAD, "--allow excludes --connect and other networks than loopback");
        if (r->n_allows >= LIST_MAX)
                return diag(reterr, REQUEST_E_BAD, "--allow: more than %d hosts", LIST_MAX);
        q = net_name_parse(value, &a, reterr);
        if (q)
                return request_prefix(q, "allow", reterr);
        if (!GROW(r->allows, r->n_allows)) {
                free(a.text);
                return -ENOMEM;
        }
        r->allows[r->n_allows++] = a;
        r->network = NETWORK_LOOPBACK;
        r->network_said = true;
        return 0;
}

static int request_add_publish(RunRequest *r, const char *value, Diag *reterr) {
        int q;

        if (r->network_said && r->network != NETWORK_LOOPBACK)
                return diag(reterr, REQUEST_E_BAD, "--publish %s: excludes --connect and other networks than loopback",
                            DIAG_QUOTED(value));
        if (r->n_publishes >= PROXY_PUBLISH_MAX)
                return diag(reterr, REQUEST_E_BAD, "--publish %s: more than %d ports", DIAG_QUOTED(value), PROXY_PUBLISH_MAX);
        q = net_publish_parse(value, &r->publishes[r->n_publishes], reterr);
        if (q)
                return request_prefix(q, "publish", reterr);
        r->n_publishes++;
        r->network = NETWORK_LOOPBACK;
        r->network_said = true;
        return 0;
}

static int request_add_route(RunRequest *r, const char *value, Diag *reterr) {
        if (r->network_said && r->network != NETWORK_LOOPBACK)
                return diag(reterr, REQUEST_E_BAD, "--route excludes --connect and other networks than loopback");
        if (!route_name_valid(value))
                return diag(reterr, REQUEST_E_BAD, "--route \"%s\": must be a name of \"routes\" in the policy file", DIAG_QUOTED(value));
        if (strv_length(r->routes) >= PROXY_ROUTES_MAX)
                return diag(reterr, REQUEST_E_BAD, "--route: more than %d routes", PROXY_ROUTES_MAX);
        r->network = NETWORK_LOOPBACK;
        r->network_said = true;
        return strv_has(r->routes, value) ? 0 : strv_add(&r->routes, value);
}

static int request_set_grace(RunRequest *r, const char *value, Diag *reterr) {
        uint64_t usec = 0;
        const bool none = strcmp(value, "none") == 0;

        if (!none && (duration_parse(value, &usec) < 0 || usec < CANCEL_BOUND_LEAST_USEC || usec > CANCEL_BOUND_MOST_USEC))
                return diag(reterr, REQUEST_E_BAD, "--grace \"%s\": must be a time of " GRACE_RANGE ", or none",
                            DIAG_QUOTED(value));
        r->grace_said = true;
        r->grace_usec = usec;
        return 0;
}

static const struct {
        const char *option;
        size_t at; /* of a bool in RunRequest */
} request_flags[] = {
        {"proc", offsetof(RunRequest, proc)},
        {"terminals", offsetof(RunRequest, terminals)},
        {"tty", offsetof(RunRequest, terminal)},
};

int request_option(RunRequest *r, const char *option, const char *value, Diag *reterr) {
        for (size_t i = 0; i < BUDGET_FIELDS; i++)
                if (strcmp(option, budget_fields[i].option) == 0)
                        return request_prefix(budget_parse(&budget_fields[i], value,
                                                           budget_at(&r->budget, &budget_fields[i]), reterr),
                                              option, reterr);
        if (strcmp(option, "volume") == 0)
                return request_add_mount(r, value, reterr);
        if (strcmp(option, "env") == 0)
                return request_add_env(r, value, reterr);
        if (strcmp(option, "workdir") == 0) {
                r->workdir_said = true;
                return request_set_workdir(r, value, reterr);
        }
        if (strcmp(option, "here") == 0)
                return request_set_here(r, value, reterr);
        if (strcmp(option, "network") == 0)
                return request_set_network(r, value, reterr);
        if (strcmp(option, "connect") == 0)
                return request_add_connect(r, value, reterr);
        if (strcmp(option, "allow") == 0)
                return request_add_allow(r, value, reterr);
        if (strcmp(option, "publish") == 0)
                return request_add_publish(r, value, reterr);
        if (strcmp(option, "route") == 0)
                return request_add_route(r, value, reterr);
        if (strcmp(option, "entry") == 0)
                return *value ? request_set_text(&r->entry, value)
                              : diag(reterr, REQUEST_E_BAD,
                                     "--entry is empty: it names an entry or a file of the skill");
        if (strcmp(option, "exec") == 0)
                return *value ? request_set_text(&r->inside, value)
                              : diag(reterr, REQUEST_E_BAD, "--exec is empty: it names a program");
        if (strcmp(option, "name") == 0)
                return scope_name_valid(value) && !region_id_valid(value)
                               ? request_set_text(&r->name, value)
                               : diag(reterr, REQUEST_E_BAD,
                                      "--name \"%s\": a name has 1 to %d characters of a-z, 0-9, \".\", \"_\" and "
                                      "\"-\", a letter or digit first, and is no region's id",
                                      DIAG_QUOTED(value), SCOPE_NAME_BYTES);
        if (strcmp(option, "tier") == 0) {
                const int tier = word_index(tier_words, value);

                if (tier < 0)
                        return diag(reterr, REQUEST_E_BAD, "--tier \"%s\": must be namespaces or landlock",
                                    DIAG_QUOTED(value));
                r->tier = (Tier)(TIER_LANDLOCK + tier);
                return 0;
        }
        if (strcmp(option, "discipline") == 0) {
                int q = discipline_parse(value, &r->discipline, &r->passes, reterr);

                r->discipline_said = q == 0;
                return request_prefix(q, "discipline", reterr);
        }
        if (strcmp(option, "grace") == 0)
                return request_set_grace(r, value, reterr);
        for (size_t i = 0; i < ARRAY_SIZE(request_flags); i++)
                if (strcmp(option, request_flags[i].option) == 0) {
                        *(bool *)((char *)r + request_flags[i].at) = true;
                        return 0;
                }
        return diag(reterr, REQUEST_E_BAD, "--%s: no such option", DIAG_QUOTED(option));
}

bool request_option_is_flag(const char *option) {
        for (size_t i = 0; i < ARRAY_SIZE(request_flags); i++)
                if (strcmp(option, request_flags[i].option) == 0)
                        return true;
        return false;
}

bool request_option_is_plain(const char *option) {
        for (size_t i = 0; i < BUDGET_FIELDS; i++)
                if (strcmp(option, budget_fields[i].option) == 0)
                        return true;
        return strcmp(option, "entry") == 0 || strcmp(option, "discipline") == 0;
}

int request_exec(RunRequest *r, const char *program, Diag *reterr) {
        const ProgramView view = {r->mounts, r->n_mounts, r->workdir};
        _cleanup_program_ Program p = {0};
        int q = program_find(program, &view, r->store_dir, &p, reterr);

        q = q ?: request_set_text(&r->exec, program);
        if (q)
                return q;
        program_deinit(&r->program);
        r->program = p;
        p = (Program){0};
        return 0;
}

bool request_exec_lacks_copy(const RunRequest *r) {
        return r->program.real && !r->program.copy && r->store_dir;
}

int request_exec_copy(RunRequest *r, Diag *reterr) {
        return program_copy(&r->program, r->store_dir, reterr);
}
