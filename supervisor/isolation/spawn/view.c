#include "schema/limits.h"
#include "base/mounts.h"
#include "spawn/private.h"
#include "base/path-lookup.h"
#include "spawn/spawner-private.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

static void view_add_text(crypto_generichash_state *h, const char *s) {
        crypto_generichash_update(h, (const uint8_t *)s, strlen(s) + 1);
}

/* An entry of the view is at the place, or is bound above: the place has to be inside of that entry. */
static bool view_has_place(const LaunchSpec *view, const char *target) {
        for (size_t i = 0; i < view->n_entries; i++) {
                const LaunchEntry *e = &view->entries[i];
                size_t n = strlen(e->target);

                if (strncmp(e->target, target, n) == 0 &&
                    (target[n] == 0 || (target[n] == '/' && e->kind != LAUNCH_FOLDER)))
                        return true;
        }
        return false;
}

int plan_of_view(const Plan *p, Plan *ret) {
        const LaunchSpec *of = &p->spec;
        Plan v = {.interpreter = p->interpreter, .preload = p->preload};
        LaunchSpec *s = &v.spec;

        *s = (LaunchSpec){.tier = of->tier,
                          .flags = LAUNCH_ZYGOTE | (of->flags & LAUNCH_CHANGE_IDS) | (p->interpreter ? LAUNCH_WARM : 0),
                          .uid = of->uid, .gid = of->gid, .scratch = "", .search = "", .workdir = "/"};
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
        /* A grant is only an empty place, where each region mounts its own source. */
        for (size_t i = p->granted; i < of->n_entries; i++) {
                const LaunchEntry *e = &of->entries[i];
                struct stat st;

                bool folder = lookup_stat(e->source, false, &st) == 0 && S_ISDIR(st.st_mode);

                if (e->kind == LAUNCH_BIND && !plan_in_scratch(e->target) && !view_has_place(s, e->target))
                        s->entries[s->n_entries++] = (LaunchEntry){.kind = folder ? LAUNCH_FOLDER : LAUNCH_FILE,
                                                                   .tree = -1, .target = e->target, .source = ""};
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
                trees[n] = e->tree >= 0 ? p->trees[e->tree]
                                        : (PlanTree){.source = e->source, .write = e->flags & LAUNCH_WRITE,
                                                     .entry = (uint16_t)i};
                e->tree = (int16_t)n++;
        }
        free(p->trees);
        p->trees = trees;
        p->n_trees = n;
        s->n_trees = (uint16_t)n;
        s->flags |= LAUNCH_TEMPLATE;
        return 0;
}

/* A bind includes all mounts below. */
static int view_stat_below(const char *path, bool follow, struct stat *st, uint64_t *ret_below) {
        _cleanup_free_ char *real = NULL;
        int r = follow ? lookup_stat_folder(path, st, &real) : lookup_stat(path, false, st);

        *ret_below = r == 0 && S_ISDIR(st->st_mode) ? mounts_below(real ?: path) : 0;
        return r;
}

static void view_mark_one(ViewMark *m) {
        struct stat st;

        if (view_stat_below(m->path, m->follow, &st, &m->below) == 0) {
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
                view_mark_one(&m.v[m.n++]);
        }
        *ret = m;
        return 0;
}

bool view_still_is(const ViewMarks *m) {
        for (size_t i = 0; i < m->n; i++) {
                ViewMark now = {.path = m->v[i].path, .follow = m->v[i].follow};

                view_mark_one(&now);
                if (now.dev != m->v[i].dev || now.inode != m->v[i].inode || now.below != m->v[i].below)
                        return false;
        }
        return true;
}

static bool view_add_source(crypto_generichash_state *h, const LaunchEntry *e) {
        struct {
                uint64_t dev, inode, below;
                uint32_t mode, uid, gid, there;
        } id = {0};
        struct stat st;

        int r = view_stat_below(e->source, e->flags & LAUNCH_FOLLOW, &st, &id.below);

        if (r == 0) {
                id.dev = st.st_dev;
                id.inode = st.st_ino;
                id.mode = st.st_mode;
                id.uid = st.st_uid;
                id.gid = st.st_gid;
                id.there = 1;
        } else if (r != -ENOENT || !(e->flags & LAUNCH_OPTIONAL))
                return false;
        crypto_generichash_update(h, (const uint8_t *)&id, sizeof(id));
        return true;
}

bool view_of(const Plan *p, const Probe *probe, const ViewOwner *owner, uint8_t ret[static VIEW_BYTES]) {
        const uint32_t who[] = {p->spec.tier, p->spec.flags & LAUNCH_CHANGE_IDS, p->spec.uid, p->spec.gid,
                                probe->uid,   probe->gid,                        owner->client, owner->net_host};
        _cleanup_(plan_deinit) Plan v = {0};
        crypto_generichash_state h;

        /* A /proc shows one PID namespace, and can be mounted only while the host's /proc is visible. */
        if (p->spec.tier != TIER_NAMESPACES || p->spec.flags & LAUNCH_PROC || plan_of_view(p, &v) < 0)
                return false;
        crypto_generichash_init(&h, NULL, 0, VIEW_BYTES);
        crypto_generichash_update(&h, (const uint8_t *)who, sizeof(who));
        for (size_t i = 0; i < v.spec.n_entries; i++) {
                const LaunchEntry *e = &v.spec.entries[i];
                const uint8_t kind[] = {e->kind, e->flags};

                crypto_generichash_update(&h, kind, sizeof(kind));
                view_add_text(&h, e->target);
                view_add_text(&h, e->source);
                if (e->kind == LAUNCH_BIND && !view_add_source(&h, e))
                        return false;
        }
        for (size_t i = 0; p->interpreter && p->preload[i]; i++)
                view_add_text(&h, p->preload[i]);
        if (p->interpreter) {
                const LaunchEntry interpreter = {.kind = LAUNCH_BIND, .flags = LAUNCH_FOLLOW, .source = p->interpreter};

                /* Children of an interpreter share the layout of addresses, for example: only a skill's regions may. */
                view_add_text(&h, owner->skill ?: "");
                view_add_text(&h, p->interpreter);
                /* else among the shims */
                if (strncmp(p->interpreter, REGION_LETHE_DIR "/", strlen(REGION_LETHE_DIR "/")) != 0 &&
                    !view_add_source(&h, &interpreter))
                        return false;
        }
        crypto_generichash_final(&h, ret, VIEW_BYTES);
        return true;
}
