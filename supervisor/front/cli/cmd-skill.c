/* Runs: CLI. */
#include "cli/actions.h"
#include "request/registry.h"
#include "policy/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define VERB "skill"

static const char help[] =
        "Usage: lethe skill add [--json] [--policy FILE] [--store DIR] DIR\n"
        "       lethe skill list [--json] [--store DIR]\n"
        "       lethe skill show [--json] [--store DIR] NAME\n\n"
        "add registers the skill in the folder DIR: name, digest and files become an event of the\n"
        "ledger, and `lethe run NAME` runs the skill until a file of the folder changes. list shows the\n"
        "registered skills. show prints a skill, and compares its folder with the registration.\n\n"
        HELP_STORE
        "  --policy FILE     with add: the policy file (default: $LETHE_POLICY, else the usual places)\n"
        HELP_JSON "\nExit status: 0; 1 refused, not registered, or changed since the registration; 2 usage.\n";

/* Prints text from a skill with control characters escaped, so that the skill cannot command the terminal. */
static void skill_print_text(const char *title, const char *s) {
        printf("%-12s", title);
        for (; *s; s++)
                if (*s == '\n')
                        printf("\n%-12s", "");
                else if ((unsigned char)*s < 0x20 || *s == 0x7F)
                        printf("\\x%02x", (unsigned char)*s);
                else
                        putchar(*s);
        putchar('\n');
}

static json_t *skill_row_json(const SkillRow *row) {
        return json_pack("{s:i, s:s, s:s, s:s, s:s?, s:s, s:o, s:I}", "version", 1, "name", row->name, "digest",
                         row->digest, "folder", row->folder, "manifest", row->manifest, "time", row->time, "seq",
                         json_u64(row->seq), "files", (json_int_t)json_array_size(row->files));
}

/* Makes the store's copy of the skill before the event, so that no event is without a copy. */
static int skill_add_copy(const Skill *s, const ActionArgs *a) {
        _cleanup_store_ Store *store = NULL;
        _cleanup_skill_ Skill *copied = NULL;
        Diag d = {0};
        int r = with_store(VERB, &a->o, STORE_WRITE, &store);

        if (r != EXIT_OK)
                return r;
        r = skill_load_from(&(const SkillSource){.dir = s->dir, .store_dir = store_dir(store),
                                                 .digest = s->bundle.digest}, &copied, &d);
        if (r != 0)
                return cli_fail(VERB, EXIT_NOT, "%s", r > 0 ? d.text : strerror(-r));
        return strcmp(copied->bundle.digest, s->bundle.digest) == 0
                       ? EXIT_OK
                       : cli_fail(VERB, EXIT_NOT, "%s: changed during the registration", s->dir);
}

static int skill_add(ActionArgs *a) {
        _cleanup_policy_ Policy *policy = NULL;
        _cleanup_skill_ Skill *s = NULL;
        _cleanup_json_ json_t *files = NULL;
        const BundleFile *manifest;
        SkillRecord record;
        uint64_t seq = 0;
        bool fresh = false;
        Diag d = {0};
        int r = skill_load(a->argv[0], &s, &d) ?: skill_check_owner(s, &d);

        if (r)
                return cli_fail(VERB, EXIT_NOT, "%s", r > 0 ? d.text : strerror(-r));
        if (!skill_name_valid(s->md.name))
                return cli_fail(VERB, EXIT_NOT,
                                "%s: the name in SKILL.md cannot be registered; `lethe validate` tells the rule",
                                s->dir);
        r = policy_load(a->o.value['p'], &policy, &d);
        if (r == 0 && (r = policy_allows_ask(policy, s, &d)) > 0)
                diag_prefix(&d, "%s/" MANIFEST_NAME ": /teardown/discipline", s->dir);
        if (r)
                return cli_fail(VERB, EXIT_NOT, "%s", r > 0 ? d.text : strerror(-r));
        for (char **w = s->warnings; w && *w; w++)
                fprintf(stderr, "lethe skill: warning: %s\n", *w);
        files = bundle_to_json(&s->bundle);
        if (!files)
                return cli_fail(VERB, EXIT_NOT, "out of memory");
        manifest = bundle_find(&s->bundle, MANIFEST_NAME);
        record = (SkillRecord){.name = s->md.name, .folder = s->dir, .digest = s->bundle.digest, .files = files,
                               .manifest = manifest ? manifest->digest : NULL};
        r = skill_add_copy(s, a)
                    ?: action_begin(a, true)
                    ?: action_end(a, engine_skill_register(a->t, action_who(), &record, &seq, &fresh));
        return r ?: action_tell(a,
                                json_pack("{s:s, s:s, s:s, s:o, s:b}", "name", s->md.name, "digest", s->bundle.digest,
                                          "folder", s->dir, "seq", json_u64(seq), "new", fresh),
                                "%s %s, event %" PRIu64 "\n%s", s->md.name,
                                fresh ? "registered" : "was registered already", seq, s->bundle.digest);
}

static int skill_read_list(Txn *t, json_t *list) {
        SkillRow *rows = NULL;
        size_t n = 0;
        int r = engine_skill_list(t, &rows, &n);

        for (size_t i = 0; r == 0 && i < n; i++)
                r = json_array_append_new(list, skill_row_json(&rows[i])) < 0 ? -ENOMEM : 0;
        skill_rows_free(rows, n);
        return r;
}

static void skill_print_row(const json_t *o) {
        printf("%-24s %.19s  %s\n", cli_text(o, "name"), cli_text(o, "digest"), cli_text(o, "folder"));
}

static int skill_list(ActionArgs *a) {
        _cleanup_json_ json_t *list = json_array();
        int r = action_begin(a, false) ?: action_end(a, skill_read_list(a->t, list));

        if (r == EXIT_OK && !a->o.json && json_array_size(list) == 0)
                fprintf(stderr, "no skill is registered; register a skill by `lethe skill add DIR`\n");
        return r ?: action_rows(a, json_pack("{s:O}", "skills", list), "skills", skill_print_row);
}

static int skill_show(ActionArgs *a) {
        const char *name = a->argv[0];
        _cleanup_store_ Store *store = NULL;
        _cleanup_txn_ Txn *t = NULL;
        _cleanup_skill_row_ SkillRow row = {0};
        _cleanup_skill_ Skill *s = NULL;
        char shown[256];
        Diag d = {0};
        int r = with_store_read(VERB, &a->o, &store, &t), changed;

        if (r != EXIT_OK)
                return r;
        r = engine_skill_get(t, name, &row);
        if (r == -ENOENT)
                return cli_fail(VERB, EXIT_NOT, "no skill \"%s\" is registered",
                                diag_quote(name, strlen(name), shown, sizeof(shown)));
        if (r)
                return with_store_failed(VERB, store, r, &d);
        changed = registry_load_row(&row, &(const RegistryUse){0}, &s, &d);
        if (changed < 0)
                return cli_fail(VERB, EXIT_NOT, "%s", strerror(-changed));
        if (a->o.json) {
                json_t *j = skill_row_json(&row);

                if (j && (json_object_set(j, "files", row.files) < 0 ||
                          json_object_set_new(j, "unchanged", json_boolean(changed == 0)) < 0 ||
                          (changed && json_object_set_new(j, "change", json_string(d.text)) < 0) ||
                          (s && s->md.description &&
                           json_object_set_new(j, "description", json_string(s->md.description)) < 0))) {
                        json_decref(j);
                        j = NULL;
                }
                return cli_print(VERB, changed ? EXIT_NOT : EXIT_OK, j);
        }
        printf("%-12s%s\n%-12s%s\n%-12s%s\n%-12s%s, event %" PRIu64 "\n%-12s%zu\n", "name", row.name, "digest",
               row.digest, "folder", row.folder, "registered", row.time, row.seq, "files", json_array_size(row.files));
        if (s && s->md.description)
                skill_print_text("description", s->md.description);
        printf("%-12s%s\n", "state", changed ? d.text : "unchanged since the registration");
        return cli_done(VERB, changed ? EXIT_NOT : EXIT_OK);
}

int cmd_skill(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTION("policy", 'p'), {0}};
        static const Action actions[] = {
                {"add", "a single argument, DIR", 1, 1, "p", skill_add, true},
                {"list", "", 0, 0, "", skill_list},
                {"show", "a single argument, NAME", 1, 1, "", skill_show},
        };

        return actions_main(VERB, help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
