/* Copies and compares grants for a region that is prepared before its invocation: only the rights. */
#include "policy/grant.h"

#include <errno.h>
#include <string.h>

static char *copy_text(const char *s, bool *failed) {
        char *t = s ? strdup(s) : NULL;

        *failed |= s && !t;
        return t;
}

static char **copy_list(char *const *v, bool *failed) {
        char **l = NULL;

        for (size_t i = 0; v && v[i] && !*failed; i++)
                *failed |= strv_add(&l, v[i]) < 0;
        return l;
}

static json_t *copy_json(const json_t *j, bool *failed) {
        json_t *copy = j ? json_deep_copy(j) : NULL;

        *failed |= j && !copy;
        return copy;
}

static FileGrant *copy_files(const Grant *g, bool *failed) {
        FileGrant *v = calloc(g->n_files + 1, sizeof(*v));

        *failed |= !v;
        for (size_t i = 0; v && i < g->n_files; i++)
                v[i] = (FileGrant){copy_text(g->files[i].source, failed), copy_text(g->files[i].target, failed),
                                   g->files[i].write, g->files[i].mask, copy_text(g->files[i].of, failed)};
        return v;
}

static NetGrant *copy_connects(const Grant *g, bool *failed) {
        NetGrant *v = calloc(g->n_connects + 1, sizeof(*v));

        *failed |= !v;
        for (size_t i = 0; v && i < g->n_connects; i++) {
                v[i] = g->connects[i];
                v[i].text = copy_text(g->connects[i].text, failed);
        }
        return v;
}

static ReleaseGrant *copy_releases(const Grant *g, bool *failed) {
        ReleaseGrant *v = calloc(g->n_releases + 1, sizeof(*v));

        *failed |= !v;
        for (size_t i = 0; v && i < g->n_releases; i++)
                v[i] = (ReleaseGrant){copy_text(g->releases[i].entry, failed), copy_list(g->releases[i].argv, failed),
                                      g->releases[i].budget};
        return v;
}

static MemoryRight *copy_memory(const Grant *g, bool *failed) {
        MemoryRight *v = NULL;

        *failed |= memory_rights_copy(g->memory, g->n_memory, &v) < 0;
        return v;
}

int grant_copy_untold(const Grant *g, Grant *ret) {
        Grant c = *g;
        bool failed = false;

        c.argv = c.env = NULL;
        c.name = NULL;
        c.trace = (Trace){0};
        c.raised = c.reductions = c.beyond = NULL;
        c.skill_name = copy_text(g->skill_name, &failed);
        c.skill_digest = copy_text(g->skill_digest, &failed);
        c.skill_dir = copy_text(g->skill_dir, &failed);
        c.skill_folder = copy_text(g->skill_folder, &failed);
        c.program = copy_text(g->program, &failed);
        c.program_copy = copy_text(g->program_copy, &failed);
        c.program_link = copy_text(g->program_link, &failed);
        c.program_end = copy_text(g->program_end, &failed);
        c.workdir = copy_text(g->workdir, &failed);
        c.files = copy_files(g, &failed);
        c.n_files = c.files ? g->n_files : 0;
        c.connects = copy_connects(g, &failed);
        c.n_connects = c.connects ? g->n_connects : 0;
        c.sections = copy_json(g->sections, &failed);
        c.resources = copy_list(g->resources, &failed);
        c.releases = copy_releases(g, &failed);
        c.n_releases = c.releases ? g->n_releases : 0;
        c.sub_skills = copy_list(g->sub_skills, &failed);
        c.notes = copy_text(g->notes, &failed);
        c.canon = copy_text(g->canon, &failed);
        c.memory = copy_memory(g, &failed);
        c.n_memory = c.memory ? g->n_memory : 0;
        c.preload = copy_list(g->preload, &failed);
        c.interpreter = copy_text(g->interpreter, &failed);
        c.gates = copy_json(g->gates, &failed);
        c.reads = copy_list(g->reads, &failed);
        c.writes = copy_list(g->writes, &failed);
        c.slots = copy_json(g->slots, &failed);
        if (failed) {
                grant_deinit(&c);
                return -ENOMEM;
        }
        *ret = c;
        return 0;
}

static bool same_text(const char *a, const char *b) {
        return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_list(char *const *a, char *const *b) {
        size_t n = strv_length(a);

        if (n != strv_length(b))
                return false;
        for (size_t i = 0; i < n; i++)
                if (strcmp(a[i], b[i]) != 0)
                        return false;
        return true;
}

static bool same_json(const json_t *a, const json_t *b) {
        return a == b || (a && b && json_equal(a, b));
}

static bool same_budget(const Budget *a, const Budget *b) {
        for (size_t i = 0; i < BUDGET_FIELDS; i++)
                if (budget_get(a, &budget_fields[i]) != budget_get(b, &budget_fields[i]))
                        return false;
        return true;
}

static bool same_reach(const Grant *a, const Grant *b) {
        if (a->n_files != b->n_files || a->n_connects != b->n_connects || a->network != b->network ||
            a->network_closed != b->network_closed || a->proc != b->proc)
                return false;
        for (size_t i = 0; i < a->n_files; i++)
                if (!same_text(a->files[i].source, b->files[i].source) ||
                    !same_text(a->files[i].target, b->files[i].target) || !same_text(a->files[i].of, b->files[i].of) ||
                    a->files[i].write != b->files[i].write || a->files[i].mask != b->files[i].mask)
                        return false;
        for (size_t i = 0; i < a->n_connects; i++)
                if (!same_text(a->connects[i].text, b->connects[i].text))
                        return false;
        return true;
}

static bool same_releases(const Grant *a, const Grant *b) {
        if (a->n_releases != b->n_releases)
                return false;
        for (size_t i = 0; i < a->n_releases; i++)
                if (!same_text(a->releases[i].entry, b->releases[i].entry) ||
                    !same_list(a->releases[i].argv, b->releases[i].argv) ||
                    !same_budget(&a->releases[i].budget, &b->releases[i].budget))
                        return false;
        return true;
}

bool grant_same(const Grant *a, const Grant *b) {
        return a->client == b->client && same_text(a->skill_name, b->skill_name) &&
               same_text(a->skill_digest, b->skill_digest) && same_text(a->skill_dir, b->skill_dir) &&
               same_text(a->skill_folder, b->skill_folder) && same_text(a->program, b->program) &&
               same_text(a->program_copy, b->program_copy) && same_text(a->program_link, b->program_link) &&
               same_text(a->program_end, b->program_end) && a->program_granted == b->program_granted &&
               a->program_loose == b->program_loose && same_text(a->workdir, b->workdir) &&
               same_budget(&a->budget, &b->budget) && a->min_tier == b->min_tier && a->tier == b->tier &&
               same_reach(a, b) && a->on_denial == b->on_denial && a->report_paths == b->report_paths &&
               a->cancel_declared == b->cancel_declared && a->cancel_ceiling_usec == b->cancel_ceiling_usec &&
               (!a->cancel_declared || a->cancel_bound_usec == b->cancel_bound_usec) &&
               a->discipline == b->discipline && a->passes == b->passes && a->lineage == b->lineage &&
               a->key_scope == b->key_scope && a->embodiment == b->embodiment && a->commit == b->commit &&
               same_json(a->sections, b->sections) && same_list(a->resources, b->resources) && same_releases(a, b) &&
               same_list(a->sub_skills, b->sub_skills) && same_list(a->preload, b->preload) &&
               same_text(a->interpreter, b->interpreter) && same_text(a->notes, b->notes) &&
               same_text(a->canon, b->canon) && memory_rights_same(a->memory, a->n_memory, b->memory, b->n_memory) &&
               same_json(a->gates, b->gates) && same_list(a->reads, b->reads) && same_list(a->writes, b->writes) &&
               same_json(a->slots, b->slots) && a->max_regions == b->max_regions && a->uids.first == b->uids.first &&
               a->uids.count == b->uids.count && a->max_of_skill == b->max_of_skill;
}
