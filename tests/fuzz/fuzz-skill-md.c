/* SKILL.md: reading ends without an error of ours whatever the bytes; each finding is one line of clean text, and without a finding the
 * name and the description are there and keep to the specification. */
#include "base/json.h"
#include "manifest/skill-md.h"
#include "manifest/vocabulary.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_findings_ Findings findings = {0}, again = {0};
        SkillMd m = {0}, twin = {0};

        if (n > 1 << 14)
                return 0;
        fuzz_check(skill_md_parse((const char *)data, n, NULL, &m, &findings) == 0);
        fuzz_check(findings.n <= 200);
        for (size_t i = 0; i < findings.n; i++) {
                _cleanup_free_ char *line = finding_text(&findings.v[i]);
                _cleanup_json_ json_t *v = json_string(line);

                fuzz_check(line && v, "a finding is not UTF-8");
                for (const char *p = line; *p; p++)
                        fuzz_check((unsigned char)*p >= 0x20, "a control character in: %s", line);
        }
        if (findings_count(&findings, FINDING_ERROR) == 0 && findings_count(&findings, FINDING_STRICT) == 0) {
                fuzz_check(m.name && skill_name_valid(m.name), "%s", m.name);
                fuzz_check(m.description && *m.description);
        }
        fuzz_check(skill_md_parse((const char *)data, n, NULL, &twin, &again) == 0 && findings.n == again.n);
        fuzz_check((m.name == NULL) == (twin.name == NULL) && (!m.name || strcmp(m.name, twin.name) == 0));
        skill_md_deinit(&m);
        skill_md_deinit(&twin);
        return 0;
}
