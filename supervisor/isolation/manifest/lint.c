#include "manifest/lint.h"

#include "schema/limits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A program of the host, as far as this host can tell: another host may have the program. */
static int lint_host_program(const Skill *s, const char *program, const char *pointer, Findings *f) {
        bool there = program[0] == '/' && (path_is_program(program) || path_is_under(program, REGION_LETHE_DIR));
        const char *shown = DIAG_QUOTED(program);
        _cleanup_free_ char *found = NULL;

        for (size_t i = 0; program[0] == '/' && i < s->manifest.n_files; i++)
                there = there || path_is_under(program, s->manifest.files[i].target);
        if (program[0] != '/' && path_search(program, &found) < 0)
                return -ENOMEM;
        if (there || found || strcmp(program, "lethe-slot") == 0)
                return 0;
        return program[0] == '/' ? finding_add(f, FINDING_NOTE, MANIFEST_NAME, 0, pointer, "entry-host",
                                               "\"%s\": no program on this host", shown)
                                 : finding_add(f, FINDING_NOTE, MANIFEST_NAME, 0, pointer, "entry-host",
                                               "\"%s\": not in the skill's folder, and on this host not in %s", shown,
                                               REGION_PATH);
}

static int lint_program(const Skill *s, const ManifestEntry *e, const char *pointer, Findings *f) {
        const char *program = e->argv[0], *inside = NULL;
        _cleanup_free_ char *rooted = NULL, *plain = NULL;
        const BundleFile *file;
        const char *shown = DIAG_QUOTED(program);

        if (path_is_under(program, REGION_SKILL_DIR))
                inside = program + strlen(REGION_SKILL_DIR);
        else if (program[0] != '/' && (strchr(program, '/') || bundle_find(&s->bundle, program)))
                inside = program;
        if (!inside)
                return lint_host_program(s, program, pointer, f);
        if (!(rooted = text_printf("/%s", inside)))
                return -ENOMEM;
        if (path_normalise(rooted, &plain, NULL) != 0 || !(file = bundle_find(&s->bundle, plain + 1)))
                return finding_add(f, FINDING_ERROR, MANIFEST_NAME, 0, pointer, "entry-missing",
                                   "\"%s\": no such file in the skill's folder", shown);
        if (!file->link && !file->executable)
                return finding_add(f, FINDING_ERROR, MANIFEST_NAME, 0, pointer, "entry-executable",
                                   "\"%s\": not executable; chmod +x, or name its interpreter first", shown);
        return 0;
}

static int lint_entry(const Skill *s, const ManifestEntry *e, Findings *f) {
        char pointer[128];
        int r;

        snprintf(pointer, sizeof(pointer), "/entry/%s/0", e->name);
        r = lint_program(s, e, pointer, f);
        for (size_t i = 1; r == 0 && e->argv[i]; i++) {
                snprintf(pointer, sizeof(pointer), "/entry/%s/%zu", e->name, i);
                /* The working folder is /work: a relative name of a file of the skill does not work. */
                if (bundle_find(&s->bundle, e->argv[i]))
                        r = finding_add(f, FINDING_NOTE, MANIFEST_NAME, 0, pointer, "entry-argument",
                                        "\"%s\" is a file of the skill, but the working folder is %s: write %s/%s",
                                        e->argv[i], REGION_WORK_DIR, REGION_SKILL_DIR, e->argv[i]);
        }
        return r;
}

int skill_lint(const Skill *s, Findings *f) {
        const Manifest *m = &s->manifest;
        const char *name;
        json_t *schema;
        char pointer[256];
        int r = 0;

        if (!s->has_manifest)
                return finding_add(f, FINDING_NOTE, MANIFEST_NAME, 0, NULL, "manifest-missing",
                                   "not there: the skill gets default budgets, no slots, no files and no network, and "
                                   "each run names the file to run: lethe run SKILL FILE");
        if (m->n_entries == 0 && findings_count(f, FINDING_ERROR) == 0)
                r = finding_add(f, FINDING_NOTE, MANIFEST_NAME, 0, "/entry", "entry-none",
                                "no entry: each run names the file to run: lethe run SKILL FILE");
        for (size_t i = 0; r == 0 && i < m->n_entries; i++)
                r = lint_entry(s, &m->entries[i], f);
        json_object_foreach(m->slots, name, schema) {
                if (r == 0 && !strv_has(m->reads, name) && !strv_has(m->writes, name)) {
                        snprintf(pointer, sizeof(pointer), "/slots/%.200s", name);
                        r = finding_add(f, FINDING_NOTE, MANIFEST_NAME, 0, pointer, "slot-unused",
                                        "defined, but neither in \"reads\" nor in \"writes\"");
                }
        }
        if (r == 0 && m->key_scope == KEY_SCOPE_TREE && strv_length(m->sub_skills) == 0)
                r = finding_add(f, FINDING_NOTE, MANIFEST_NAME, 0, "/key_scope", "key-scope-unused",
                                "invocation-tree is for \"sub_skills\", and there is none");
        for (size_t i = 0; r == 0 && i < m->n_files; i++)
                if (!m->files[i].real) {
                        snprintf(pointer, sizeof(pointer), "/files/%zu/path", i);
                        r = finding_add(f, FINDING_NOTE, MANIFEST_NAME, 0, pointer, "file-missing",
                                        "%s does not exist on this host", m->files[i].path);
                }
        return r;
}

typedef struct Exposure {
        json_t *parts;
        unsigned score;
        bool failed;
} Exposure;

static void _printf_(3, 4) exposure_add(Exposure *s, unsigned points, const char *fmt, ...) {
        _cleanup_free_ char *what = NULL;
        va_list ap;

        va_start(ap, fmt);
        what = text_vprintf(fmt, ap);
        va_end(ap);
        s->score += points;
        if (!what || json_array_append_new(s->parts, json_pack("{s:i, s:s}", "points", (int)points, "what", what)) < 0)
                s->failed = true;
}

/* A folder at the top of the host's tree gives far more than any file below it. */
static bool exposure_is_top(const char *path) {
        return strchr(path + 1, '/') == NULL;
}

static void exposure_add_files(Exposure *s, const Manifest *m) {
        for (size_t i = 0; i < m->n_files; i++) {
                const FileAsk *a = &m->files[i];

                exposure_add(s, (a->write ? 15 : 5) + (exposure_is_top(a->path) ? 20 : 0), "%s %s%s",
                             a->write ? "writes" : "reads", a->path,
                             exposure_is_top(a->path) ? ", a folder at the top of the tree" : "");
        }
}

static void exposure_add_budgets(Exposure *s, const Manifest *m) {
        for (size_t i = 0; i < BUDGET_FIELDS; i++) {
                const BudgetField *f = &budget_fields[i];
                uint64_t v = budget_get(&m->budget, f);
                char text[BUDGET_TEXT_MAX], standard[BUDGET_TEXT_MAX];

                if (v > f->standard)
                        exposure_add(s, v / f->standard >= 16 ? 5 : 2, "%s %s, the default is %s", f->name,
                                     budget_format(f, v, text), budget_format(f, f->standard, standard));
        }
}

static void exposure_add_memory(Exposure *s, const Manifest *m) {
        static const unsigned points[] = {[MEMORY_READ] = 2, [MEMORY_WRITE] = 5, [MEMORY_DELETE] = 10};
        static const char *const does[] = {
                [MEMORY_READ] = "reads", [MEMORY_WRITE] = "saves", [MEMORY_DELETE] = "deletes"};

        for (size_t i = 0; i < m->n_memory; i++)
                for (size_t a = 0; a < MEMORY_ACCESSES; a++)
                        if (m->memory[i].may[a])
                                exposure_add(s, points[a], "%s typed memory of scope %s", does[a], m->memory[i].scope);
}

json_t *skill_exposure(const Skill *skill) {
        const Manifest *m = &skill->manifest;
        Exposure s = {.parts = json_array()};
        json_t *o = NULL;
        size_t n;

        if (!s.parts)
                return NULL;
        if (m->network == NETWORK_HOST)
                exposure_add(&s, 40, "the host's whole network");
        if (m->n_allows > 0)
                exposure_add(&s, 8 + 2 * (unsigned)m->n_allows, "reaches %zu host%s by name", m->n_allows, m->n_allows == 1 ? "" : "s");
        if (m->n_connects > 0)
                exposure_add(&s, 5 + 2 * (unsigned)m->n_connects, "connects to %zu address%s", m->n_connects,
                             m->n_connects == 1 ? "" : "es");
        exposure_add_files(&s, m);
        if ((n = strv_length(m->writes)) > 0)
                exposure_add(&s, 2 * (unsigned)MIN(n, 5), "writes %zu slot%s of shared state", n,
                             n == 1 ? "" : "s");
        if ((n = strv_length(m->reads)) > 0)
                exposure_add(&s, (unsigned)MIN(n, 5), "reads %zu slot%s", n, n == 1 ? "" : "s");
        exposure_add_budgets(&s, m);
        if (m->proc)
                exposure_add(&s, 5, "a /proc of the region's processes");
        if (m->terminals)
                exposure_add(&s, 5, "terminals of the region's own");
        if (m->min_tier == TIER_LANDLOCK)
                exposure_add(&s, 10, "would run without namespaces");
        if (!m->report_paths)
                exposure_add(&s, 5, "asks for no reports of denied paths");
        if (m->discipline == DISCIPLINE_NONE)
                exposure_add(&s, 20, "asks for memory without overwriting");
        if (m->lineage == LINEAGE_STATS)
                exposure_add(&s, 5, "asks for records of sums only");
        if (m->key_scope == KEY_SCOPE_TREE)
                exposure_add(&s, 5, "shows the region's key to started skills");
        if ((n = strv_length(m->sub_skills)) > 0)
                exposure_add(&s, 2 * (unsigned)MIN(n, 5), "starts %zu sub-skill%s", n, n == 1 ? "" : "s");
        if (m->notes)
                exposure_add(&s, 2, "keeps notes that may be promoted to shared belief of scope %s", m->notes);
        if (m->canon)
                exposure_add(&s, 2, "reads shared belief of scope %s", m->canon);
        if (m->kernels)
                exposure_add(&s, 2, "reads the kernels of scope %s", m->kernels);
        exposure_add_memory(&s, m);
        if ((n = strv_length(m->resources)) > 0)
                exposure_add(&s, 2 * (unsigned)MIN(n, 5), "holds %zu resource%s outside the region", n,
                             n == 1 ? "" : "s");
        if (skill->bundle.bytes > 16 * 1024 * 1024)
                exposure_add(&s, 2, "a large folder: %lu bytes in %zu files", (unsigned long)skill->bundle.bytes,
                             skill->bundle.n_files);
        s.score = MIN(s.score, 100);
        if (!s.failed)
                o = json_pack("{s:i, s:s, s:O}", "score", (int)s.score, "level",
                              s.score < 10   ? "low"
                              : s.score < 40 ? "medium"
                                             : "high",
                              "parts", s.parts);
        json_decref(s.parts);
        return o;
}
