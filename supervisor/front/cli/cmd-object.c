/* Runs: CLI. `lethe object`: jobs that outlive their processes (schema/object.md). */
#include "cli/cmd-object.h"

#include "base/io.h"
#include "base/utf8.h"
#include "policy/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static const char help[] =
        "Usage: lethe object create --intent FILE [--scope FILE|JSON] [--meta JSON] [--policy FILE]\n"
        "       lethe object cycle OBJECT [--policy FILE] [--verbose]\n"
        "       lethe object run --due [--most N] [--policy FILE] [--verbose]\n"
        "       lethe object list [--state STATE]\n"
        "       lethe object show OBJECT\n"
        "       lethe object history OBJECT\n"
        "       lethe object why OBJECT [--policy FILE]\n"
        "       lethe object input OBJECT TEXT|- [--from NAME]\n"
        "       lethe object end OBJECT [--reason TEXT]\n"
        "       lethe object verify OBJECT|FILE\n"
        "       lethe object export OBJECT FILE [--move]\n"
        "       lethe object import FILE [--policy FILE]\n"
        "       lethe object adopt OBJECT HEAD\n"
        "       lethe object trust [VKEY] [--revoke]\n"
        "       lethe object graph OBJECT [FILE]\n"
        "       lethe object top\n\n"
        "An object is a job that outlives its processes: an intent, a context, and a signed memory of all tries.\n"
        "A cycle looks at an object once, and does the next thing: runs a skill in a region, sleeps, delegates, ends.\n"
        "OBJECT is an id, a beginning of an id that is unique, or --last.\n"
        "cycle prints an object of JSON: action, state, entry, and what came of it.\n"
        "A sleeping object costs nothing; run --due has the cycles that are due, and so has 'lethe serve'.\n\n"
        HELP_STORE
        "  --intent FILE     with create: what is to be done, as JSON (- : standard input)\n"
        "  --scope FILE|JSON with create: the skills, slots, depth and fan-out that the object may have at most\n"
        "  --meta JSON       with create: an object of your own, kept in the context\n"
        "  --policy FILE     the operator's policy\n"
        "  --last            in place of OBJECT: the object that was created last, without children\n"
        "  --verbose         with cycle and run: output of the skills goes to standard error, else nowhere\n"
        "  --due             with run: have cycles of all objects that are due, until none is\n"
        "  --most N          with run: at most N cycles; with top: at most N lines of each part\n"
        "  --state STATE     with list: only objects in this state\n"
        "  --from NAME       with input: who says it, a model for example\n"
        "  --reason TEXT     with end: why\n"
        "  --move            with export: the object goes on where the file is imported, and not here\n"
        "  --revoke          with trust: entries of this key are not believed any longer\n" HELP_JSON
        "\nExit status: 0, also when nothing was to do; 1 refused, or no such object; 2 usage. Of verify: 0 holds,\n"
        "1 does not, 2 no answer. After SIGTERM or SIGINT in an execution: 128 and its number; the object goes on.\n";

int cmd_object_read(ActionArgs *a, const char *what, const char *path, size_t most, char **ret, size_t *ret_n) {
        const bool standard = strcmp(path, "-") == 0;
        int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), r;

        if (fd < 0)
                return cli_refuse(a->verb, EXIT_USAGE, "no_file", "%s: %s cannot be read: %s", what, path,
                                  strerror(errno));
        r = io_read_all(fd, most, ret, ret_n);
        if (!standard)
                close(fd);
        if (r == -EFBIG) {
                diag(&a->d, 0, "%s: %s has more than %zu bytes", what, path, most);
                return action_refused(a, engine_code_name(ENGINE_E_TOO_LARGE), a->d.text);
        }
        return r < 0 ? cli_refuse(a->verb, EXIT_USAGE, "no_file", "%s: %s cannot be read: %s", what, path, strerror(-r))
                     : EXIT_OK;
}

int cmd_object_policy(ActionArgs *a, Policy **ret) {
        Diag d = {0};
        int r = policy_load(a->o.value['P'], ret, &d);

        return r == 0 ? EXIT_OK : cli_refuse(a->verb, EXIT_NOT, "policy", "%s", r > 0 ? d.text : strerror(-r));
}

int cmd_object(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTION("intent", 'i'), OPTION("scope", 'S'),
                                                OPTION("meta", 'm'), OPTION("policy", 'P'), OPTION_FLAG("verbose", 'v'),
                                                OPTION_FLAG("due", 'd'), OPTION("most", 'M'), OPTION("state", 'T'),
                                                OPTION("from", 'f'), OPTION("reason", 'r'), OPTION_FLAG("move", 'V'),
                                                OPTION_FLAG("revoke", 'R'), OPTION_FLAG("last", ACTIONS_LAST), {0}};
        static const Action actions[] = {
                {"create", "no argument: --intent names the file", 0, 0, "iSmP", cmd_object_create, true},
                {"cycle", "OBJECT", 1, 1, "1Pv", cmd_object_cycle},
                {"run", "no argument", 0, 0, "PvdM", cmd_object_run},
                {"list", "", 0, 0, "T", cmd_object_list},
                {"show", "OBJECT", 1, 1, "1", cmd_object_show},
                {"history", "OBJECT", 1, 1, "1", cmd_object_history},
                {"why", "OBJECT", 1, 1, "1P", cmd_object_why},
                {"input", "OBJECT TEXT|-", 2, 2, "1f", cmd_object_input},
                {"end", "OBJECT", 1, 1, "1r", cmd_object_end},
                {"verify", "OBJECT|FILE", 1, 1, "1", cmd_object_verify},
                {"export", "OBJECT FILE", 2, 2, "1V", cmd_object_export},
                {"import", "FILE", 1, 1, "P", cmd_object_import, true},
                {"adopt", "OBJECT HEAD", 2, 2, "1", cmd_object_adopt},
                {"trust", "at most one VKEY", 0, 1, "R", cmd_object_trust, true},
                {"graph", "OBJECT [FILE]", 1, 2, "1", cmd_object_graph},
                {"top", "", 0, 0, "M", cmd_object_top},
        };

        return actions_main(OBJECT_VERB, help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
