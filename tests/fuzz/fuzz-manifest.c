/* lethe.json: a text is accepted or has findings, never both; what is accepted keeps to every bound, and its canonical form asks for the
 * same. */
#include "base/json.h"
#include "manifest/manifest.h"
#include "schema/jsonschema.h"
#include "schema/limits.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

static bool parse(const char *text, size_t n, Manifest *ret) {
        _cleanup_findings_ Findings findings = {0};
        bool accepted;

        fuzz_check(manifest_parse(text, n, -1, NULL, ret, &findings) == 0);
        accepted = findings_count(&findings, FINDING_ERROR) == 0;
        fuzz_check(findings.n <= 200);
        for (size_t i = 0; i < findings.n; i++) {
                _cleanup_free_ char *line = finding_text(&findings.v[i]);
                _cleanup_json_ json_t *v = json_string(line);

                fuzz_check(line && v, "a finding is not UTF-8");
                for (const char *p = line; *p; p++)
                        fuzz_check((unsigned char)*p >= 0x20, "a control character in: %s", line);
        }
        return accepted;
}

static void check_names(char *const *names) {
        for (size_t i = 0; names && names[i]; i++)
                fuzz_check(slot_name_valid(names[i]), "%s", names[i]);
}

static void check_bounds(Manifest *m) {
        const char *name;
        json_t *schema;

        for (size_t i = 0; i < BUDGET_FIELDS; i++) {
                uint64_t v = budget_get(&m->budget, &budget_fields[i]);

                fuzz_check(v == 0 || (v == BUDGET_NONE && budget_fields[i].may_be_none) || (v >= budget_fields[i].least && v <= budget_fields[i].most), "%s", budget_fields[i].name);
        }
        for (size_t i = 0; i < m->n_entries; i++)
                fuzz_check(m->entries[i].name && m->entries[i].argv && m->entries[i].argv[0]);
        check_names(m->reads);
        check_names(m->writes);
        json_object_foreach(m->slots, name, schema) {
                _cleanup_jsonschema_ JsonSchema *s = NULL;

                fuzz_check(slot_name_valid(name), "%s", name);
                fuzz_check(jsonschema_compile(schema, &s, NULL) == 0, "%s", name);
        }
        for (size_t i = 0; i < m->n_files; i++) {
                fuzz_check(m->files[i].path[0] == '/' && m->files[i].target[0] == '/');
                fuzz_check(path_target_check(m->files[i].target, strcmp(m->files[i].target, m->files[i].path) == 0 && !m->files[i].write, NULL) == 0, "%s", m->files[i].target);
        }
        fuzz_check(m->network == NETWORK_CONNECT || m->n_connects == 0);
        fuzz_check(m->cancel_bound_usec == 0 ||
                   (m->cancel_bound_usec >= CANCEL_BOUND_LEAST_USEC && m->cancel_bound_usec <= CANCEL_BOUND_MOST_USEC));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        Manifest m = {0}, again = {0};
        _cleanup_json_ json_t *v = NULL;
        _cleanup_free_ char *text = NULL;
        size_t n_text;

        if (n > 1 << 14 || !parse((const char *)data, n, &m))
                return 0;
        check_bounds(&m);
        fuzz_check(json_parse((const char *)data, n, MANIFEST_FILE_MAX, MANIFEST_DEPTH_MAX, &v, NULL) == 0);
        if (json_canonical(v, &text, &n_text) == 0) {
                fuzz_check(parse(text, n_text, &again), "%s", text);
                fuzz_check(memcmp(&m.budget, &again.budget, sizeof(m.budget)) == 0);
                fuzz_check(m.n_entries == again.n_entries && m.n_files == again.n_files && m.n_connects == again.n_connects);
                fuzz_check(strv_length(m.reads) == strv_length(again.reads) && strv_length(m.writes) == strv_length(again.writes));
                fuzz_check(strv_length(m.env) == strv_length(again.env) && m.network == again.network && m.proc == again.proc);
                fuzz_check(m.min_tier == again.min_tier && m.on_denial == again.on_denial && m.report_paths == again.report_paths);
                manifest_deinit(&again);
        }
        manifest_deinit(&m);
        return 0;
}
