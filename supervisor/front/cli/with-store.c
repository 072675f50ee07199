#include "cli/with-store.h"

#include "request/paths.h"
#include "engine/fold.h"
#include "engine/dead-letter.h"
#include "ledger/anchor.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Takes the options of each verb about the store. True when the option is taken. */
static bool store_option(StoreOptions *o, int option, const char *arg) {
        switch (option) {
        case 's':
                o->store = arg;
                return true;
        case STORE_ANCHOR:
                anchor_set_path(arg);
                return true;
        case 'j':
                o->json = true;
                cli_wants_json();
                return true;
        default:
                return false;
        }
}

/* After getopt_long() (short options begin with ":") met an unknown option or an option without its value. */
static int store_option_wrong(char **argv) {
        /* Within several letters behind one '-', getopt moves to the next argument only after the last letter. */
        const char *wrong = argv[optind - 1], *at = argv[optind];

        if (optopt > 0 && optopt < 0x80 && at && at[0] == '-' && at[1] != '-' && strchr(at + 1, optopt) &&
            !(wrong[0] == '-' && wrong[1] == optopt && !wrong[2]))
                wrong = at;
        return cli_usage(argv[0], "'%s' is not an option of the verb, or lacks a value", wrong);
}

int store_next_option(StoreOptions *o, int argc, char **argv, const struct option *options) {
        int opt;

        do
                opt = getopt_long(argc, argv, o->letters ?: ":h", options, NULL);
        while (opt >= 0 && store_option(o, opt, optarg));
        if (opt == '?' || opt == ':')
                o->code = store_option_wrong(argv);
        else if (opt == 'h')
                o->code = cli_help(argv[0], o->help);
        else if (opt < 0 && o->no_arguments && optind < argc)
                o->code = cli_usage(argv[0], "'%s' is an extra argument", argv[optind]);
        else
                return MAX(opt, 0);
        return -1;
}

const char *store_option_name(const struct option *options, int letter) {
        while (options->name && options->val != letter)
                options++;
        return options->name ?: "?";
}

int store_options(StoreOptions *o, int argc, char **argv, const struct option *options) {
        int opt;

        while ((opt = store_next_option(o, argc, argv, options)) > 0) {
                if (o->value[opt] && o->once && strchr(o->once, opt)) {
                        o->code = cli_usage(argv[0], "--%s may be given once", store_option_name(options, opt));
                        return -1;
                }
                o->value[opt] = optarg ?: "";
        }
        return opt;
}

int store_only_options(StoreOptions *o, int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, {0}};

        o->no_arguments = true;
        return store_options(o, argc, argv, options);
}

int with_store_there(const char *verb, const char *path) {
        _cleanup_free_ char *data = NULL;

        if (asprintf(&data, "%s/data.mdb", path) < 0) {
                data = NULL;
                return cli_fail(verb, EXIT_NOT, "out of memory");
        }
        if (access(data, F_OK) == 0 || errno != ENOENT)
                return EXIT_OK;
        return access(path, F_OK) == 0
                       ? cli_refuse(verb, EXIT_NOT, "no_store", "%s is not a store: it has no data.mdb", path)
                       : cli_refuse(verb, EXIT_NOT, "no_store", "store %s: there is none", path);
}

int with_store_code(int r) {
        return r == STORE_E_FULL || r == -ENOSPC || r == -EDQUOT ? EXIT_FULL : EXIT_NOT;
}

static bool with_store_judged;

bool with_store_is_verdict(int r) {
        return r > 0 && r != STORE_E_LOCKED && r != STORE_E_FULL && r != STORE_E_READ_ONLY;
}

bool with_store_was_verdict(void) {
        return with_store_judged;
}

int with_store(const char *verb, const StoreOptions *o, StoreMode mode, Store **ret) {
        _cleanup_free_ char *path = NULL;
        Diag d = {0};
        int r;

        path = path_of_store(o->store, &d);
        if (!path)
                return cli_usage(verb, "%s", *d.text ? d.text : "out of memory");
        if (o->must_exist && mode != STORE_READ && (r = with_store_there(verb, path)) != EXIT_OK)
                return r;
        store_set_fault_exit(EXIT_NOT, EXIT_FULL);
        r = store_open(path, mode, ret, &d);
        if (r == 0 && mode != STORE_READ)
                r = engine_index_renew_now(*ret, &d);
        if (r == 0 && mode != STORE_READ)
                r = engine_retry_dead_letters_at_start(*ret, &d);
        if (r == 0)
                return EXIT_OK;
        with_store_judged = with_store_is_verdict(r);
        return cli_refuse(verb, with_store_code(r), r == STORE_E_MISSING ? "no_store" : "store", "%s",
                          *d.text ? d.text : store_strerror(r));
}

int with_store_read(const char *verb, const StoreOptions *o, Store **ret, Txn **ret_t) {
        Diag d = {0};
        int r = with_store(verb, o, STORE_READ, ret);

        if (r != EXIT_OK)
                return r;
        r = store_begin(*ret, false, ret_t, &d);
        return r == 0 ? EXIT_OK : with_store_failed(verb, *ret, r, &d);
}

int with_store_failed(const char *verb, const Store *s, int r, const Diag *d) {
        if (r > 0)
                return cli_refuse(verb, with_store_code(r), "store", "%s", d->text);
        return cli_refuse(verb, with_store_code(r), "store", "store %s: %s", store_dir(s), store_strerror(r));
}
