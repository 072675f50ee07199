/* Runs: CLI. */
#include "base/size.h"
#include "cli/with-store.h"
#include "request/paths.h"
#include "request/rate.h"
#include "manifest/lint.h"
#include "policy/admit.h"
#include "policy/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define VERB "validate"

static const char help[] =
        "Usage: lethe validate [--json] [--policy FILE] DIR\n\n"
        "Checks the skill in the folder DIR: SKILL.md against the Agent Skills specification, lethe.json\n"
        "against its schema, the files of the folder, whether its entries can run, and whether the\n"
        "policy allows registration. Each finding has file, line or JSON pointer, and the rule. Then prints\n"
        "the exposure, a score from 0 (no request) to 100, and the predicted time on the machine for\n"
        "overwriting the skill's memory, beside the cancel bound.\n"
        "No program is run and no event is recorded.\n\n"
        "  --policy FILE  the policy file (default: $LETHE_POLICY, else the usual places)\n"
        "  --json         print JSON\n"
        "  -h, --help     print the help\n\n"
        "Exit status: 0 no error, 1 errors, 2 usage.\n";

static int validate_print_json(const char *dir, const Skill *s, const Findings *f, const json_t *exposure,
                               const json_t *teardown, bool valid) {
        _cleanup_json_ json_t *o =
                json_pack("{s:i, s:s, s:b, s:o, s:s*, s:s*, s:O*, s:O*}", "version", 1, "folder", s ? s->dir : dir,
                          "valid", valid, "findings", findings_to_json(f), "digest",
                          s && s->bundle.digest[0] ? s->bundle.digest : NULL, "name", s ? s->md.name : NULL, "teardown",
                          teardown, "exposure", exposure);

        return print_json(stdout, o);
}

static void validate_print_teardown(const json_t *o) {
        char size[SIZE_TEXT_MAX], takes[SIZE_TEXT_MAX], bound[SIZE_TEXT_MAX], text[DISCIPLINE_TEXT_MAX];
        const uint64_t processes = cli_u64(o, "processes");
        Discipline d = DISCIPLINE_ZERO;

        while (d < DISCIPLINE_NONE && !json_text_is(json_object_get(o, "discipline"), discipline_name(d)))
                d++;
        printf("teardown: of %s (%s) and %" PRIu64 " process%s about %s; the cancel bound is %s, %s\n",
               size_format(cli_u64(o, "memory_bytes"), size),
               discipline_format(d, (unsigned)cli_integer(o, "passes"), text), processes, processes == 1 ? "" : "es",
               duration_format(cli_u64(o, "predicted_usec"), takes), duration_format(cli_u64(o, "bound_usec"), bound),
               json_is_true(json_object_get(o, "declared")) ? "declared" : "computed");
}

static int validate_print_text(const Skill *s, const Findings *f, const json_t *exposure, const json_t *teardown,
                               bool valid) {
        for (size_t i = 0; i < f->n; i++) {
                _cleanup_free_ char *text = finding_text(&f->v[i]);

                if (!text)
                        return -1;
                printf("%s: %s\n", f->v[i].level == FINDING_NOTE ? "note" : "error", text);
        }
        if (exposure) {
                const json_t *parts = json_object_get(exposure, "parts");

                printf("exposure: %d of 100 (%s)%s\n", (int)cli_integer(exposure, "score"),
                       cli_text(exposure, "level"), json_array_size(parts) ? ":" : ": no requests");
                for (size_t i = 0; i < json_array_size(parts); i++)
                        printf("  %3d  %s\n", (int)cli_integer(json_array_get(parts, i), "points"),
                               cli_text(json_array_get(parts, i), "what"));
        }
        if (teardown)
                validate_print_teardown(teardown);
        if (valid)
                printf("%s: valid, %zu file%s, %s\n", s->md.name, s->bundle.n_files, s->bundle.n_files == 1 ? "" : "s",
                       s->bundle.digest);
        else
                printf("not valid: %zu error%s\n", findings_count(f, FINDING_ERROR) + findings_count(f, FINDING_STRICT),
                       findings_count(f, FINDING_ERROR) + findings_count(f, FINDING_STRICT) == 1 ? "" : "s");
        return 0;
}

/* Reports the refusals of `lethe skill add`. */
static int validate_policy(const Skill *s, const Policy *policy, Findings *f) {
        Diag d = {0};

        if (policy_allows_ask(policy, s, &d) == 0)
                return 0;
        return finding_add(f, FINDING_ERROR, MANIFEST_NAME, 0, "/teardown/discipline", "trusted", "%s", d.text);
}

/* Reports the refusals of `lethe run` before a start, and predicts the teardown time (I-72, I-73). */
static int validate_teardown(const Skill *s, const Policy *policy, Findings *f, json_t **ret) {
        const Manifest *m = &s->manifest;
        const RunRequest q = {.entry = m->n_entries > 0 && !manifest_entry(m, "main") ? m->entries[0].name : NULL};
        _cleanup_free_ char *store = path_of_store(NULL, &(Diag){0});
        _cleanup_grant_ Grant g = {0};
        WipeRate rate;
        Diag d = {0};
        int r = policy_grant(s, &q, policy, &g, &d);

        if (r == GRANT_E_BOUNDS)
                return finding_add(f, FINDING_ERROR, MANIFEST_NAME, 0, "", "policy-bounds", "%s", d.text);
        if (r != 0) /* reported elsewhere, or by the run */
                return MIN(r, 0);
        rate_get(store, true, &rate);
        r = admit(&g, &rate, 0, &d);
        if (r == GRANT_E_BOUNDS)
                r = finding_add(f, FINDING_ERROR, MANIFEST_NAME, 0, "/cancel_bound", "cancel-bound", "%s", d.text);
        if (r < 0)
                return r;
        *ret = json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:b, s:b}", "discipline", discipline_name(g.discipline),
                         "passes", (int)g.passes, "memory_bytes", json_u64(admit_bytes(&g)), "processes",
                         json_u64(g.budget.processes), "predicted_usec", json_u64(g.teardown_usec), "bound_usec",
                         json_u64(g.cancel_bound_usec), "declared", g.cancel_declared, "measured", rate.measured);
        return *ret ? 0 : -ENOMEM;
}

static int validate_folder(const char *dir, const char *policy_file, bool json) {
        _cleanup_policy_ Policy *policy = NULL;
        _cleanup_findings_ Findings f = {0};
        _cleanup_skill_ Skill *s = NULL;
        _cleanup_json_ json_t *exposure = NULL, *teardown = NULL;
        Diag d = {0};
        char shown[256];
        bool valid;
        int r = policy_load(policy_file, &policy, &d);

        if (r > 0)
                return cli_fail(VERB, EXIT_USAGE, "%s", d.text);
        if (r == 0)
                r = skill_inspect(dir, &s, &f, &d);
        if (r == SKILL_E_MISSING)
                return cli_fail(VERB, EXIT_USAGE, "%s", d.text);
        if (r > 0)
                r = finding_add(&f, FINDING_ERROR, ".", 0, NULL, "bundle", "%s", d.text);
        else if (r == 0) {
                r = skill_lint(s, &f);
                if (r == 0 && s->md.name)
                        r = validate_policy(s, policy, &f);
                if (r == 0 && s->md.name && findings_count(&f, FINDING_ERROR) == 0)
                        r = validate_teardown(s, policy, &f, &teardown);
                if (r == 0 && findings_count(&f, FINDING_ERROR) == 0 && !(exposure = skill_exposure(s)))
                        r = -1;
        }
        valid = findings_count(&f, FINDING_ERROR) + findings_count(&f, FINDING_STRICT) == 0;
        if (r == 0)
                r = json ? validate_print_json(diag_quote(dir, strlen(dir), shown, sizeof(shown)), s, &f, exposure,
                                               teardown, valid)
                         : validate_print_text(s, &f, exposure, teardown, valid);
        if (r < 0)
                return cli_fail(VERB, EXIT_USAGE, "out of memory");
        return valid ? EXIT_OK : EXIT_NOT;
}

int cmd_validate(int argc, char **argv) {
        static const struct option options[] = {
                OPTION_FLAG("json", 'j'), OPTION("policy", 'p'), OPTION_FLAG("help", 'h'), {0}};
        StoreOptions o = {.help = help};

        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        if (argc - optind != 1)
                return cli_usage(VERB, "validate takes a single folder");
        return cli_done(VERB, validate_folder(argv[optind], o.value['p'], o.json));
}
