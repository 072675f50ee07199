#include "policy/policy.h"

#include "base/hash.h"
#include "base/io.h"
#include "base/owner.h"
#include "base/path-lookup.h"
#include "base/watchdog.h"
#include "policy/bounds.h"
#include "policy/mcp.h"
#include "policy/route.h"
#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SKILLS_MAX 1024
#define ROOTS_MAX 256
#define CLIENTS_MAX 1024
#define UID_MOST 4294967294ULL
#define REGIONS_MOST 100000
#define POLICY_MAX_REGIONS_STANDARD 1000
#define POLICY_MAX_SESSIONS_STANDARD 512
#define POLICY_POOL_MEMORY_STANDARD (256ULL << 20)
#define POLICY_POOL_IDLE_STANDARD 300000000ULL
#define POLICY_LAYERS_MOST 1000
#define POLICY_OUTPUTS_STANDARD 256
#define POLICY_LAYERS_STANDARD 64
#define POLICY_LAYERS_AGE_STANDARD (720 * 3600000000ULL)
#define POLICY_LAYERS_BYTES_STANDARD (4ULL << 30)
#define SYSTEM_POLICY "/etc/lethe/policy.json"

static void policy_limits_deinit(Limits *l) {
        net_grants_free(l->connects, l->n_connects);
        net_names_free(l->allows, l->n_allows);
        free(l->privates);
        free(l->publishes);
        strv_free(l->routes);
        for (size_t i = 0; i < l->n_files; i++)
                free(l->files[i].path);
        free(l->files);
        memory_rights_free(l->memory, l->n_memory);
        strv_free(l->notes);
        strv_free(l->canon);
        strv_free(l->kernels);
        *l = (Limits){0};
}

void policy_free(Policy *p) {
        if (!p)
                return;
        free(p->path);
        policy_limits_deinit(&p->limits);
        json_decref(p->secrets);
        json_decref(p->routes);
        json_decref(p->mcp);
        json_decref(p->mcp_servers);
        for (size_t i = 0; i < p->n_skills; i++) {
                free(p->skills[i].name);
                free(p->skills[i].digest);
                policy_limits_deinit(&p->skills[i].limits);
                policy_sub_skill_deinit(&p->skills[i].as_sub_skill);
        }
        free(p->skills);
        for (size_t i = 0; i < p->n_clients; i++)
                strv_free(p->clients[i].skills);
        free(p->clients);
        policy_upkeep_deinit(p);
        free(p);
}

const SkillPolicy *policy_skill(const Policy *p, const char *name) {
        for (size_t i = 0; i < p->n_skills; i++)
                if (strcmp(p->skills[i].name, name) == 0)
                        return &p->skills[i];
        return NULL;
}

uint64_t policy_concurrency(const Policy *p, const char *name) {
        const SkillPolicy *s = policy_skill(p, name);

        return s && s->concurrency ? s->concurrency : p->concurrency;
}

bool policy_client(const Policy *p, uid_t uid, const char *skill) {
        for (size_t i = 0; i < p->n_clients; i++)
                if (p->clients[i].uid == uid)
                        return !skill || !p->clients[i].skills || strv_has(p->clients[i].skills, skill);
        return false;
}

Budget policy_max(const Policy *p, const SkillPolicy *s) {
        Budget b = p->limits.max;

        for (size_t i = 0; s && i < BUDGET_FIELDS; i++) {
                uint64_t own = budget_get(&s->limits.max, &budget_fields[i]), *v = budget_at(&b, &budget_fields[i]);

                if (own > 0 && (s->digest || *v == 0 || own < *v))
                        *v = own;
        }
        return b;
}

/* The row of a skill, made on the first use: "concurrency" and "skills" may both name the skill. */
static SkillPolicy *policy_add_row(Doc *d, Policy *p, const char *name) {
        SkillPolicy *s = (SkillPolicy *)policy_skill(p, name), row = {0};

        if (s)
                return s;
        if (!GROW(p->skills, p->n_skills) || text_copy(&row.name, name) < 0) {
                d->no_memory = true;
                return NULL;
        }
        p->skills[p->n_skills] = row;
        return &p->skills[p->n_skills++];
}

static void policy_read_network(Doc *d, const Node *v, Limits *l) {
        if (!doc_fields(d, v, WORDS("connect", "host", "allow", "private", "publish", "routes", "connections", "bytes", "time")))
                return;
        l->network_said = true;
        doc_connects(d, MEMBER(v, "connect"), &l->connects, &l->n_connects);
        doc_bool(d, MEMBER(v, "host"), &l->network_host);
        doc_allows(d, MEMBER(v, "allow"), &l->allows, &l->n_allows);
        doc_ranges(d, MEMBER(v, "private"), &l->privates, &l->n_privates);
        doc_publish_ranges(d, MEMBER(v, "publish"), &l->publishes, &l->n_publishes);
        doc_net_budget(d, v, &l->net_budget);
        l->routes_said = MEMBER(v, "routes")->v;
        doc_route_names(d, MEMBER(v, "routes"), POLICY_ROUTES_MAX, &l->routes);
}

static void policy_read_files(Doc *d, const Node *v, Limits *l) {
        if (!doc_array(d, v, ROOTS_MAX))
                return;
        l->files_said = true;
        l->files = doc_rows(d, v, sizeof(*l->files));
        for (size_t i = 0; l->files && i < json_array_size(v->v); i++) {
                const Node *item = ITEM(v, i);
                PolicyFile *f = &l->files[l->n_files];
                char *real;
                int e;

                if (!doc_fields(d, item, WORDS("path", "access")) || !doc_file(d, item, &f->path, &f->write))
                        continue;
                l->n_files++;
                /* Sources are compared with symlinks resolved, so roots are resolved too. A root that does not exist
                 * stays as written. */
                e = lookup_real(f->path, &real);
                if (e == 0) {
                        free(f->path);
                        f->path = real;
                } else if (e == -ENOMEM)
                        d->no_memory = true;
                else if (e == -ETIMEDOUT)
                        doc_fault(d, MEMBER(item, "path"), "place", "\"%s\": %s", f->path, lookup_strerror(e));
        }
}

static void policy_read_limits(Doc *d, const Node *v, Limits *l) {
        doc_budgets(d, MEMBER(v, "max"), &l->max);
        doc_tier(d, MEMBER(v, "min_tier"), &l->min_tier);
        policy_read_network(d, MEMBER(v, "network"), l);
        policy_read_files(d, MEMBER(v, "files"), l);
        bounds_read(d, MEMBER(v, "bounds"), l->bounds);
        l->memory_said = MEMBER(v, "memory")->v;
        doc_memory_rights(d, MEMBER(v, "memory"), &l->memory, &l->n_memory);
        policy_read_belief(d, MEMBER(v, "belief"), l);
}

static bool policy_check_skill_name(Doc *d, const Node *at, const char *name) {
        return skill_name_valid(name) ||
               doc_fault(d, at, "skill-name",
                         "a skill's name has 1 to 64 lower-case letters, digits and single hyphens inside");
}

/* A number for each skill, or for all ("*"): "concurrency" or the regions of a pool. */
static void policy_read_numbers(Doc *d, const Node *v, uint64_t least, uint64_t most, bool pool, Policy *p) {
        const char *key;
        json_t *item;

        if (!doc_object(d, v, SKILLS_MAX))
                return;
        json_object_foreach((json_t *)v->v, key, item) {
                const Node *at = MEMBER(v, key);
                SkillPolicy *s;
                uint64_t n;

                if (!doc_count(d, at, least, most, &n))
                        continue;
                if (strcmp(key, "*") == 0)
                        *(pool ? &p->pool : &p->concurrency) = n;
                else if (policy_check_skill_name(d, at, key) && (s = policy_add_row(d, p, key))) {
                        *(pool ? &s->pool : &s->concurrency) = n;
                        s->pool_said |= pool;
                }
        }
}

/* A size or a time, in the form of the given member of a budget, and never "none". */
static void policy_read_budget_member(Doc *d, const Node *v, const char *member, const char *rule, uint64_t *ret) {
        Diag message = {0};

        for (size_t i = 0; v->v && i < BUDGET_FIELDS; i++) {
                BudgetField f = budget_fields[i];

                f.may_be_none = false;
                if (strcmp(f.name, member) == 0)
                        doc_judge(d, budget_parse_json(&f, v->v, ret, &message), v, rule, &message);
        }
}

static void policy_read_pool(Doc *d, const Node *v, Policy *p) {
        const Node *skills = MEMBER(v, "skills");

        if (!doc_fields(d, v, WORDS("skills", "memory", "idle")))
                return;
        if (!skills->v)
                doc_fault(d, v, "required",
                          "\"skills\" is required: for which ones regions are prepared, and how many");
        policy_read_numbers(d, skills, 0, POLICY_POOL_MOST, true, p);
        policy_read_budget_member(d, MEMBER(v, "memory"), "memory", "pool", &p->pools.memory_bytes);
        policy_read_budget_member(d, MEMBER(v, "idle"), "wall", "pool", &p->pools.idle_usec);
}

static void policy_read_keep(Doc *d, const Node *v, const char *rule, KeepPolicy *ret) {
        static const DurationRule age = {3600000000ULL, 87600 * 3600000000ULL, "layers-age", "1h to 87600h"};

        if (!doc_fields(d, v, WORDS("keep", "age", "bytes")))
                return;
        doc_count(d, MEMBER(v, "keep"), 1, POLICY_LAYERS_MOST, &ret->number);
        doc_duration(d, MEMBER(v, "age"), &age, &ret->age_usec);
        policy_read_budget_member(d, MEMBER(v, "bytes"), "scratch", rule, &ret->bytes);
}

static void policy_read_client_skills(Doc *d, const Node *v, ClientPolicy *c) {
        if (!doc_array(d, v, SKILLS_MAX))
                return;
        c->skills = calloc(1, sizeof(*c->skills)); /* an empty list allows no skill */
        d->no_memory |= !c->skills;
        for (size_t i = 0; i < json_array_size(v->v); i++) {
                const Node *at = ITEM(v, i);
                const char *name;

                if (doc_string(d, at, 1, 64, &name) && policy_check_skill_name(d, at, name))
                        d->no_memory |= strv_add(&c->skills, name) < 0;
        }
}

static void policy_read_clients(Doc *d, const Node *v, Policy *p) {
        if (!doc_array(d, v, CLIENTS_MAX) || !(p->clients = doc_rows(d, v, sizeof(*p->clients))))
                return;
        for (size_t i = 0; i < json_array_size(v->v); i++) {
                const Node *o = ITEM(v, i), *uid = MEMBER(o, "uid");
                ClientPolicy *c = &p->clients[p->n_clients];
                uint64_t n;

                if (!doc_fields(d, o, WORDS("uid", "skills")))
                        continue;
                if (!uid->v)
                        doc_fault(d, uid, "required", "\"uid\" is required: the number of the user");
                if (!doc_count(d, uid, 1, UID_MOST, &n))
                        continue;
                if (policy_client(p, (uid_t)n, NULL))
                        doc_fault(d, uid, "unique", "user %llu has a row already", (unsigned long long)n);
                c->uid = (uid_t)n;
                p->n_clients++;
                policy_read_client_skills(d, MEMBER(o, "skills"), c);
        }
}

static bool policy_digest_valid(const char *s) {
        return strncmp(s, "sha256:", 7) == 0 && strlen(s) == 71 && strspn(s + 7, "0123456789abcdef") == 64;
}

static void policy_read_skills(Doc *d, const Node *v, Policy *p) {
        const char *key, *s;
        json_t *item;

        if (!doc_object(d, v, SKILLS_MAX))
                return;
        json_object_foreach((json_t *)v->v, key, item) {
                const Node *at = MEMBER(v, key), *digest = MEMBER(at, "digest");
                SkillPolicy *row;
                Limits *l;

                if (!policy_check_skill_name(d, at, key) ||
                    !doc_fields(d, at, WORDS("digest", "trusted", "max", "min_tier", "network", "files", "memory",
                                             "belief", "as_sub_skill", "bounds")) ||
                    !(row = policy_add_row(d, p, key)))
                        continue;
                l = &row->limits;
                policy_read_limits(d, at, l);
                policy_read_sub_skill(d, MEMBER(at, "as_sub_skill"), &row->as_sub_skill);
                /* Any author can write any name into SKILL.md; a right for a single skill needs the skill's digest. */
                doc_bool(d, MEMBER(at, "trusted"), &row->trusted);
                if (!digest->v && (l->network_said || l->files_said || l->memory_said || l->belief_said ||
                                   row->as_sub_skill.said || row->trusted))
                        doc_fault(d, at, "digest-required",
                                  "\"network\", \"files\", \"memory\", \"belief\", \"as_sub_skill\" and \"trusted\" of one skill "
                                  "need its \"digest\", because any folder can claim a name");
                if (!doc_string(d, digest, 1, 128, &s))
                        continue;
                if (!policy_digest_valid(s))
                        doc_fault(d, digest, "digest", "must be \"sha256:\" and 64 lower-case hexadecimal digits");
                else if (!(row->digest = strdup(s)))
                        d->no_memory = true;
        }
}

/* 0 is root and refused; the id that chown() takes for "leave unchanged" is refused too. */
static void policy_read_uids(Doc *d, const Node *v, Policy *p) {
        const Node *at_first = MEMBER(v, "first"), *at_count = MEMBER(v, "count");
        uint64_t first = 0, count = 0;

        if (!doc_fields(d, v, WORDS("first", "count")))
                return;
        if (!doc_count(d, at_first, 1, UID_MOST, &first) || !doc_count(d, at_count, 1, 1 << 24, &count)) {
                if (!at_first->v || !at_count->v)
                        doc_fault(d, v, "required", "\"first\" and \"count\" are both needed");
                return;
        }
        if (first + count - 1 > UID_MOST)
                doc_fault(d, v, "count", "the last id, %" PRIu64 ", must be at most %llu", first + count - 1, UID_MOST);
        p->region_uids = (UidRange){(uint32_t)first, (uint32_t)count};
}

static void policy_read_fields(Doc *d, const Node *j, Policy *p) {
        const char *ignored;

        doc_fields(d, j, WORDS("$schema", "version", "max", "min_tier", "network", "files", "memory", "belief", "max_regions",
                               "max_sessions", "region_uids", "concurrency", "pool", "clients", "digest", "skills", "bounds",
                               "objects", "layers", "outputs", "pending", "secrets", "routes", "mcp", "mcp_servers", "retention"));
        doc_string(d, MEMBER(j, "$schema"), 0, 1024, &ignored);
        policy_read_limits(d, j, &p->limits);
        doc_count(d, MEMBER(j, "max_regions"), 1, REGIONS_MOST, &p->max_regions);
        doc_count(d, MEMBER(j, "max_sessions"), 1, REGIONS_MOST, &p->max_sessions);
        policy_read_uids(d, MEMBER(j, "region_uids"), p);
        policy_read_numbers(d, MEMBER(j, "concurrency"), 1, REGIONS_MOST, false, p);
        policy_read_pool(d, MEMBER(j, "pool"), p);
        policy_read_clients(d, MEMBER(j, "clients"), p);
        policy_read_digest(d, MEMBER(j, "digest"), p);
        policy_read_objects(d, MEMBER(j, "objects"), &p->objects);
        policy_read_keep(d, MEMBER(j, "layers"), "layers", &p->layers);
        policy_read_keep(d, MEMBER(j, "outputs"), "outputs", &p->outputs);
        policy_read_pending(d, MEMBER(j, "pending"), &p->pending);
        policy_read_skills(d, MEMBER(j, "skills"), p);
        policy_check_routines(d, MEMBER(j, "digest"), p);
        policy_read_retention(d, MEMBER(j, "retention"), p);
        policy_read_mcp(d, MEMBER(j, "mcp"), &p->mcp);
        policy_read_mcp_servers(d, MEMBER(j, "mcp_servers"), &p->mcp_servers);
        policy_read_routes(d, MEMBER(j, "secrets"), MEMBER(j, "routes"), &p->secrets, &p->routes);
}

static Policy *policy_new(const char *text, size_t n) {
        Policy *p = calloc(1, sizeof(*p));
        char hex[HASH_HEX_MAX];

        if (!p)
                return NULL;
        *p = (Policy){.max_regions = POLICY_MAX_REGIONS_STANDARD,
                      .max_sessions = POLICY_MAX_SESSIONS_STANDARD,
                      .pools = {POLICY_POOL_MEMORY_STANDARD, POLICY_POOL_IDLE_STANDARD},
                      .objects = policy_objects_standard(),
                      .pending = policy_pending_standard(),
                      .layers = {POLICY_LAYERS_STANDARD, POLICY_LAYERS_AGE_STANDARD, POLICY_LAYERS_BYTES_STANDARD},
                      .outputs = {POLICY_OUTPUTS_STANDARD, POLICY_LAYERS_AGE_STANDARD, POLICY_LAYERS_BYTES_STANDARD}};
        snprintf(p->ref, sizeof(p->ref), "sha256:%s", hash_hex(text, n, hex));
        return p;
}

int policy_parse(const char *text, size_t n, const char *path, Policy **ret, Diag *reterr) {
        _cleanup_findings_ Findings f = {0};
        _cleanup_policy_ Policy *p = policy_new(text, n);
        _cleanup_json_ json_t *j = NULL;
        _cleanup_free_ char *first = NULL;
        Doc d = {.findings = &f};

        if (!p || !(p->path = strdup(path)))
                return -ENOMEM;
        d.file = DIAG_QUOTED(path);
        j = doc_parse(&d, text, n);
        if (j)
                policy_read_fields(&d, &(Node){.v = j}, p);
        if (d.no_memory)
                return -ENOMEM;
        if (d.n_faults > 0) {
                first = finding_text(findings_worst(&f));
                if (!first)
                        return -ENOMEM;
                return f.n > 1 ? diag(reterr, POLICY_E_BAD, "%s (and %zu more)", first, f.n - 1)
                               : diag(reterr, POLICY_E_BAD, "%s", first);
        }
        *ret = TAKE_PTR(p);
        return 0;
}

int policy_place(char **ret) {
        const char *env = getenv("LETHE_POLICY"), *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
        _cleanup_free_ char *s = NULL;

        if (env && *env)
                return text_copy(ret, env);
        if (xdg && *xdg == '/')
                s = text_printf("%s/lethe/policy.json", xdg);
        else if (home && *home == '/')
                s = text_printf("%s/.config/lethe/policy.json", home);
        else
                s = strdup(SYSTEM_POLICY);
        if (!s)
                return -ENOMEM;
        /* An existing but unreadable file is a later error: else taking a right away would take the policy away. */
        if (access(s, F_OK) == 0) {
                *ret = TAKE_PTR(s);
                return 0;
        }
        return text_copy(ret, access(SYSTEM_POLICY, F_OK) == 0 || errno != ENOENT ? SYSTEM_POLICY : NULL);
}

int policy_load(const char *given, Policy **ret, Diag *reterr) {
        _cleanup_free_ char *path = NULL, *text = NULL;
        char shown[256];
        Diag other;
        size_t n;
        int r;

        r = given ? text_copy(&path, given) : policy_place(&path);
        if (r < 0)
                return r;
        if (!path) {
                *ret = policy_new("", 0);
                return *ret ? 0 : -ENOMEM;
        }
        _cleanup_watchdog_ WatchdogWait w = watchdog_wait("the policy", path);
        diag_quote(path, strlen(path), shown, sizeof(shown));
        r = owner_check(path, geteuid(), &other);
        if (r > 0)
                return diag(reterr, POLICY_E_BAD, "policy file %s is not its operator's alone: %s", shown, other.text);
        r = r ?: io_read_file(AT_FDCWD, path, MANIFEST_FILE_MAX, &text, &n);
        if (r == -EFBIG)
                return diag(reterr, POLICY_E_BAD, "%s: larger than %d bytes", shown, MANIFEST_FILE_MAX);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return diag(reterr, POLICY_E_MISSING, "policy file %s: %s%s", shown, strerror(-r),
                            r == -ENOENT ? "; fix: a file as in lethe-policy(5)" : "");
        return policy_parse(text, n, path, ret, reterr);
}
