#include "policy/grant.h"

#include "policy/allow.h"
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

/* Without PYTHONDONTWRITEBYTECODE, Python would try to write the byte code of each module to /skill and /lethe: a
 * useless denial, and the region's end with "on_denial": "end". */
const char *const grant_usual_env[] = {"PATH=" REGION_LETHE_DIR "/bin:" REGION_PATH,
                                       "HOME=" REGION_WORK_DIR,
                                       "TMPDIR=" REGION_TMP_DIR,
                                       "LANG=C.UTF-8",
                                       "PYTHONPATH=" REGION_LETHE_DIR "/python",
                                       "PYTHONDONTWRITEBYTECODE=1",
                                       "NODE_PATH=" REGION_LETHE_DIR "/node",
                                       NULL};

/* Interpreters that can be started ahead; `without`: also without "warm", which names the modules to import. */
static const struct {
        const char *name;
        bool without;
} interpreters[] = {{"node", true}, {"python3", false}, {"perl", false}, {"lethe-load", false}};

/* Variables that an interpreter or the C library reads at the start, or only once. */
static bool interpreter_reads_at_start(const char *line) {
        static const char *const begins[] = {"PATH=", "HOME=", "LANG", "LC_", "TZ", "LD_", "PYTHON", "PERL", "NODE",
                                             "UV_", "ICU", "OPENSSL", "SSL", "MALLOC_", "GLIBC_", "GCONV_"};

        if (strncmp(line, "NODE_ENV=", 9) == 0) /* read only by programs */
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
                if (strncmp(line, begins[i], strlen(begins[i])) == 0)
                        return true;
        return false;
}

static bool interpreter_env_is_usual(char *const *env) {
        for (size_t i = 0; env && env[i]; i++) {
                bool usual = !interpreter_reads_at_start(env[i]);

                for (size_t k = 0; grant_usual_env[k] && !usual; k++)
                        usual = strcmp(env[i], grant_usual_env[k]) == 0;
                if (!usual)
                        return false;
        }
        return true;
}

/* A program of the skill's own folder with an interpreter's name is below /skill. */
static bool interpreter_is_of_system(const char *program) {
        return !strchr(program, '/') || strncmp(program, "/usr/", 5) == 0 || strncmp(program, "/bin/", 5) == 0 ||
               strcmp(program, REGION_LETHE_DIR "/bin/lethe-load") == 0;
}

static int grant_find_interpreter(Grant *g) {
        const char *program = g->argv[0], *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;

        /* With /proc the skill could read the interpreter's first arguments. */
        if (!g->skill_dir || g->proc || !interpreter_is_of_system(program) || !g->argv[1] || g->argv[1][0] == '-' ||
            !interpreter_env_is_usual(g->env))
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(interpreters) && !g->interpreter; i++)
                if (strcmp(name, interpreters[i].name) == 0 && (interpreters[i].without || g->preload) &&
                    !(g->interpreter = strdup(program)))
                        return -ENOMEM;
        return 0;
}

uint64_t grant_set_aside(const Grant *g) {
        uint64_t most = 0;

        for (size_t i = 0; i < g->n_releases; i++)
                most = MAX(most, g->releases[i].budget.memory_bytes);
        return most;
}

/* NAME=VALUE replaces an earlier NAME. */
static int grant_env_add(char ***env, const char *line) {
        size_t n = (size_t)(strchr(line, '=') + 1 - line);

        for (size_t i = 0; *env && (*env)[i]; i++)
                if (strncmp((*env)[i], line, n) == 0) {
                        free((*env)[i]);
                        (*env)[i] = strdup(line);
                        return (*env)[i] ? 0 : -ENOMEM;
                }
        return strv_add(env, line);
}

static int grant_set_env(Grant *g, const Manifest *m, const RunRequest *q) {
        char in[32], out[32], trace[12 + TRACE_TEXT_MAX];
        int r = 0;

        snprintf(in, sizeof(in), "LETHE_IN=%d", REGION_PIPE_IN_FD);
        snprintf(out, sizeof(out), "LETHE_OUT=%d", REGION_PIPE_OUT_FD);
        for (size_t i = 0; r == 0 && grant_usual_env[i]; i++)
                r = strv_add(&g->env, grant_usual_env[i]);
        r = r ?: strv_add(&g->env, in);
        r = r ?: strv_add(&g->env, out);
        if (r == 0 && q->trace.set) {
                memcpy(trace, "TRACEPARENT=", 12);
                trace_text(&q->trace, trace + 12);
                r = strv_add(&g->env, trace);
        }
        for (size_t i = 0; r == 0 && m->env && m->env[i]; i++)
                r = grant_env_add(&g->env, m->env[i]);
        for (size_t i = 0; r == 0 && q->env && q->env[i]; i++)
                r = grant_env_add(&g->env, q->env[i]);
        return r;
}

static int grant_no_such_entry(const Manifest *m, const char *name, Diag *reterr) {
        char list[512] = "";
        size_t o = 0;

        for (size_t i = 0; i < m->n_entries && o < sizeof(list); i++)
                o += (size_t)snprintf(list + o, sizeof(list) - o, "%s%s", i > 0 ? ", " : "", m->entries[i].name);
        return diag(reterr, GRANT_E_USAGE, "no entry \"%s\" in lethe.json; it has: %s",
                    DIAG_QUOTED(name), list);
}

/* A program in place of the entry: a name is searched in PATH of the region, as the system's; a relative path is one of
 * the skill's folder. */
static int grant_set_inside(Grant *g, const Skill *s, const char *program, Diag *reterr) {
        if (!strchr(program, '/') || (*program == '/' && !path_is_under(program, REGION_SKILL_DIR)))
                return strv_add(&g->argv, program);
        return merge_script(&g->argv, s, program, reterr);
}

/* Sets the command: an entry of lethe.json; without entries, the file of --entry, else of the first argument. Adds the
 * arguments. */
static int grant_set_entry(Grant *g, const Skill *s, const RunRequest *q, Diag *reterr) {
        const Manifest *m = &s->manifest;
        char **args = q->args;
        const ManifestEntry *e;
        int r;

        if (q->inside && q->entry)
                return diag(reterr, GRANT_E_USAGE, "--entry and --exec both name what runs");
        if (q->inside)
                r = grant_set_inside(g, s, q->inside, reterr);
        else if (m->n_entries > 0) {
                e = manifest_entry(m, q->entry ?: "main");
                r = e ? merge_entry(s, e, &g->argv, reterr) : grant_no_such_entry(m, q->entry ?: "main", reterr);
        } else if (q->entry)
                r = merge_script(&g->argv, s, q->entry, reterr);
        else if (!args || !*args)
                r = merge_script_missing(s, NULL, reterr);
        else {
                r = merge_script(&g->argv, s, *args, reterr);
                args++;
        }
        return r ? r : strv_add_all(&g->argv, args);
}

static int grant_set_exec(Grant *g, const RunRequest *q, Diag *reterr) {
        const Program *p = &q->program;
        int r;

        if (q->entry)
                return diag(reterr, GRANT_E_USAGE, "--entry names a part of a skill: it cannot stand beside --exec");
        r = text_copy(&g->skill_name, strrchr(p->path, '/') + 1);
        r = r ?: text_copy(&g->skill_digest, p->digest);
        r = r ?: text_copy(&g->program, p->real);
        r = r ?: text_copy(&g->program_copy, p->real ? p->copy : NULL); /* no copy in a dry run */
        r = r ?: text_copy(&g->program_link, p->link ? p->path : NULL);
        r = r ?: text_copy(&g->program_end, p->link);
        g->program_granted = p->granted;
        r = r ?: strv_add(&g->argv, p->path);
        return r ? r : strv_add_all(&g->argv, q->args);
}

/* The skill's private members: without effect outside the region. */
static int grant_set_own(Grant *g, const Manifest *m, const RunRequest *q) {
        int r = strv_add_all(&g->reads, m->reads);

        r = r ?: strv_add_all(&g->writes, m->writes);
        r = r ?: strv_add_all(&g->resources, m->resources);
        r = r ?: strv_add_all(&g->sub_skills, m->sub_skills);
        r = r ?: strv_add_all(&g->preload, m->preload);
        r = r ?: text_copy(&g->notes, m->notes);
        r = r ?: text_copy(&g->canon, m->canon);
        r = r ?: text_copy(&g->kernels, m->kernels);
        g->own_notes = m->own_notes;
        r = r ?: text_copy(&g->workdir, q->workdir ?: REGION_WORK_DIR);
        r = r ?: text_copy(&g->name, q->name);
        r = r ?: text_copy(&g->caller_dir, q->caller_dir);
        r = r ?: grant_set_env(g, m, q);
        g->slots = json_incref(m->slots);
        g->proc = m->proc || q->proc;
        g->terminal = q->terminal;
        g->terminals = m->terminals || q->terminals;
        g->on_denial = m->on_denial;
        g->report_paths = m->report_paths;
        g->cancel_bound_usec = m->cancel_bound_usec ?: CANCEL_BOUND_STANDARD_USEC;
        g->cancel_declared = m->cancel_bound_usec > 0;
        g->grace_usec = q->grace_said ? q->grace_usec : m->grace_usec;
        g->lineage = m->lineage;
        g->key_scope = m->key_scope;
        g->embodiment = m->embodiment;
        g->commit = m->commit;
        g->trace = q->trace;
        g->client = q->client;
        g->sections = json_incref(m->sections);
        g->session = json_incref(m->session);
        g->session_idle_usec = m->session ? (uint64_t)json_integer_value(json_object_get(m->session, "idle_usec"))
                                          : SESSION_IDLE_STANDARD_USEC;
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
                return diag(reterr, GRANT_E_REFUSED, "skill %s: its digest is %s, but %s#/skills/%s/digest is %s",
                            s->md.name, s->bundle.digest, p->path, s->md.name, row->digest);
        if (s) {
                r = text_copy(&g.skill_name, s->md.name);
                r = r ?: text_copy(&g.skill_digest, s->bundle.digest);
                r = r ?: text_copy(&g.skill_dir, s->copy.path ?: s->dir);
                r = r ?: text_copy(&g.skill_folder, s->dir);
                r = r ?: grant_set_entry(&g, s, q, reterr);
        } else
                r = grant_set_exec(&g, q, reterr);
        r = r ?: grant_set_own(&g, m, q);
        r = r ?: merge_budget(&merge);
        r = r ?: merge_tier(&merge);
        r = r ?: merge_network(&merge);
        r = r ?: allow_set_env(&g);
        r = r ?: merge_files(&merge);
        r = r ?: merge_memory(&merge);
        r = r ?: merge_belief(&merge);
        r = r ?: merge_discipline(&merge);
        if (r == 0 && s)
                r = merge_releases(&merge);
        r = r ?: merge_bounds(&merge);
        if (r)
                return r;
        g.program_loose = !s && (q->program.loose || (q->program.link_loose && g.min_tier == TIER_LANDLOCK));
        g.max_regions = p->max_regions;
        g.layers = p->layers;
        g.uids = p->region_uids;
        g.max_of_skill = s ? policy_concurrency(p, s->md.name) : 0;
        *ret = g;
        g = (Grant){0};
        return 0;
}
