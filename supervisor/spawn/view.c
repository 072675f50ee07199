#include "schema/limits.h"
#include "spawn/mounts.h"
#include "spawn/private.h"
#include "spawn/spawner-private.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void add(crypto_generichash_state *h, const void *p, size_t n) {
        crypto_generichash_update(h, p, n);
}

static void add_text(crypto_generichash_state *h, const char *s) {
        add(h, s, strlen(s) + 1);
}

bool plan_is_own(const LaunchEntry *e) {
        static const char *const folders[] = {REGION_WORK_DIR, REGION_TMP_DIR};

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                size_t n = strlen(folders[i]);

                if (strncmp(e->target, folders[i], n) == 0 && (e->target[n] == '/' || e->target[n] == 0))
                        return true;
        }
        return false;
}

/* As a skill's own by default: with another one the interpreter is executed in the region. */
static const char *const warm_env[] = {"PATH=" REGION_LETHE_DIR "/bin:/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "PYTHONPATH=" REGION_LETHE_DIR "/python",
                                       "PYTHONDONTWRITEBYTECODE=1", "LD_PRELOAD=" REGION_LETHE_DIR "/warm/liblethe-warm.so"};

static const char *bootstrap(const char *interpreter) {
        const char *name = strrchr(interpreter, '/') + 1;
        size_t i = 0;

        while (strcmp(plan_warm[i].name, name) != 0)
                i++;
        return plan_warm[i].bootstrap;
}

int plan_of_view(const Plan *p, Plan *ret) {
        Plan v = {.spec = p->spec, .interpreter = p->interpreter, .preload = p->preload};
        size_t n_warm = 0;
        LaunchSpec *s = &v.spec;

        s->flags = (uint8_t)((s->flags & ~(LAUNCH_LATER | LAUNCH_AHEAD)) | LAUNCH_NURSERY);
        s->scratch_bytes = s->scratch_inodes = 0;
        s->scratch = s->search = "";
        s->workdir = "/";
        s->limits = NULL;
        s->filter = NULL;
        s->n_entries = s->n_limits = s->n_argv = s->n_env = s->n_filter = 0;
        s->entries = calloc(p->spec.n_entries + 1, sizeof(*s->entries));
        while (p->interpreter && p->preload[n_warm])
                n_warm++;
        s->argv = calloc(n_warm + 3, sizeof(*s->argv));
        s->env = calloc(ARRAY_SIZE(warm_env) + 1, sizeof(*s->env));
        v.trees = calloc(p->n_trees + 1, sizeof(*v.trees));
        if (!s->entries || !s->argv || !s->env || !v.trees) {
                plan_deinit(&v);
                return -ENOMEM;
        }
        if (p->interpreter) {
                s->flags |= LAUNCH_WARM;
                s->argv[s->n_argv++] = p->interpreter;
                s->argv[s->n_argv++] = bootstrap(p->interpreter);
                for (size_t i = 0; i < n_warm; i++)
                        s->argv[s->n_argv++] = p->preload[i];
                for (size_t i = 0; i < ARRAY_SIZE(warm_env); i++)
                        s->env[s->n_env++] = warm_env[i];
        } else
                s->argv[s->n_argv++] = "nursery";
        for (size_t i = 0; i < p->spec.n_entries; i++) {
                LaunchEntry e = p->spec.entries[i];

                if (plan_is_own(&e))
                        continue;
                if (e.tree >= 0) {
                        v.trees[v.n_trees] = p->trees[e.tree];
                        e.tree = (int16_t)v.n_trees++;
                }
                s->entries[s->n_entries++] = e;
        }
        s->n_trees = (uint16_t)v.n_trees;
        *ret = v;
        return 0;
}

void plan_use_view(Plan *p) {
        size_t n = 0;

        for (size_t i = 0; i < p->spec.n_entries; i++) {
                LaunchEntry *e = &p->spec.entries[i];

                if (!plan_is_own(e)) {
                        e->tree = -1;
                        continue;
                }
                e->flags |= LAUNCH_OWN;
                if (e->tree >= 0) {
                        p->trees[n] = p->trees[e->tree]; /* never behind itself: trees stand in the order of their entries */
                        e->tree = (int16_t)n++;
                }
        }
        p->n_trees = n;
        p->spec.n_trees = (uint16_t)n;
        p->spec.flags |= LAUNCH_TEMPLATE;
}

/* What is bound is bound with all that is mounted below it. */
static uint64_t below(const char *path, bool follow, const struct stat *st) {
        _cleanup_free_ char *real = NULL;

        if (!S_ISDIR(st->st_mode))
                return 0;
        if (follow)
                real = realpath(path, NULL);
        return mounts_below(real ?: path);
}

static void mark(ViewMark *m) {
        struct stat st;

        if ((m->follow ? stat(m->path, &st) : lstat(m->path, &st)) == 0) {
                m->dev = st.st_dev;
                m->inode = st.st_ino;
                m->below = below(m->path, m->follow, &st);
        }
}

void view_marks_deinit(ViewMarks *m) {
        for (size_t i = 0; i < m->n; i++)
                free(m->v[i].path);
        free(m->v);
        *m = (ViewMarks){0};
}

int view_mark(const Plan *p, ViewMarks *ret) {
        ViewMarks m = {.v = calloc(p->spec.n_entries + 1, sizeof(*m.v))};

        if (!m.v)
                return -ENOMEM;
        for (size_t i = 0; i < p->spec.n_entries; i++) {
                const LaunchEntry *e = &p->spec.entries[i];

                if (e->kind != LAUNCH_BIND)
                        continue;
                m.v[m.n] = (ViewMark){.path = strdup(e->source), .follow = e->flags & LAUNCH_FOLLOW};
                if (!m.v[m.n].path) {
                        view_marks_deinit(&m);
                        return -ENOMEM;
                }
                mark(&m.v[m.n++]);
        }
        *ret = m;
        return 0;
}

bool view_still_is(const ViewMarks *m) {
        for (size_t i = 0; i < m->n; i++) {
                ViewMark now = {.path = m->v[i].path, .follow = m->v[i].follow};

                mark(&now);
                if (now.dev != m->v[i].dev || now.inode != m->v[i].inode || now.below != m->v[i].below)
                        return false;
        }
        return true;
}

static bool add_source(crypto_generichash_state *h, const LaunchEntry *e) {
        struct {
                uint64_t dev, inode, below;
                uint32_t mode, uid, gid, there;
        } id = {0};
        struct stat st;

        if ((e->flags & LAUNCH_FOLLOW ? stat(e->source, &st) : lstat(e->source, &st)) == 0) {
                id.dev = st.st_dev;
                id.inode = st.st_ino;
                id.mode = st.st_mode;
                id.uid = st.st_uid;
                id.gid = st.st_gid;
                id.there = 1;
                id.below = below(e->source, e->flags & LAUNCH_FOLLOW, &st);
        } else if (errno != ENOENT || !(e->flags & LAUNCH_OPTIONAL))
                return false;
        add(h, &id, sizeof(id));
        return true;
}

bool view_of(const Plan *p, const Probe *probe, uint8_t ret[static VIEW_BYTES]) {
        const LaunchSpec *s = &p->spec;
        /* When its regions are told what to start is no matter of the view. */
        const uint32_t who[] = {s->tier, s->flags & ~(uint32_t)(LAUNCH_LATER | LAUNCH_AHEAD), s->uid, s->gid, probe->uid, probe->gid};
        crypto_generichash_state h;

        /* A /proc shows one PID namespace, and can be mounted only where the host's is still to be seen. */
        if (s->tier != TIER_NAMESPACES || s->flags & LAUNCH_PROC)
                return false;
        crypto_generichash_init(&h, NULL, 0, VIEW_BYTES);
        add(&h, who, sizeof(who));
        for (size_t i = 0; i < s->n_entries; i++) {
                const LaunchEntry *e = &s->entries[i];
                const uint8_t kind[] = {e->kind, e->flags};

                if (plan_is_own(e)) {
                        if (e->kind == LAUNCH_BIND && e->tree < 0) /* only the supervisor can hand it in, there is no host's tree to find it in */
                                return false;
                        continue;
                }
                add(&h, kind, sizeof(kind));
                add_text(&h, e->target);
                add_text(&h, e->source);
                if (e->kind == LAUNCH_BIND && !add_source(&h, e))
                        return false;
        }
        for (size_t i = 0; p->interpreter && p->preload[i]; i++)
                add_text(&h, p->preload[i]);
        if (p->interpreter) {
                const LaunchEntry interpreter = {.kind = LAUNCH_BIND, .flags = LAUNCH_FOLLOW, .source = p->interpreter};

                add_text(&h, p->interpreter);
                if (strncmp(p->interpreter, REGION_LETHE_DIR "/", strlen(REGION_LETHE_DIR "/")) != 0 && !add_source(&h, &interpreter)) /* else among the shims */
                        return false;
        }
        crypto_generichash_final(&h, ret, VIEW_BYTES);
        return true;
}
