#include "spawn/plan.h"

#include "spawn/plan-private.h"
#include "schema/limits.h"
#include "spawn/spawn.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define ENTRIES_OWN 128 /* entries of a plan besides the grant's files */
#define PAGE 4096ULL
#define ENV_USUAL_MAX 16

/* Landlock's rules hold for a whole folder and are added up: Landlock cannot take away a part, as a mount can. */
static int plan_check_landlock(const Grant *g, Diag *reterr) {
        if (g->network == NETWORK_LOOPBACK)
                return diag(reterr, SPAWN_E_TIER, "tier landlock has no network namespace, and so no network of the "
                            "region's own; fix: tier namespaces, or network \"none\"");
        if (g->terminals)
                return diag(reterr, SPAWN_E_TIER, "tier landlock has no mounts, and so no terminals of the region's "
                            "own (\"terminals\", --terminals); fix: tier namespaces, or -t for a single terminal");
        for (size_t i = 0; i < g->n_files; i++) {
                const FileGrant *f = &g->files[i];

                if (f->overlay)
                        return diag(reterr, SPAWN_E_TIER, "tier landlock has no mounts, and so no layer above %s; fix: "
                                    "tier namespaces, or a copy of the folder as -v COPY:%s:rw", f->source, f->target);
                if (f->mask)
                        return diag(reterr, SPAWN_E_TIER, "tier landlock cannot hide %s below a granted folder; fix: "
                                    "grant a folder that is not above the file, or tier namespaces", f->source);
                for (size_t k = 0; k < g->n_files && !f->write; k++)
                        if (g->files[k].write && path_is_under(f->source, g->files[k].source))
                                return diag(reterr, SPAWN_E_TIER, "tier landlock cannot keep %s read-only: %s above is "
                                            "granted for writing; fix: grant separate folders, or tier namespaces",
                                            f->source, g->files[k].source);
        }
        return 0;
}

int plan_tier(const Grant *g, const Probe *p, Tier *ret, Diag *reterr) {
        bool may_fall = g->tier != TIER_NAMESPACES && g->min_tier == TIER_LANDLOCK;

        if (p->landlock_abi < 1)
                return diag(reterr, SPAWN_E_TIER, "this kernel has no Landlock; fix: boot with lsm=landlock,… or a "
                            "kernel with CONFIG_SECURITY_LANDLOCK (5.13 and later)");
        if (g->tier != TIER_LANDLOCK && !p->userns_denied) {
                *ret = TIER_NAMESPACES;
                return 0;
        }
        if (g->tier != TIER_LANDLOCK && !may_fall)
                return diag(reterr, SPAWN_E_TIER, "tier namespaces cannot be had: %s",
                            probe_userns_reason(p->userns_denied));
        if (p->landlock_abi < 6)
                return diag(reterr, SPAWN_E_TIER, "tier landlock needs Landlock ABI 6, against signals to the host; "
                            "this kernel has ABI %d; fix: Linux 6.12 or later, or tier namespaces", p->landlock_abi);
        if (p->root && !p->has_nobody)
                return diag(reterr, SPAWN_E_TIER, "tier landlock cannot be had: neither the ids of regions nor 65534 "
                            "exist in this user namespace, and a skill never runs as root; fix: start without root");
        *ret = TIER_LANDLOCK;
        return plan_check_landlock(g, reterr);
}

const char *plan_keep(Plan *p, char *text) {
        if (!text || !GROW(p->texts, p->n_texts)) {
                free(text);
                p->failed = true;
                return "";
        }
        return p->texts[p->n_texts++] = text;
}

const char *plan_text(Plan *p, const char *fmt, ...) {
        char *s;
        va_list ap;

        va_start(ap, fmt);
        s = text_vprintf(fmt, ap);
        va_end(ap);
        return plan_keep(p, s);
}

LaunchEntry *plan_add(Plan *p, LaunchKind kind, uint8_t flags, const char *target, const char *source) {
        LaunchEntry *e = &p->spec.entries[p->spec.n_entries++];

        *e = (LaunchEntry){.kind = (uint8_t)kind, .flags = flags, .tree = -1, .target = target, .source = source};
        return e;
}

/* The supervisor opens the source of this bind: the worker may not reach the source, below /root for example. */
static void plan_add_tree(Plan *p, const PlanInput *in, LaunchEntry *e, bool uniform) {
        if (!in->trees || in->tier != TIER_NAMESPACES)
                return;
        e->tree = (int16_t)p->n_trees;
        p->trees[p->n_trees++] = (PlanTree){.source = e->source, .write = e->flags & LAUNCH_WRITE,
                                            .entry = (uint16_t)(p->spec.n_entries - 1), .uniform = uniform};
}

/* A bind of an operator's path: exactly that path, without a symbolic link on the way. */
static void plan_add_granted(Plan *p, const PlanInput *in, const char *target, const char *source, uint8_t flags) {
        plan_add_tree(p, in, plan_add(p, LAUNCH_BIND, flags, target, source), false);
}

static void plan_add_file(Plan *p, const PlanInput *in, const FileGrant *f) {
        const size_t n = p->n_trees;

        if (f->mask) {
                plan_add(p, LAUNCH_MASK, 0, f->target, "");
                return;
        }
        plan_add_granted(p, in, f->target, f->source, f->write ? LAUNCH_WRITE : f->overlay ? LAUNCH_OVERLAY : 0);
        if (p->n_trees > n)
                p->trees[n].of = f->of;
}

bool plan_in_scratch(const char *path) {
        return path_is_under(path, REGION_WORK_DIR) || path_is_under(path, REGION_TMP_DIR);
}

/* Tier landlock has the links of the host. */
static void plan_add_link(Plan *p, const PlanInput *in) {
        if (in->tier == TIER_NAMESPACES)
                plan_add(p, LAUNCH_LINK, 0, in->grant->program_link, in->grant->program_end);
}

static void plan_add_limit(Plan *p, uint32_t resource, uint64_t soft, uint64_t hard) {
        p->spec.limits[p->spec.n_limits++] = (LaunchLimit){resource, soft, hard};
}

static void plan_add_limits(Plan *p, const PlanInput *in) {
        const Budget *b = &in->grant->budget;
        /* The supervisor watches the budget of the whole tree; this limit is a back-stop. */
        uint64_t cpu = b->cpu_usec == BUDGET_NONE ? (uint64_t)RLIM_INFINITY - 1 : b->cpu_usec / 1000000 + 2;

        /* a file at the limit has broken the budget by one byte */
        plan_add_limit(p, RLIMIT_FSIZE, b->file_bytes + 1, b->file_bytes + 1);
        /* likewise: one descriptor more than the budget is the breach */
        plan_add_limit(p, RLIMIT_NOFILE, b->open_files + 1, b->open_files + 1);
        plan_add_limit(p, RLIMIT_CPU, cpu, cpu + 1);
        plan_add_limit(p, RLIMIT_CORE, 1, 1); /* 1, not 0: this also prevents a core pattern that is a pipe */
        plan_add_limit(p, RLIMIT_STACK, 8ULL << 20, 64ULL << 20);
        plan_add_limit(p, RLIMIT_MEMLOCK, 64ULL << 10, 64ULL << 10);
        plan_add_limit(p, RLIMIT_MSGQUEUE, 0, 0);
        plan_add_limit(p, RLIMIT_SIGPENDING, REGION_SIGNALS_PENDING, REGION_SIGNALS_PENDING);
        plan_add_limit(p, RLIMIT_NICE, 0, 0);
        plan_add_limit(p, RLIMIT_RTPRIO, 0, 0);
        /* A notification refuses larger steps exactly at the budget. Smaller steps are not notified: the limit is one
         * such step above the budget, so that a slow growth over the budget is visible. */
        if (!in->memory_in_cgroup)
                plan_add_limit(p, RLIMIT_DATA, b->memory_bytes + FILTER_MEMORY_NOTIFY_BYTES,
                               b->memory_bytes + FILTER_MEMORY_NOTIFY_BYTES);
        /* Counted per user namespace, so for this region; above the budget, because the breach is seen elsewhere. */
        if (in->tier == TIER_NAMESPACES)
                plan_add_limit(p, RLIMIT_NPROC, b->processes + 8, b->processes + 8);
        if (in->watches) {
                plan_add_limit(p, LAUNCH_LIMIT_INOTIFY_INSTANCES, REGION_INOTIFY_INSTANCES, REGION_INOTIFY_INSTANCES);
                plan_add_limit(p, LAUNCH_LIMIT_INOTIFY_WATCHES, REGION_INOTIFY_WATCHES, REGION_INOTIFY_WATCHES);
        }
}

/* Host paths of the region's skill and program. */
static const char *plan_skill(const PlanInput *in) {
        return in->skill_dir ?: in->grant->skill_dir;
}

static const char *plan_program(const PlanInput *in) {
        return in->program ?: in->grant->program_copy;
}

/* In tier landlock a place of the region stands for a path of the host's tree. The most specific place decides, like
 * the last mount in tier namespaces: a folder granted below /tmp is the granted folder. */
static const char *plan_to_host(Plan *p, const PlanInput *in, const char *s) {
        const Grant *g = in->grant;
        const struct {
                const char *place, *host, *below; /* host NULL: the region has no such place */
        } own[] = {
                {REGION_SKILL_DIR, plan_skill(in), ""},
                {REGION_LETHE_DIR, in->shim_dir, ""},
                {REGION_WORK_DIR, in->scratch, REGION_WORK_DIR},
                {REGION_TMP_DIR, in->scratch, REGION_TMP_DIR},
        };
        const char *host = NULL, *below = "";
        size_t longest = 0;

        if (g->program && !g->program_granted && (s == g->argv[0] || strcmp(s, g->program) == 0))
                /* A program bound without a copy has its own name, and the links to the program. */
                return strcmp(plan_program(in), g->program) == 0 ? s : plan_program(in);
        if (g->program_link && strcmp(s, g->program_link) == 0)
                return s;
        for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
                size_t n = strlen(own[i].place);

                if (own[i].host && n > longest && path_is_under(s, own[i].place)) {
                        host = own[i].host;
                        below = own[i].below;
                        longest = n;
                }
        }
        for (size_t i = 0; i < g->n_files; i++) {
                size_t n = strlen(g->files[i].target);

                if (n >= longest && path_is_under(s, g->files[i].target)) {
                        host = g->files[i].source;
                        below = "";
                        longest = n;
                }
        }
        return host ? plan_text(p, "%s%s%s", host, below, s + longest) : s;
}

/* A list of paths joined by ':', as in PATH. */
static const char *plan_list_to_host(Plan *p, const PlanInput *in, const char *s) {
        const char *all = NULL;

        while (*s && !p->failed) {
                size_t n = strcspn(s, ":");
                const char *one = plan_to_host(p, in, plan_text(p, "%.*s", (int)n, s));

                all = all ? plan_text(p, "%s:%s", all, one) : one;
                s += n + (s[n] == ':');
        }
        return all ?: "";
}

static void plan_add_words(Plan *p, const PlanInput *in) {
        const Grant *g = in->grant;
        bool host = in->tier == TIER_LANDLOCK;

        p->spec.search = "/usr/local/bin:/usr/bin:/bin";
        for (size_t i = 0; g->argv[i]; i++)
                p->spec.argv[p->spec.n_argv++] = host ? plan_to_host(p, in, g->argv[i]) : g->argv[i];
        for (size_t i = 0; g->env && g->env[i]; i++) {
                const char *value = strchr(g->env[i], '='), *line = g->env[i];

                if (host && value && value[1] == '/')
                        line = plan_text(p, "%.*s=%s", (int)(value - line), line, plan_list_to_host(p, in, value + 1));
                if (strncmp(line, "PATH=", 5) == 0)
                        p->spec.search = line + 5;
                p->spec.env[p->spec.n_env++] = line;
        }
        p->spec.env[p->spec.n_env++] = plan_text(p, "LETHE_REGION=%s", in->region);
        if (g->skill_dir) {
                const char *skill = host ? plan_skill(in) : REGION_SKILL_DIR;

                p->spec.search = plan_text(p, "%s:%s", p->spec.search, skill);
                if (p->spec.argv[0][0] != '/' && strchr(p->spec.argv[0], '/'))
                        p->spec.argv[0] = plan_text(p, "%s/%s", skill, p->spec.argv[0]);
        }
}

int plan_words(const PlanInput *in, Plan *ret) {
        const Grant *g = in->grant;
        _cleanup_(plan_deinit) Plan p = {0};

        p.spec.argv = calloc(strv_length(g->argv) + 1, sizeof(*p.spec.argv));
        p.spec.env = calloc(strv_length(g->env) + 2, sizeof(*p.spec.env));
        if (p.spec.argv && p.spec.env)
                plan_add_words(&p, in);
        if (!p.spec.argv || !p.spec.env || p.failed)
                return -ENOMEM;
        *ret = p;
        p = (Plan){0};
        return 0;
}

const PlanWarm plan_warm[PLAN_WARM_N] = {
        {"python3", "/usr/bin/python3", {"-I", "-S", "-B", REGION_LETHE_DIR "/warm/warm.py"}, true, true},
        /* -T could not be taken back for the skill */
        {"perl", "/usr/bin/perl", {"-f", REGION_LETHE_DIR "/warm/warm.pl"}, true, false},
        {"lethe-load", REGION_LETHE_DIR "/bin/lethe-load", {"--warm"}, true, false},
};

/* An interpreter of the skill's own, or a granted interpreter, is not in a template's view. */
static bool plan_is_system(const char *program) {
        static const char *const places[] = {"/usr/", "/bin/", REGION_LETHE_DIR "/bin/"};

        for (size_t i = 0; i < ARRAY_SIZE(places); i++)
                if (strncmp(program, places[i], strlen(places[i])) == 0)
                        return !strstr(program, "/../") && !strstr(program, "/./");
        return false;
}

/* The interpreter of the skill, if a warm one can go on in a child. A bare name means the system's interpreter. */
static const char *plan_interpreter(const PlanInput *in) {
        const Grant *g = in->grant;
        const char *program = in->later ? g->interpreter : g->argv[0], *slash = program ? strrchr(program, '/') : NULL,
                   *name = slash ? slash + 1 : program;

        if (!program || !g->preload || in->tier != TIER_NAMESPACES || !in->shim_dir ||
            (slash && !plan_is_system(program)))
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(plan_warm); i++)
                if (strcmp(name, plan_warm[i].name) == 0 && (plan_warm[i].judges || g->interpreter))
                        return slash ? program : plan_warm[i].program;
        return NULL;
}

/* The bootstrap of an interpreter that starts before its words are known, and is no child of a warm one. */
static int plan_add_ahead(Plan *p, const PlanInput *in) {
        static const char *const node[] = {"-r", REGION_LETHE_DIR "/warm/ahead.js", REGION_LETHE_DIR "/warm/ahead.js"};
        LaunchSpec *s = &p->spec;

        s->argv = calloc(ARRAY_SIZE(node) + strv_length(in->grant->preload) + 2, sizeof(*s->argv));
        s->env = calloc(ENV_USUAL_MAX, sizeof(*s->env));
        if (!s->argv || !s->env)
                return -ENOMEM;
        s->argv[s->n_argv++] = in->grant->interpreter;
        for (size_t i = 0; !p->interpreter && i < ARRAY_SIZE(node); i++)
                s->argv[s->n_argv++] = node[i];
        for (size_t i = 0; !p->interpreter && in->grant->preload && in->grant->preload[i]; i++)
                s->argv[s->n_argv++] = in->grant->preload[i];
        for (size_t i = 0; grant_usual_env[i] && i + 1 < ENV_USUAL_MAX; i++)
                s->env[s->n_env++] = grant_usual_env[i];
        s->search = strchr(grant_usual_env[0], '=') + 1; /* PATH */
        s->flags |= LAUNCH_AHEAD;
        return 0;
}

void plan_not_ahead(Plan *p) {
        if (!(p->spec.flags & LAUNCH_AHEAD))
                return;
        p->spec.flags &= (uint16_t)~LAUNCH_AHEAD;
        p->spec.n_argv = p->spec.n_env = 0;
        p->spec.search = "";
}

int plan_make(const PlanInput *in, Plan *ret) {
        const Grant *g = in->grant;
        _cleanup_(plan_deinit) Plan p = {0};
        LaunchSpec *s = &p.spec;

        if (!in->later && plan_words(in, &p) < 0)
                return -ENOMEM;
        p.spec.search = in->later ? "" : p.spec.search;
        s->entries = calloc(ENTRIES_OWN + g->n_files, sizeof(*s->entries));
        s->limits = calloc(16, sizeof(*s->limits));
        p.trees = calloc(4 + g->n_files, sizeof(*p.trees));
        if (!s->entries || !s->limits || !p.trees)
                return -ENOMEM;
        s->tier = (uint8_t)in->tier;
        s->flags = (in->probe->root && (in->tier == TIER_NAMESPACES || in->probe->has_nobody) ? LAUNCH_CHANGE_IDS : 0) |
                   (g->proc && in->tier == TIER_NAMESPACES ? LAUNCH_PROC : 0) | (in->later ? LAUNCH_LATER : 0) |
                   (g->network == NETWORK_HOST ? LAUNCH_NET_HOST : 0) |
                   (in->tier == TIER_NAMESPACES && g->network == NETWORK_LOOPBACK ? LAUNCH_LOOPBACK : 0) |
                   (g->terminal ? LAUNCH_TERMINAL : 0) |
                   (grant_has_terminals(g, in->tier) ? LAUNCH_TERMINALS : 0) | (in->tell ? LAUNCH_TELL : 0);
        if (s->flags & LAUNCH_LOOPBACK)
                memcpy(s->listen, g->listen, sizeof(s->listen));
        if (s->flags & LAUNCH_LOOPBACK && g->n_publishes > 0)
                s->flags |= LAUNCH_SOCKETS;
        s->uid = in->tier == TIER_NAMESPACES ? REGION_UID : probe_region_id(in->probe);
        s->gid = in->tier == TIER_NAMESPACES ? REGION_GID : probe_region_id(in->probe);
        /* A page more than the budget: a written page beyond the budget proves the breach. */
        s->scratch_bytes = (g->budget.scratch_bytes + PAGE - 1) / PAGE * PAGE + PAGE;
        s->scratch_inodes = g->budget.scratch_bytes / PAGE + 1024;
        s->scratch = in->scratch ?: "";
        s->filter = in->filter;
        s->n_filter = in->n_filter;
        plan_add_system(&p, in);
        if (in->shim_dir)
                plan_add_tree(&p, in, plan_add(&p, LAUNCH_BIND, LAUNCH_FOLLOW, REGION_LETHE_DIR, in->shim_dir), true);
        if (g->program_link && !plan_in_scratch(g->program_link))
                plan_add_link(&p, in);
        p.granted = s->n_entries;
        if (g->program_link && plan_in_scratch(g->program_link))
                plan_add_link(&p, in);
        if (g->skill_dir)
                plan_add_granted(&p, in, REGION_SKILL_DIR, plan_skill(in), 0);
        for (size_t i = 0; i < g->n_files; i++)
                plan_add_file(&p, in, &g->files[i]);
        /* The last: no grant of a folder above covers the hashed program. */
        if (g->program && (in->tier == TIER_NAMESPACES || !g->program_granted))
                plan_add_granted(&p, in, g->program, plan_program(in), 0);
        plan_add_limits(&p, in);
        s->workdir = g->workdir ?: REGION_WORK_DIR;
        if (in->tier == TIER_LANDLOCK)
                s->workdir = plan_to_host(&p, in, s->workdir);
        p.interpreter = plan_interpreter(in);
        p.preload = g->preload;
        s->n_trees = (uint16_t)p.n_trees;
        if (in->later && g->interpreter && in->shim_dir && plan_add_ahead(&p, in) < 0)
                p.failed = true;
        if (p.failed)
                return -ENOMEM;
        *ret = p;
        p = (Plan){0};
        return 0;
}

void plan_deinit(Plan *p) {
        for (size_t i = 0; i < p->n_texts; i++) {
                explicit_bzero(p->texts[i], strlen(p->texts[i]));
                free(p->texts[i]);
        }
        free(p->texts);
        free(p->trees);
        launch_deinit(&p->spec);
        *p = (Plan){0};
}
