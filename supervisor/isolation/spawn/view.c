#include "schema/limits.h"
#include "base/mounts.h"
#include "spawn/private.h"
#include "base/quiet.h"
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

/* Stands in a region's own scratch. */
static bool in_scratch(const LaunchEntry *e) {
        static const char *const folders[] = {REGION_WORK_DIR, REGION_TMP_DIR};

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                size_t n = strlen(folders[i]);

                if (strncmp(e->target, folders[i], n) == 0 && (e->target[n] == '/' || e->target[n] == 0))
                        return true;
        }
        return false;
}

/* Something of the view stands there already, or is bound above it: the place is to be found in that. */
static bool has_place(const LaunchSpec *view, const char *target) {
        for (size_t i = 0; i < view->n_entries; i++) {
                const LaunchEntry *e = &view->entries[i];
                size_t n = strlen(e->target);

                if (strncmp(e->target, target, n) == 0 && (target[n] == 0 || (target[n] == '/' && e->kind != LAUNCH_FOLDER)))
                        return true;
        }
        return false;
}

int plan_of_view(const Plan *p, Plan *ret) {
        const LaunchSpec *of = &p->spec;
        Plan v = {.interpreter = p->interpreter, .preload = p->preload};
        LaunchSpec *s = &v.spec;

        *s = (LaunchSpec){.tier = of->tier, .flags = LAUNCH_ZYGOTE | (of->flags & LAUNCH_CHANGE_IDS) | (p->interpreter ? LAUNCH_WARM : 0), .uid = of->uid,
                          .gid = of->gid, .scratch = "", .search = "", .workdir = "/"};
        s->entries = calloc(of->n_entries + 1, sizeof(*s->entries));
        v.trees = calloc(p->n_trees + 1, sizeof(*v.trees));
        if (!s->entries || !v.trees) {
                plan_deinit(&v);
                return -ENOMEM;
        }
        for (size_t i = 0; i < p->granted; i++) {
                LaunchEntry e = of->entries[i];

                if (e.tree >= 0) {
                        v.trees[v.n_trees] = p->trees[e.tree];
                        e.tree = (int16_t)v.n_trees++;
                }
                s->entries[s->n_entries++] = e;
        }
        /* Of what is granted no more than an empty place, where each region mounts its own. */
        for (size_t i = p->granted; i < of->n_entries; i++) {
                const LaunchEntry *e = &of->entries[i];
                struct stat st;

                bool folder = quiet_stat(e->source, false, &st) == 0 && S_ISDIR(st.st_mode);

                if (e->kind == LAUNCH_BIND && !in_scratch(e) && !has_place(s, e->target))
                        s->entries[s->n_entries++] =
                                (LaunchEntry){.kind = folder ? LAUNCH_FOLDER : LAUNCH_FILE, .tree = -1, .target = e->target, .source = ""};
        }
        s->n_trees = (uint16_t)v.n_trees;
        *ret = v;
        return 0;
}

int plan_use_view(Plan *p) {
        LaunchSpec *s = &p->spec;
        PlanTree *trees = calloc(s->n_entries - p->granted + 1, sizeof(*trees));
        size_t n = 0;

        if (!trees)
                return -ENOMEM;
        for (size_t i = 0; i < s->n_entries; i++) {
                LaunchEntry *e = &s->entries[i];

                if (i < p->granted) {
                        e->tree = -1;
                        continue;
                }
                e->flags |= LAUNCH_OWN;
                if (e->kind != LAUNCH_BIND)
                        continue;
                trees[n] = e->tree >= 0 ? p->trees[e->tree] : (PlanTree){.source = e->source, .write = e->flags & LAUNCH_WRITE, .entry = (uint16_t)i};
                e->tree = (int16_t)n++;
        }
        free(p->trees);
        p->trees = trees;
        p->n_trees = n;
        s->n_trees = (uint16_t)n;
        s->flags |= LAUNCH_TEMPLATE;
        return 0;
}

/* What is bound is bound with all that is mounted below it. */
static int stat_below(const char *path, bool follow, struct stat *st, uint64_t *ret_below) {
        _cleanup_free_ char *real = NULL;
        int r = follow ? quiet_stat_folder(path, st, &real) : quiet_stat(path, false, st);

        *ret_below = r == 0 && S_ISDIR(st->st_mode) ? mounts_below(real ?: path) : 0;
        return r;
}

static void mark(ViewMark *m) {
        struct stat st;

        if (stat_below(m->path, m->follow, &st, &m->below) == 0) {
                m->dev = st.st_dev;
                m->inode = st.st_ino;
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

        int r = stat_below(e->source, e->flags & LAUNCH_FOLLOW, &st, &id.below);

        if (r == 0) {
                id.dev = st.st_dev;
                id.inode = st.st_ino;
                id.mode = st.st_mode;
                id.uid = st.st_uid;
                id.gid = st.st_gid;
                id.there = 1;
        } else if (r != -ENOENT || !(e->flags & LAUNCH_OPTIONAL))
                return false;
        add(h, &id, sizeof(id));
        return true;
}

bool view_of(const Plan *p, const Probe *probe, const ViewOwner *owner, uint8_t ret[static VIEW_BYTES]) {
        const uint32_t who[] = {p->spec.tier, p->spec.flags & LAUNCH_CHANGE_IDS, p->spec.uid, p->spec.gid,
                                probe->uid,   probe->gid,                        owner->client, owner->net_host};
        _cleanup_(plan_deinit) Plan v = {0};
        crypto_generichash_state h;

        /* A /proc shows one PID namespace, and can be mounted only where the host's is still to be seen. */
        if (p->spec.tier != TIER_NAMESPACES || p->spec.flags & LAUNCH_PROC || plan_of_view(p, &v) < 0)
                return false;
        crypto_generichash_init(&h, NULL, 0, VIEW_BYTES);
        add(&h, who, sizeof(who));
        for (size_t i = 0; i < v.spec.n_entries; i++) {
                const LaunchEntry *e = &v.spec.entries[i];
                const uint8_t kind[] = {e->kind, e->flags};

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

                /* Things that its children have in common, such as the layout of their addresses, stay among regions of one skill. */
                add_text(&h, owner->skill ?: "");
                add_text(&h, p->interpreter);
                if (strncmp(p->interpreter, REGION_LETHE_DIR "/", strlen(REGION_LETHE_DIR "/")) != 0 && !add_source(&h, &interpreter)) /* else among the shims */
                        return false;
        }
        crypto_generichash_final(&h, ret, VIEW_BYTES);
        return true;
}
