#include "policy/merge.h"

#include "policy/allow.h"
#include "policy/publish.h"
#include "policy/place.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int merge_note(json_t *list, const char *field, const char *asked, const char *granted, const char *rule) {
        json_t *o = json_pack("{s:s, s:s, s:s, s:s}", "field", field, "asked", asked, "granted", granted, "rule", rule);

        return json_array_append_new(list, o) < 0 ? -ENOMEM : 0;
}

int merge_reduce(Merge *m, const char *field, const char *asked, const char *granted, const char *fmt, ...) {
        _cleanup_free_ char *rule = NULL;
        va_list ap;

        va_start(ap, fmt);
        rule = text_vprintf(fmt, ap);
        va_end(ap);
        return rule ? merge_note(m->grant->reductions, field, asked, granted, rule) : -ENOMEM;
}

int merge_is_default(json_t *list) {
        return json_object_set_new(json_array_get(list, json_array_size(list) - 1), "default", json_true()) < 0
                       ? -ENOMEM : 0;
}

/* The limits for a kind of right: the skill's own limits when its row has the kind, else the general limits. */
#define MERGE_LIMITS(m, said) (m->row && m->row->limits.said ? &m->row->limits : &m->policy->limits)

const char *merge_where(const Merge *m, const Limits *l, const char *what, char out[static 512]) {
        snprintf(out, 512, "%s#%s%s/%s", m->policy->path ?: "policy", l == &m->policy->limits ? "" : "/skills/",
                 l == &m->policy->limits ? "" : m->row->name, what);
        return out;
}

/* A terminal has its user, who ends the run: closing the terminal does. The default CPU time follows --timeout, or the
 * terminal (wall is an earlier row of budget_fields): else a longer run would end at that default. */
static uint64_t merge_standard(const Merge *m, const BudgetField *f) {
        const bool follows = f->offset == offsetof(Budget, cpu_usec) &&
                             (m->request->budget.wall_usec > 0 ||
                              (m->request->terminal && m->manifest->budget.wall_usec == 0));

        if (f->offset == offsetof(Budget, wall_usec) && m->request->terminal)
                return BUDGET_NONE;
        return follows ? MAX(f->standard, m->grant->budget.wall_usec) : f->standard;
}

/* Only the operator can grant a budget without end: by a policy, or by the own command line without a policy's
 * limit. */
static bool merge_may_be_none(const Merge *m, uint64_t said, uint64_t most) {
        return most == BUDGET_NONE || (most == 0 && said == BUDGET_NONE && m->request->client == 0);
}

int merge_budget(Merge *m) {
        Budget max = policy_max(m->policy, m->row);

        for (size_t i = 0; i < BUDGET_FIELDS; i++) {
                const BudgetField *f = &budget_fields[i];
                uint64_t skill = budget_get(&m->manifest->budget, f), said = budget_get(&m->request->budget, f),
                         most = budget_get(&max, f);
                const uint64_t standard = merge_standard(m, f);
                uint64_t v = skill && said ? MIN(skill, said) : skill ?: said ?: standard;
                LimitBy by = skill && v == skill ? LIMIT_BY_MANIFEST : said ? LIMIT_BY_OPTION : LIMIT_BY_DEFAULT;
                char skill_text[BUDGET_TEXT_MAX], said_text[BUDGET_TEXT_MAX], v_text[BUDGET_TEXT_MAX], field[64],
                        option[64], rule[1024];
                int r = 0;

                snprintf(field, sizeof(field), "/budgets/%s", f->name);
                snprintf(option, sizeof(option), "--%s", f->option);
                budget_format(f, skill ?: standard, skill_text);
                budget_format(f, said, said_text);
                if (most > 0 && v > most) {
                        bool own = m->row && budget_get(&m->row->limits.max, f) == most;

                        v = most;
                        by = LIMIT_BY_POLICY;
                        snprintf(rule, sizeof(rule), "%s/%s",
                                 WHERE(m, own ? &m->row->limits : &m->policy->limits, "max"), f->name);
                } else if (v == BUDGET_NONE && f->standard != BUDGET_NONE &&
                           !merge_may_be_none(m, said ?: skill ? said : standard, most)) {
                        v = f->most;
                        by = m->request->client == 0 ? LIMIT_BY_OPTION : LIMIT_BY_POLICY;
                        snprintf(rule, sizeof(rule),
                                 "a budget without an end is granted by \"max\" of a policy file, or --%s none",
                                 f->option);
                } else if (skill && said && said < skill)
                        snprintf(rule, sizeof(rule), "command line %s", option);
                else
                        snprintf(rule, sizeof(rule), "lethe.json#%s", field);
                budget_format(f, v, v_text);
                /* A request of the skill is only a reduction when the manifest has the field; a cut default is recorded
                 * too. */
                if (v < skill || (!skill && !said && v < standard))
                        r = merge_reduce(m, field, skill_text, v_text, "%s", rule);
                if (r == 0 && !skill && !said && v < standard)
                        r = merge_is_default(m->grant->reductions);
                if (r == 0 && said && v < said)
                        r = merge_reduce(m, option, said_text, v_text, "%s", rule);
                if (r)
                        return r;
                *budget_at(&m->grant->budget, f) = v;
                m->grant->limit_by[i] = by;
        }
        return 0;
}

/* A skill can only ask for a stronger tier. Only the operator accepts a weaker tier: --tier, or min_tier of the
 * policy. */
int merge_tier(Merge *m) {
        const Tier general = m->policy->limits.min_tier, own = m->row ? m->row->limits.min_tier : 0;
        const Tier policy = !own ? general : m->row->digest ? own : MAX(own, general);
        const Tier skill = m->manifest->min_tier, floor = MAX(skill, policy), asked = m->request->tier;

        if (asked && asked < floor)
                return diag(m->reterr, GRANT_E_REFUSED, "--tier %s: %s is the minimum by %s", tier_name(asked),
                            tier_name(floor),
                            policy >= skill
                                    ? WHERE(m, own && own == policy ? &m->row->limits : &m->policy->limits, "min_tier")
                                    : "lethe.json#/min_tier");
        m->grant->tier = asked;
        m->grant->min_tier = asked ? asked : policy ? floor : TIER_NAMESPACES;
        if (skill && skill < m->grant->min_tier)
                return merge_reduce(m, "/min_tier", tier_name(skill), tier_name(m->grant->min_tier),
                              "only the operator accepts a weaker tier: --tier, or min_tier of a policy file");
        return 0;
}

bool merge_has_connect(const NetGrant *list, size_t n, const NetGrant *c) {
        for (size_t i = 0; i < n; i++)
                if (net_same(&list[i], c))
                        return true;
        return false;
}

int merge_add_connect(Grant *g, const NetGrant *c) {
        NetGrant *more;

        if (merge_has_connect(g->connects, g->n_connects, c))
                return 0;
        more = reallocarray(g->connects, g->n_connects + 1, sizeof(*more));
        if (!more)
                return -ENOMEM;
        g->connects = more;
        more[g->n_connects] = *c;
        more[g->n_connects].text = strdup(c->text);
        if (!more[g->n_connects].text)
                return -ENOMEM;
        g->n_connects++;
        return 0;
}

int merge_add_allow(Grant *g, const NetName *a) {
        _cleanup_free_ char *text = NULL;
        NetName *more;

        for (size_t i = 0; i < g->n_allows; i++)
                if (net_name_same(&g->allows[i], a))
                        return 0;
        more = reallocarray(g->allows, g->n_allows + 1, sizeof(*more));
        if (!more)
                return -ENOMEM;
        more[g->n_allows].rule = a->rule;
        g->allows = more;
        if (!(text = strdup(a->text)))
                return -ENOMEM;
        more[g->n_allows++].text = TAKE_PTR(text);
        return 0;
}

/* The command line's own requests: granted, or the run is refused. */
static int merge_request_network(Merge *m, const Limits *l) {
        const RunRequest *q = m->request;

        if (q->network == NETWORK_HOST && l->network_said && !l->network_host)
                return diag(m->reterr, GRANT_E_REFUSED, "--network host: %s does not allow it (\"host\": true would)",
                            WHERE(m, l, "network"));
        for (size_t i = 0; i < q->n_connects; i++) {
                int r;

                if (l->network_said && !l->network_host &&
                    !merge_has_connect(l->connects, l->n_connects, &q->connects[i]))
                        return diag(m->reterr, GRANT_E_REFUSED, "--connect %s: %s/connect does not list it",
                                    q->connects[i].text, WHERE(m, l, "network"));
                r = merge_add_connect(m->grant, &q->connects[i]);
                if (r < 0)
                        return r;
        }
        m->grant->network = q->network;
        return 0;
}

int merge_network(Merge *m) {
        const Limits *l = MERGE_LIMITS(m, network_said);
        const Manifest *a = m->manifest;
        const bool none = m->request->network_said && m->request->network == NETWORK_NONE;
        Grant *g = m->grant;
        char place[512], field[64], rule[640];
        int r = merge_request_network(m, l);

        g->network_closed = none;

        if (r)
                return r;
        merge_where(m, l, "network", place);
        if (none)
                snprintf(rule, sizeof(rule), "command line --network none");
        else if (l->network_said)
                snprintf(rule, sizeof(rule), "%s does not allow it", place);
        else
                snprintf(rule, sizeof(rule),
                         "the network of a manifest is granted by a policy file, --allow, --connect or --network host");
        if (a->network == NETWORK_HOST && g->network != NETWORK_HOST) {
                if (!none && l->network_said && l->network_host)
                        g->network = NETWORK_HOST;
                else if ((r = merge_reduce(m, "/network", "host", network_words[g->network], "%s", rule)) < 0)
                        return r;
        }
        for (size_t i = 0; g->network != NETWORK_HOST && i < a->n_connects; i++) {
                const NetGrant *c = &a->connects[i];

                if (merge_has_connect(g->connects, g->n_connects, c))
                        continue;
                if (m->request->n_allows + m->request->n_publishes > 0 || m->request->routes) {
                        snprintf(field, sizeof(field), "/network/connect/%zu", i);
                        r = merge_reduce(m, field, c->text, "none", "--allow, --route, --publish and addresses of \"connect\" exclude each other");
                } else if (!none && l->network_said && (l->network_host || merge_has_connect(l->connects, l->n_connects, c)))
                        r = merge_add_connect(g, c);
                else {
                        snprintf(field, sizeof(field), "/network/connect/%zu", i);
                        r = merge_reduce(m, field, c->text, "none", "%s", rule);
                }
                if (r < 0)
                        return r;
        }
        if (g->n_connects > 0 && g->network != NETWORK_HOST)
                g->network = NETWORK_CONNECT;
        r = allow_merge(m, l, rule, none) ?: publish_merge(m, l);
        if (r)
                return r;
        /* A network of the region's own reaches nothing outside the region: granted, except with --network none. */
        if (a->network == NETWORK_LOOPBACK && a->n_allows == 0 && !a->routes && g->network == NETWORK_NONE) {
                if (none)
                        return merge_reduce(m, "/network", network_words[a->network], "none", "%s", rule);
                g->network = NETWORK_LOOPBACK;
        }
        return 0;
}

int merge_covers(const Limits *l, const char *path) {
        int best = 0;

        for (size_t i = 0; i < l->n_files; i++)
                if (path_is_under(path, l->files[i].path))
                        best = MAX(best, l->files[i].write ? 2 : 1);
        return best;
}

static int merge_request_files(Merge *m, const Limits *l) {
        for (size_t i = 0; i < m->request->n_mounts; i++) {
                const FileGrant *v = &m->request->mounts[i];
                int r;

                if (v->overlay && m->request->client != 0)
                        return diag(m->reterr, GRANT_E_REFUSED, "-v %s:%s:overlay: the layer would be kept in the daemon's "
                                    "store, where its user cannot apply it; fix: lethe run without the daemon",
                                    v->source, v->target);
                if (l->files_said && merge_covers(l, v->source) < (v->write ? 2 : 1))
                        return diag(m->reterr, GRANT_E_REFUSED, "-v %s:%s: no root of %s allows to %s it", v->source,
                                    v->target, WHERE(m, l, "files"), v->write ? "write" : "read");
                r = place_add(m->grant, v);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int merge_manifest_file(Merge *m, const Limits *l, size_t i) {
        const FileAsk *a = &m->manifest->files[i];
        /* the command line's mount that already covers the place */
        const FileGrant *v = place_shows(m->request->mounts, m->request->n_mounts, a->target);
        _cleanup_free_ char *asked = NULL;
        char field[64];
        int right, r;

        snprintf(field, sizeof(field), "/files/%zu", i);
        if (!(asked = text_printf("%s %s", a->write ? "write" : "read", a->path)))
                return -ENOMEM;
        if (v)
                return a->write && !v->write ? merge_reduce(m, field, asked, "read",
                                                            "command line -v %s:%s is read-only", v->source, v->target)
                                             : 0;
        if (!l->files_said)
                return merge_reduce(m, field, asked, "none",
                                    "the files of a manifest are granted by a policy file or -v SOURCE:%s", a->target);
        right = merge_covers(l, a->real ?: a->path);
        if (right == 0)
                return merge_reduce(m, field, asked, "none", "no root of %s covers %s",
                                    WHERE(m, l, "files"), a->real ?: a->path);
        if (!a->real)
                return diag(m->reterr, GRANT_E_SOURCE, "lethe.json#%s/path: %s does not exist", field, a->path);
        r = place_add(m->grant, &(FileGrant){.source = a->real, .target = a->target, .write = a->write && right == 2});
        if (r == 0 && a->write && right < 2)
                r = merge_reduce(m, field, asked, "read", "%s allows to read it only",
                                 WHERE(m, l, "files"));
        return r;
}

int merge_files(Merge *m) {
        const Limits *l = MERGE_LIMITS(m, files_said);
        int r = merge_request_files(m, l);

        for (size_t i = 0; r == 0 && i < m->manifest->n_files; i++)
                r = merge_manifest_file(m, l, i);
        place_sort(m->grant);
        return r;
}

/* A deletion cannot be undone and needs the policy. Other access is granted as requested without a policy. */
static int merge_memory_access(Merge *m, const Limits *l, size_t i, MemoryAccess a) {
        MemoryRight *right = &m->grant->memory[i];
        const MemoryRight *row = memory_right_of(l->memory, l->n_memory, right->scope);
        const unsigned allowed = l->memory_said ? (row ? row->may[a] : 0) : a == MEMORY_DELETE ? 0 : MEMORY_ALL,
                       asked = right->may[a];
        char field[64], want[MEMORY_FAMILIES_TEXT], have[MEMORY_FAMILIES_TEXT];

        right->may[a] = asked & allowed;
        if (right->may[a] == asked)
                return 0;
        snprintf(field, sizeof(field), "/memory/%zu/%s", i, memory_access_words[a]);
        memory_families_text(asked, want);
        memory_families_text(right->may[a], have);
        if (!l->memory_said)
                return merge_reduce(m, field, want, have,
                                    "deleting records of memory is granted by a policy file alone");
        return merge_reduce(m, field, want, have, "%s does not allow it in scope %s",
                            WHERE(m, l, "memory"), right->scope);
}

/* A row stays even without rights: the first row is the default scope of requests, in any case. */
int merge_memory(Merge *m) {
        const Limits *l = MERGE_LIMITS(m, memory_said);
        const size_t n = m->manifest->n_memory;
        int r = n > 0 ? memory_rights_copy(m->manifest->memory, n, &m->grant->memory) : 0;

        m->grant->n_memory = r == 0 ? n : 0;
        for (size_t i = 0; r == 0 && i < n; i++)
                for (MemoryAccess a = 0; r == 0 && a < MEMORY_ACCESSES; a++)
                        r = merge_memory_access(m, l, i, a);
        return r;
}

static int merge_scope(Merge *m, const Limits *l, const char *field, const char *member, char **allowed, char **scope) {
        int r;

        if (!*scope || !allowed || strv_has(allowed, *scope))
                return 0;
        r = merge_reduce(m, field, *scope, "none", "%s does not name it", WHERE(m, l, member));
        free(TAKE_PTR(*scope));
        return r;
}

/* Notes, shared belief, kernels: granted as requested where the policy says nothing. */
int merge_belief(Merge *m) {
        const Limits *l = MERGE_LIMITS(m, belief_said);
        Grant *g = m->grant;
        int r = merge_scope(m, l, "/notes", "belief/notes", l->notes, &g->notes)
                        ?: merge_scope(m, l, "/canon", "belief/canon", l->canon, &g->canon)
                        ?: merge_scope(m, l, "/kernels", "belief/kernels", l->kernels, &g->kernels);

        if (r == 0 && g->own_notes && l->no_own_notes)
                r = merge_reduce(m, "/notes/read", "true", "false", "%s is false", WHERE(m, l, "belief/own_notes"));
        g->own_notes = g->own_notes && g->notes && !l->no_own_notes;
        return r;
}
