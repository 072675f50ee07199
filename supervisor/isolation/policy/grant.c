#include "policy/grant.h"

#include "policy/merge.h"
#include "policy/program.h"
#include "schema/limits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *limit_by_name(LimitBy by) {
        static const char *const names[] = {"default", "option", "manifest", "policy", "region_above"};

        return names[by];
}

void grant_deinit(Grant *g) {
        free(g->skill_name);
        free(g->skill_digest);
        free(g->skill_dir);
        free(g->skill_folder);
        free(g->program);
        free(g->program_copy);
        free(g->name);
        free(g->program_link);
        free(g->program_end);
        strv_free(g->argv);
        strv_free(g->env);
        free(g->workdir);
        file_grants_free(g->files, g->n_files);
        net_grants_free(g->connects, g->n_connects);
        strv_free(g->reads);
        strv_free(g->writes);
        json_decref(g->slots);
        json_decref(g->sections);
        strv_free(g->resources);
        for (size_t i = 0; i < g->n_releases; i++) {
                free(g->releases[i].entry);
                strv_free(g->releases[i].argv);
        }
        free(g->releases);
        strv_free(g->sub_skills);
        free(g->notes);
        free(g->canon);
        memory_rights_free(g->memory, g->n_memory);
        strv_free(g->preload);
        free(g->interpreter);
        json_decref(g->gates);
        json_decref(g->raised);
        json_decref(g->reductions);
        json_decref(g->beyond);
        *g = (Grant){0};
}

static int copy(char **field, const char *s) {
        *field = strdup(s);
        return *field ? 0 : -ENOMEM;
}

uint64_t grant_set_aside(const Grant *g) {
        uint64_t most = 0;

        for (size_t i = 0; i < g->n_releases; i++)
                most = MAX(most, g->releases[i].budget.memory_bytes);
        return most;
}

/* NAME=VALUE takes the place of an earlier NAME. */
static int env_set(char ***env, const char *line) {
        size_t n = (size_t)(strchr(line, '=') + 1 - line);

        for (size_t i = 0; *env && (*env)[i]; i++)
                if (strncmp((*env)[i], line, n) == 0) {
                        free((*env)[i]);
                        (*env)[i] = strdup(line);
                        return (*env)[i] ? 0 : -ENOMEM;
                }
        return strv_add(env, line);
}

static int set_env(Grant *g, const Manifest *m, const RunRequest *q) {
        char in[32], out[32], trace[12 + TRACE_TEXT_MAX];
        int r = 0;

        snprintf(in, sizeof(in), "LETHE_IN=%d", REGION_PIPE_IN_FD);
        snprintf(out, sizeof(out), "LETHE_OUT=%d", REGION_PIPE_OUT_FD);
        for (size_t i = 0; r == 0 && grant_usual_env[i]; i++)
                r = strv_add(&g->env, grant_usual_env[i]);
        if (r == 0)
                r = strv_add(&g->env, in);
        if (r == 0)
                r = strv_add(&g->env, out);
        if (r == 0 && q->trace.set) {
                memcpy(trace, "TRACEPARENT=", 12);
                trace_text(&q->trace, trace + 12);
                r = strv_add(&g->env, trace);
        }
        for (size_t i = 0; r == 0 && m->env && m->env[i]; i++)
                r = env_set(&g->env, m->env[i]);
        for (size_t i = 0; r == 0 && q->env && q->env[i]; i++)
                r = env_set(&g->env, q->env[i]);
        return r;
}

/* A program inside the skill's folder, `path` relative to it: it must be there, and be executable. */
static int skill_program(char ***argv, const Skill *s, const char *path, Diag *reterr) {
        _cleanup_free_ char *plain = NULL, *rooted = NULL, *inside = NULL;
        const BundleFile *f;
        char shown[256];
        int r;

        diag_quote(path, strlen(path), shown, sizeof(shown));
        if (asprintf(&rooted, "/%s", path) < 0) {
                rooted = NULL;
                return -ENOMEM;
        }
        r = path_normalise(rooted, &plain, reterr);
        if (r)
                return r < 0 ? r : diag(reterr, GRANT_E_USAGE, "entry \"%s\": must name a file in the skill's folder, without \"..\"", shown);
        f = bundle_find(&s->bundle, plain + 1);
        if (!f)
                return diag(reterr, GRANT_E_NOT_FOUND, "entry \"%s\": no such file in %s", shown, s->dir);
        if (!f->link && !f->executable)
                return diag(reterr, GRANT_E_NOT_EXECUTABLE, "entry \"%s\": not executable; make it so (chmod +x), or name its interpreter in "
                                                            "lethe.json: \"entry\": {\"main\": [\"python3\", \"/skill%s\"]}", shown, plain);
        if (asprintf(&inside, REGION_SKILL_DIR "%s", plain) < 0) {
                inside = NULL;
                return -ENOMEM;
        }
        return strv_add(argv, inside);
}

static int no_such_entry(const Manifest *m, const char *name, Diag *reterr) {
        char list[512] = "", shown[256];
        size_t o = 0;

        for (size_t i = 0; i < m->n_entries && o < sizeof(list); i++)
                o += (size_t)snprintf(list + o, sizeof(list) - o, "%s%s", i > 0 ? ", " : "", m->entries[i].name);
        return diag(reterr, GRANT_E_USAGE, "no entry \"%s\" in lethe.json; it has: %s", diag_quote(name, strlen(name), shown, sizeof(shown)), list);
}

int grant_entry(const Skill *s, const Entry *e, char ***ret_argv, Diag *reterr) {
        const char *program = e->argv[0];
        int r;

        if (path_is_under(program, REGION_SKILL_DIR) && strlen(program) > strlen(REGION_SKILL_DIR))
                r = skill_program(ret_argv, s, program + strlen(REGION_SKILL_DIR), reterr);
        else if (program[0] != '/' && (strchr(program, '/') || bundle_find(&s->bundle, program)))
                r = skill_program(ret_argv, s, program, reterr);
        else
                r = strv_add(ret_argv, program); /* of the region's system folders, or searched in PATH there */
        return r ? r : strv_add_all(ret_argv, e->argv + 1);
}

/* What runs in the skill: an entry of lethe.json; where that names none, the file that --entry names. */
static int set_entry(Grant *g, const Skill *s, const RunRequest *q, Diag *reterr) {
        const Manifest *m = &s->manifest;
        const Entry *e;

        if (m->n_entries == 0) {
                if (!q->entry)
                        return diag(reterr, GRANT_E_USAGE, "the skill has %s: say with --entry FILE which file of it to run",
                                    s->has_manifest ? "no \"entry\" in its lethe.json" : "no lethe.json");
                return skill_program(&g->argv, s, q->entry, reterr);
        }
        e = manifest_entry(m, q->entry ?: "main");
        return e ? grant_entry(s, e, &g->argv, reterr) : no_such_entry(m, q->entry ?: "main", reterr);
}

static int set_exec(Grant *g, const RunRequest *q, Diag *reterr) {
        const Program *p = &q->program;
        int r;

        if (q->entry)
                return diag(reterr, GRANT_E_USAGE, "--entry names a part of a skill: it cannot stand beside --exec");
        r = copy(&g->skill_name, strrchr(p->path, '/') + 1);
        if (r == 0)
                r = copy(&g->skill_digest, p->digest);
        if (r == 0 && p->real)
                r = copy(&g->program, p->real);
        if (r == 0 && p->real && p->copy) /* without: shown only, there is no copy yet */
                r = copy(&g->program_copy, p->copy);
        if (r == 0 && p->link)
                r = copy(&g->program_link, p->path);
        if (r == 0 && p->link)
                r = copy(&g->program_end, p->link);
        g->program_granted = p->granted;
        return r ? r : strv_add(&g->argv, p->path);
}

/* What is the skill's own business: nothing of it reaches beyond the region. */
static int set_own(Grant *g, const Manifest *m, const RunRequest *q) {
        int r = strv_add_all(&g->reads, m->reads);

        if (r == 0)
                r = strv_add_all(&g->writes, m->writes);
        if (r == 0)
                r = strv_add_all(&g->resources, m->resources);
        if (r == 0)
                r = strv_add_all(&g->sub_skills, m->sub_skills);
        if (r == 0)
                r = strv_add_all(&g->preload, m->preload);
        if (r == 0 && m->notes)
                r = copy(&g->notes, m->notes);
        if (r == 0 && m->canon)
                r = copy(&g->canon, m->canon);
        if (r == 0)
                r = copy(&g->workdir, q->workdir ?: REGION_WORK_DIR);
        if (r == 0 && q->name)
                r = copy(&g->name, q->name);
        if (r == 0)
                r = set_env(g, m, q);
        g->slots = json_incref(m->slots);
        g->proc = m->proc || q->proc;
        g->on_denial = m->on_denial;
        g->report_paths = m->report_paths;
        g->cancel_bound_usec = m->cancel_bound_usec ?: CANCEL_BOUND_STANDARD_USEC;
        g->cancel_declared = m->cancel_bound_usec > 0;
        g->lineage = m->lineage;
        g->key_scope = m->key_scope;
        g->embodiment = m->embodiment;
        g->commit = m->commit;
        g->trace = q->trace;
        g->client = q->client;
        g->sections = json_incref(m->sections);
        g->gates = json_incref(m->gates);
        return r ? r : grant_find_interpreter(g);
}

int policy_grant(const Skill *s, const RunRequest *q, const Policy *p, Grant *ret, Diag *reterr) {
        _cleanup_grant_ Grant g = {.reductions = json_array()};
        const Manifest none = manifest_none(), *m = s ? &s->manifest : &none;
        const SkillPolicy *row = s ? policy_skill(p, s->md.name) : NULL;
        Merge merge = {.skill = s, .manifest = m, .request = q, .policy = p, .row = row, .grant = &g, .reterr = reterr};
        int r;

        assert(s || q->program.path);
        if (!g.reductions)
                return -ENOMEM;
        if (row && row->digest && strcmp(row->digest, s->bundle.digest) != 0)
                return diag(reterr, GRANT_E_REFUSED, "skill %s: its digest is %s, but %s#/skills/%s/digest is %s", s->md.name, s->bundle.digest,
                            p->path, s->md.name, row->digest);
        if (s) {
                r = copy(&g.skill_name, s->md.name);
                if (r == 0)
                        r = copy(&g.skill_digest, s->bundle.digest);
                if (r == 0)
                        r = copy(&g.skill_dir, s->copy.path ?: s->dir);
                if (r == 0)
                        r = copy(&g.skill_folder, s->dir);
                if (r == 0)
                        r = set_entry(&g, s, q, reterr);
        } else
                r = set_exec(&g, q, reterr);
        if (r == 0)
                r = strv_add_all(&g.argv, q->args);
        if (r == 0)
                r = set_own(&g, m, q);
        if (r == 0)
                r = merge_budget(&merge);
        if (r == 0)
                r = merge_tier(&merge);
        if (r == 0)
                r = merge_network(&merge);
        if (r == 0)
                r = merge_files(&merge);
        if (r == 0)
                r = merge_memory(&merge);
        if (r == 0)
                r = merge_discipline(&merge);
        if (r == 0 && s)
                r = merge_releases(&merge, s);
        if (r == 0)
                r = merge_bounds(&merge);
        if (r)
                return r;
        g.program_loose = !s && (q->program.loose || (q->program.link_loose && g.min_tier == TIER_LANDLOCK));
        g.max_regions = p->max_regions;
        g.uids = p->region_uids;
        g.max_of_skill = s ? policy_concurrency(p, s->md.name) : 0;
        *ret = g;
        g = (Grant){0};
        return 0;
}
