/* The parts of a grant about entries and the end of a region: command, discipline, release callbacks. */
#include "policy/merge.h"
#include "schema/limits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int merge_skill_file(const Skill *s, const char *path, const char *said, const BundleFile **ret, char **ret_inside,
                     Diag *reterr) {
        _cleanup_free_ char *rooted = text_printf("/%s", path), *plain = NULL;
        int r = rooted ? path_normalise(rooted, &plain, reterr) : -ENOMEM;

        if (r != 0)
                return r < 0 ? r
                             : diag(reterr, GRANT_E_USAGE,
                                    "%s: must name a file in the skill's folder, without \"..\"", said);
        *ret = bundle_find(&s->bundle, plain + 1);
        *ret_inside = text_printf(REGION_SKILL_DIR "%s", plain);
        return *ret_inside ? 0 : -ENOMEM;
}

/* A program inside the skill's folder, `path` relative to the folder: the file must exist and be executable. */
int merge_skill_program(char ***argv, const Skill *s, const char *path, Diag *reterr) {
        _cleanup_free_ char *said = text_printf("entry \"%s\"", DIAG_QUOTED(path)), *inside = NULL;
        const BundleFile *f;
        int r = said ? merge_skill_file(s, path, said, &f, &inside, reterr) : -ENOMEM;

        if (r != 0)
                return r;
        if (!f)
                return diag(reterr, GRANT_E_NOT_FOUND, "%s: no such file in %s", said, s->dir);
        if (!f->link && !f->executable)
                return diag(reterr, GRANT_E_NOT_EXECUTABLE,
                            "%s: not executable; make it so (chmod +x), or name its interpreter in "
                            "lethe.json: \"entry\": {\"main\": [\"python3\", \"%s\"]}",
                            said, inside);
        return strv_add(argv, inside);
}

int merge_entry(const Skill *s, const ManifestEntry *e, char ***ret_argv, Diag *reterr) {
        const char *program = e->argv[0];
        int r;

        if (path_is_under(program, REGION_SKILL_DIR) && strlen(program) > strlen(REGION_SKILL_DIR))
                r = merge_skill_program(ret_argv, s, program + strlen(REGION_SKILL_DIR), reterr);
        else if (program[0] != '/' && (strchr(program, '/') || bundle_find(&s->bundle, program)))
                r = merge_skill_program(ret_argv, s, program, reterr);
        else
                r = strv_add(ret_argv, program); /* of the region's system folders, or searched in PATH there */
        return r ? r : strv_add_all(ret_argv, e->argv + 1);
}

int policy_allows_discipline(const Policy *p, const Skill *s, Discipline d, Diag *reterr) {
        const SkillPolicy *row = s ? policy_skill(p, s->md.name) : NULL;
        bool trusted = row && row->trusted && row->digest && strcmp(row->digest, s->bundle.digest) == 0;

        if (d != DISCIPLINE_NONE || trusted)
                return 0;
        if (!s)
                return diag(reterr, GRANT_E_REFUSED,
                            "discipline none: only for a skill that the policy calls trusted, not for a program");
        return diag(reterr, GRANT_E_REFUSED,
                    "discipline none: only for a trusted skill; %s#/skills/%s would need \"trusted\": true and "
                    "\"digest\": \"%s\"",
                    p->path ?: "the policy file", s->md.name, s->bundle.digest);
}

/* A skill asks for the discipline of its data. The command line can only ask for a stronger discipline. */
int merge_discipline(Merge *m) {
        const Manifest *a = m->manifest;
        const RunRequest *q = m->request;
        Grant *g = m->grant;
        char asked[DISCIPLINE_TEXT_MAX], said[DISCIPLINE_TEXT_MAX];

        g->discipline = q->discipline_said ? q->discipline : a->discipline;
        g->passes = q->discipline_said ? q->passes : a->passes;
        if (q->discipline_said && a->discipline_said &&
            discipline_strength(q->discipline, q->passes) < discipline_strength(a->discipline, a->passes))
                return diag(m->reterr, GRANT_E_REFUSED,
                            "--discipline %s: leaves more behind than lethe.json#/teardown/discipline asks (%s)",
                            discipline_format(q->discipline, q->passes, said),
                            discipline_format(a->discipline, a->passes, asked));
        return 0;
}

/* The callback's request, or else the region's own budget; never more. The memory is set aside from the region's: the
 * request, or a quarter or 16 MiB; at most half. */
static int merge_release_budget(Merge *m, const ReleaseAsk *a, size_t i, Budget *ret) {
        Budget whole = m->grant->budget;

        *ret = whole;
        whole.memory_bytes /= 2;
        ret->memory_bytes = MIN(MAX(ret->memory_bytes / 4, UINT64_C(16) << 20), whole.memory_bytes);
        for (size_t k = 0; k < BUDGET_FIELDS; k++) {
                const BudgetField *f = &budget_fields[k];
                uint64_t v = budget_get(&a->budget, f), most = budget_get(&whole, f);
                char asked[BUDGET_TEXT_MAX], granted[BUDGET_TEXT_MAX], field[64];
                int r;

                if (v > 0 && v <= most)
                        *budget_at(ret, f) = v;
                if (v <= most)
                        continue;
                *budget_at(ret, f) = most;
                snprintf(field, sizeof(field), "/release/%zu/budgets/%s", i, f->name);
                r = merge_reduce(m, field, budget_format(f, v, asked), budget_format(f, most, granted),
                                 "a callback gets no more than its region had, and half of "
                                 "its memory");
                if (r < 0)
                        return r;
        }
        return 0;
}

int merge_releases(Merge *m) {
        const Manifest *a = m->manifest;
        Grant *g = m->grant;
        int r = 0;

        g->releases = calloc(a->n_releases + 1, sizeof(*g->releases));
        if (!g->releases)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < a->n_releases; i++) {
                ReleaseGrant *to = &g->releases[g->n_releases++];
                const ManifestEntry *e = manifest_entry(a, a->releases[i].entry);

                assert(e); /* checked by the reader of the manifest */
                to->entry = strdup(a->releases[i].entry);
                if (!to->entry)
                        return -ENOMEM;
                r = merge_entry(m->skill, e, &to->argv, m->reterr);
                r = r ?: merge_release_budget(m, &a->releases[i], i, &to->budget);
        }
        return r;
}
