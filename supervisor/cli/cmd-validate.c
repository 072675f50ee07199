/* Runs: CLI. */
#include "cli/with-store.h"
#include "manifest/lint.h"
#include "policy/grant.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define VERB "validate"

static const char help[] =
        "Usage: lethe validate [--json] [--policy FILE] DIR\n\n"
        "Checks the skill in the folder DIR: SKILL.md against the Agent Skills specification, lethe.json\n"
        "against its schema, the files of the folder, whether its entries can run, and whether the\n"
        "policy lets it leave its memory as it is. Each finding has file, line or JSON pointer, and the\n"
        "rule. Then it tells what the skill asks for: a score from 0 (nothing) to 100. Nothing is run\n"
        "and nothing is recorded.\n\n"
        "  --policy FILE  the policy file (default: $LETHE_POLICY, else the usual places)\n"
        "  --json         print JSON\n"
        "  -h, --help     this text\n\n"
        "Exit status: 0 no error, 1 errors, 2 usage.\n";

static int answer(const char *dir, const Skill *s, const Findings *f, const json_t *exposure, bool valid) {
        _cleanup_json_ json_t *o = json_pack("{s:i, s:s, s:b, s:o}", "version", 1, "folder", s ? s->dir : dir, "valid", valid, "findings",
                                             findings_to_json(f));

        if (o && s && s->bundle.digest[0] && json_object_set_new(o, "digest", json_string(s->bundle.digest)) < 0)
                return -1;
        if (o && s && s->md.name && json_object_set_new(o, "name", json_string(s->md.name)) < 0)
                return -1;
        if (o && exposure && json_object_set(o, "exposure", (json_t *)exposure) < 0)
                return -1;
        return print_json(stdout, o);
}

static int print_text(const Skill *s, const Findings *f, const json_t *exposure, bool valid) {
        for (size_t i = 0; i < f->n; i++) {
                _cleanup_free_ char *text = finding_text(&f->v[i]);

                if (!text)
                        return -1;
                printf("%s: %s\n", f->v[i].level == FINDING_NOTE ? "note" : "error", text);
        }
        if (exposure) {
                const json_t *parts = json_object_get(exposure, "parts");

                printf("exposure: %d of 100 (%s)%s\n", (int)json_integer_value(json_object_get(exposure, "score")),
                       json_text(json_object_get(exposure, "level")), json_array_size(parts) ? ":" : ": it asks for nothing");
                for (size_t i = 0; i < json_array_size(parts); i++)
                        printf("  %3d  %s\n", (int)json_integer_value(json_object_get(json_array_get(parts, i), "points")),
                               json_text(json_object_get(json_array_get(parts, i), "what")));
        }
        if (valid)
                printf("%s: valid, %zu file%s, %s\n", s->md.name, s->bundle.n_files, s->bundle.n_files == 1 ? "" : "s", s->bundle.digest);
        else
                printf("not valid: %zu error%s\n", findings_count(f, FINDING_ERROR) + findings_count(f, FINDING_STRICT),
                       findings_count(f, FINDING_ERROR) + findings_count(f, FINDING_STRICT) == 1 ? "" : "s");
        return 0;
}

/* What `lethe skill add` would refuse. */
static int check_policy(const Skill *s, const Policy *policy, Findings *f) {
        Diag d = {0};

        if (policy_allows_discipline(policy, s, s->manifest.discipline, &d) == 0)
                return 0;
        return finding_add(f, FINDING_ERROR, MANIFEST_NAME, 0, "/teardown/discipline", "trusted", "%s", d.text);
}

static int validate(const char *dir, const char *policy_file, bool json) {
        _cleanup_policy_ Policy *policy = NULL;
        _cleanup_findings_ Findings f = {0};
        _cleanup_skill_ Skill *s = NULL;
        _cleanup_json_ json_t *exposure = NULL;
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
                        r = check_policy(s, policy, &f);
                if (r == 0 && findings_count(&f, FINDING_ERROR) == 0 && !(exposure = skill_exposure(s)))
                        r = -1;
        }
        valid = findings_count(&f, FINDING_ERROR) + findings_count(&f, FINDING_STRICT) == 0;
        if (r == 0)
                r = json ? answer(diag_quote(dir, strlen(dir), shown, sizeof(shown)), s, &f, exposure, valid) : print_text(s, &f, exposure, valid);
        if (r < 0)
                return cli_fail(VERB, EXIT_USAGE, "out of memory");
        return valid ? EXIT_OK : EXIT_NOT;
}

int cmd_validate(int argc, char **argv) {
        static const struct option options[] = {
                {"json", no_argument, NULL, 'j'}, {"policy", required_argument, NULL, 'p'}, {"help", no_argument, NULL, 'h'}, {0}};
        const char *policy = NULL;
        bool json = false;
        int c;

        while ((c = getopt_long(argc, argv, ":h", options, NULL)) >= 0)
                switch (c) {
                case 'j': json = true; cli_wants_json(); break;
                case 'p': policy = optarg; break;
                case 'h':
                        fputs(help, stdout);
                        return cli_done(VERB, EXIT_OK);
                default: return store_option_wrong(argv);
                }
        if (argc - optind != 1)
                return cli_usage(VERB, "exactly one folder is needed");
        return cli_done(VERB, validate(argv[optind], policy, json));
}
