/* The operator's policy file: accepted, or refused with a message; what is accepted keeps to the bounds, and its canonical form is the same
 * policy. */
#include "base/json.h"
#include "policy/policy.h"
#include "schema/limits.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

static void check_limits(const Limits *l) {
        for (size_t i = 0; i < BUDGET_FIELDS; i++) {
                uint64_t v = budget_get(&l->max, &budget_fields[i]);

                fuzz_check(v == 0 || (v == BUDGET_NONE && budget_fields[i].may_be_none) || (v >= budget_fields[i].least && v <= budget_fields[i].most), "%s", budget_fields[i].name);
        }
        fuzz_check(l->files_said || l->n_files == 0);
        fuzz_check(l->network_said || (l->n_connects == 0 && !l->network_host));
        for (size_t i = 0; i < l->n_files; i++)
                fuzz_check(l->files[i].path[0] == '/', "%s", l->files[i].path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_policy_ Policy *p = NULL, *again = NULL;
        _cleanup_json_ json_t *v = NULL, *message = NULL;
        _cleanup_free_ char *text = NULL;
        Diag why = {0};
        size_t n_text;
        int r;

        if (n > 1 << 14)
                return 0;
        r = policy_parse((const char *)data, n, "policy.json", &p, &why);
        fuzz_check(r == 0 || r == POLICY_E_BAD, "%d", r);
        fuzz_check((r == 0) == (p != NULL) && (r == 0) == !*why.text, "%d %s", r, why.text);
        message = json_string(why.text);
        fuzz_check(message != NULL, "the message is not UTF-8");
        if (r != 0)
                return 0;
        check_limits(&p->limits);
        for (size_t i = 0; i < p->n_skills; i++) {
                check_limits(&p->skills[i].limits);
                fuzz_check(policy_skill(p, p->skills[i].name) == &p->skills[i], "%s", p->skills[i].name);
        }
        fuzz_check(json_parse((const char *)data, n, MANIFEST_FILE_MAX, MANIFEST_DEPTH_MAX, &v, NULL) == 0);
        if (json_canonical(v, &text, &n_text) != 0)
                return 0;
        r = policy_parse(text, n_text, "policy.json", &again, &why);
        fuzz_check(r == 0, "%s: %s", text, why.text);
        fuzz_check(memcmp(&p->limits.max, &again->limits.max, sizeof(Budget)) == 0 && p->max_regions == again->max_regions);
        fuzz_check(p->concurrency == again->concurrency && p->n_skills == again->n_skills && p->limits.n_files == again->limits.n_files);
        fuzz_check(p->limits.min_tier == again->limits.min_tier && p->limits.n_connects == again->limits.n_connects);
        return 0;
}
