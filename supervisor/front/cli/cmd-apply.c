/* Runs: CLI. A kept layer becomes real, or is dropped. */
#include "cli/cmd-apply.h"

#include "cli/actions.h"
#include "cli/layer-gone.h"
#include "cli/region-selector.h"
#include "layer/layer.h"
#include "policy/merge.h"
#include "policy/policy.h"
#include "scrub/kept.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>

static const char help[] =
        "Usage: lethe apply [OPTIONS] REGION [PATH…]\n"
        "       lethe apply [OPTIONS] --last [PATH…]\n"
        "       lethe apply --drop REGION\n\n"
        "Makes real what a run wrote above a folder given with -v SRC:DST:overlay: all of it, or the PATHs (as\n"
        "'lethe diff' prints them) with what is below. Nothing is applied when a path is refused: one that is\n"
        "not as the region saw it, a device, a socket, a setuid file, a link that leads out of the folder.\n"
        "What is applied or dropped is overwritten in the store; a killed apply is finished by the next.\n" HELP_REGION
                HELP_STORE
                        HELP_LAST
        "  --drop            overwrite the layer, and apply nothing\n"
        "  --policy FILE     the policy that must allow to write the folder (default: as for 'lethe run')\n"
        "  --json            as JSON\n"
        "  -h, --help        print the help\n";

typedef struct ApplyCall {
        StoreOptions o;
        Store *store;
        RegionId region;
        Layer layer;
        int kept;
        bool quiet;
        char digest[HASH_HEX_MAX];
} ApplyCall;

static void apply_call_deinit(ApplyCall *c) {
        layer_deinit(&c->layer);
        closep(&c->kept);
        store_free(c->store);
}

static int apply_record(ApplyCall *c, const char *type, size_t applied, size_t left) {
        _cleanup_json_ json_t *fields = json_pack("{s:s, s:s, s:o, s:o}", "who", action_who(), "digest", c->digest,
                                                  "applied", json_u64(applied), "left", json_u64(left));
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {0};
        int r = fields ? store_begin(c->store, true, &t, &d) : -ENOMEM;

        r = r ?: engine_event(t, c->region, type, fields, NULL) ?
                                                                : store_commit(TAKE_PTR(t), &d);
        return r == 0 ? EXIT_OK : with_store_failed("apply", c->store, r, &d);
}

static int apply_wipe(ApplyCall *c) {
        int e = kept_drop(store_dir(c->store), LAYER_SHELF, c->region, c->kept);

        return e == 0 ? EXIT_OK
                      : cli_fail("apply", EXIT_NOT, "the layer of region %s cannot be overwritten: %s", c->region,
                                 strerror(-e));
}

static int apply_print(const ApplyCall *c, size_t applied, size_t left, size_t dropped) {
        if (c->quiet)
                return EXIT_OK;
        if (c->o.json)
                return cli_print("apply", EXIT_OK, json_pack("{s:i, s:s, s:o, s:o, s:o}", "version", 1, "region", c->region,
                                                             "applied", json_u64(applied), "left", json_u64(left),
                                                             "dropped", json_u64(dropped)));
        if (dropped > 0 || applied + left == 0)
                printf("dropped %zu path%s\n", dropped, dropped == 1 ? "" : "s");
        else
                printf("applied %zu path%s%s\n", applied, applied == 1 ? "" : "s",
                       left > 0 ? "; the rest is kept" : "");
        return cli_done("apply", EXIT_OK);
}

/* An event about a layer that is still there harms less than a layer that is gone without an event. */
static int apply_drop(ApplyCall *c) {
        const size_t dropped = c->layer.n;
        int r = apply_record(c, "layer.dropped", 0, 0);

        r = r != EXIT_OK ? r : apply_wipe(c);
        return r != EXIT_OK ? r : apply_print(c, 0, 0, dropped);
}

/* The rest of the entries is in the index. */
static int apply_end(ApplyCall *c, size_t applied, size_t left) {
        int r = left == 0 ? apply_wipe(c) : EXIT_OK;

        return r != EXIT_OK ? r : apply_print(c, applied, left, 0);
}

/* Whether the path is named by an argument: itself, or a folder above; absolute, or below the source. */
static bool apply_is_named(const Layer *l, const LayerEntry *e, const char *arg) {
        const char *source = l->sources[e->volume], *below = arg;
        size_t n = strlen(source);

        if (*arg == '/') {
                if (strncmp(arg, source, n) != 0 || (arg[n] && arg[n] != '/'))
                        return false;
                below = arg + n + strspn(arg + n, "/");
        }
        n = strlen(below);
        while (n > 0 && below[n - 1] == '/')
                n--;
        return n == 0 || (strncmp(e->path, below, n) == 0 && (!e->path[n] || e->path[n] == '/'));
}

/* Chooses the entries. A new folder above a named path comes along. */
static int apply_choose(const Layer *l, int argc, char **argv, bool *chosen) {
        for (int k = 0; k < argc; k++) {
                bool any = false;

                for (size_t i = 0; i < l->n; i++)
                        if (apply_is_named(l, &l->entries[i], argv[k]))
                                any = chosen[i] = true;
                if (!any)
                        return cli_fail("apply", EXIT_NOT, "'%s' is no path of the layer ('lethe diff %s' has them)",
                                        argv[k],
                                        l->region);
        }
        for (size_t i = l->n; i-- > 0;) {
                const LayerEntry *e = &l->entries[i];
                const size_t n = strlen(e->path);

                if (argc == 0)
                        chosen[i] = true;
                for (size_t k = i + 1; e->kind == LAYER_ADDED && e->type == 'd' && !chosen[i] && k < l->n &&
                                       strncmp(l->entries[k].path, e->path, n) == 0;
                     k++)
                        chosen[i] = chosen[k] && l->entries[k].path[n] == '/' && l->entries[k].kind != LAYER_REMOVED;
        }
        return EXIT_OK;
}

static int apply_may(const ApplyCall *c) {
        _cleanup_policy_ Policy *p = NULL;
        Diag d = {0};
        int r = policy_load(c->o.value['P'], &p, &d);

        if (r != 0)
                return cli_refuse("apply", EXIT_NOT, "policy", "%s", r > 0 ? d.text : strerror(-r));
        for (unsigned i = 0; i < c->layer.n_volumes; i++)
                if (p->limits.files_said && merge_covers(&p->limits, c->layer.sources[i]) < 2)
                        return cli_refuse("apply", EXIT_NOT, "policy", "no root of %s allows to write %s",
                                          p->path ?: "the policy",
                                          c->layer.sources[i]);
        return EXIT_OK;
}

/* The ledger first, then the index: a killed apply is told twice, and not never. */
static int apply_tell(ApplyCall *c, size_t applied, const bool *done) {
        int r = apply_record(c, "layer.applied", applied, c->layer.n - applied),
            e = r == EXIT_OK && applied < c->layer.n ? layer_forget(&c->layer, c->kept, done) : 0;

        return e < 0 ? cli_fail("apply", EXIT_NOT, "the index of the layer cannot be written: %s", strerror(-e)) : r;
}

static int apply_do(ApplyCall *c, int argc, char **argv) {
        _cleanup_free_ bool *chosen = calloc(c->layer.n + 1, sizeof(bool)), *done = calloc(c->layer.n + 1, sizeof(bool));
        _cleanup_free_ char *bad_path = NULL;
        const size_t n = c->layer.n;
        size_t applied = 0, bad = SIZE_MAX;
        Diag d = {0};
        int r = apply_may(c), e;

        if (r != EXIT_OK)
                return r;
        if (!chosen || !done)
                return cli_fail("apply", EXIT_NOT, "out of memory");
        if ((r = apply_choose(&c->layer, argc, argv, chosen)) != EXIT_OK)
                return r;
        e = layer_apply(&c->layer, c->kept, chosen, done, &applied, &bad, &d);
        if (bad < c->layer.n && e != 0)
                bad_path = strdup(c->layer.entries[bad].path);
        if (e == LAYER_E_REFUSED)
                return cli_refuse("apply", EXIT_NOT, "refused", "%s: %s; nothing is applied",
                                  DIAG_QUOTED(bad_path ?: "?"), d.text);
        if ((e == 0 || applied > 0) && (r = apply_tell(c, applied, done)) != EXIT_OK)
                return r;
        if (e == 0)
                return apply_end(c, applied, applied < n ? c->layer.n : 0);
        return cli_fail("apply", EXIT_NOT, "%s%s%s; %zu path%s applied, the rest is kept",
                        bad_path ? DIAG_QUOTED(bad_path) : "", bad_path ? ": " : "", *d.text ? d.text : strerror(-e),
                        applied, applied == 1 ? " is" : "s are");
}

int apply_after_run(const char *store, const char *region, const char *policy_or_null) {
        _cleanup_(apply_call_deinit) ApplyCall c = {.o = {.store = store}, .kept = -1, .quiet = true};
        Diag d = {0};
        int r;

        c.o.value['P'] = policy_or_null;
        snprintf(c.region, sizeof(c.region), "%s", region);
        if ((r = with_store("apply", &c.o, STORE_WRITE, &c.store)) != EXIT_OK)
                return r;
        r = layer_open(store_dir(c.store), c.region, LOCK_EX, &c.layer, &c.kept, c.digest, &d);
        if (r != 0)
                return r == LAYER_E_NONE ? EXIT_OK
                                         : cli_fail("apply", EXIT_NOT, "%s", *d.text ? d.text : strerror(-r));
        return apply_do(&c, 0, NULL);
}

int cmd_apply(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTION_LAST, OPTION_FLAG("drop", 'd'),
                                                OPTION("policy", 'P'), {0}};
        _cleanup_(apply_call_deinit) ApplyCall c = {.o = {.help = help, .must_exist = true}, .kept = -1};
        RegionSelector selector = {0};
        Diag d = {0};
        int r, at;

        if (store_options(&c.o, argc, argv, options) < 0)
                return c.o.code;
        selector.last = c.o.value['L'];
        at = optind + !selector.last;
        if (c.o.value['d'] && at < argc)
                return cli_usage("apply", "--drop drops the whole layer: no PATH goes with it");
        r = selector_argument("apply", &selector, selector.last ? optind : MIN(at, argc), argv);
        r = r ?: with_store("apply", &c.o, STORE_WRITE, &c.store) ?
                                                                  : selector_region("apply", c.store, &selector, c.region);
        if (r != EXIT_OK)
                return r;
        r = layer_open(store_dir(c.store), c.region, LOCK_EX, &c.layer, &c.kept, c.digest, &d);
        if (r == LAYER_E_NONE)
                layer_gone(c.store, c.region, &d);
        if (r == LAYER_E_DAMAGED && c.o.value['d'])
                return apply_drop(&c);
        if (r != 0)
                return cli_refuse("apply", EXIT_NOT, r == LAYER_E_NONE ? "no_layer" : "failed", "%s",
                                  *d.text ? d.text : strerror(-r));
        return c.o.value['d'] ? apply_drop(&c) : apply_do(&c, argc - at, argv + at);
}
