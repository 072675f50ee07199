/* Runs: CLI. */
#include "cli/with-store.h"
#include "daemon/places.h"
#include "region/region-cgroup.h"
#include "spawn/probe-full.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <sys/stat.h>

#define VERB "doctor"

static const char help[] =
        "Usage: lethe doctor [--json] [--store DIR]\n\n"
        "Tries each feature of this machine that a region needs, as this user, and says what a missing\n"
        "one means and how to get it. Ends 0 when regions of tier namespaces start, 1 when they do not.\n\n"
        "  --store DIR       the store (default: $LETHE_STORE, else the XDG state folder)\n"
        "  --json            one object: tier, checks\n"
        "  -h, --help        this text\n";

static const char *level_name(ProbeLevel l) {
        switch (l) {
        case PROBE_OK:
                return "ok";
        case PROBE_NOTE:
                return "note";
        case PROBE_WARN:
                return "warn";
        case PROBE_FAIL:
                return "fail";
        }
        return "fail";
}

static void budget_row(ProbeReport *r, const char *name, const char *folder, bool v2, const char *otherwise) {
        if (folder)
                probe_add(r, name, PROBE_OK, "counted for the whole tree by the kernel", "", "cgroup v%d", v2 ? 2 : 1);
        else
                probe_add(r, name, PROBE_NOTE, otherwise, "a delegated cgroup (systemd-run --user -p Delegate=yes), or root", "no cgroup");
}

static void budgets(ProbeReport *r) {
        RegionCgroup c = REGION_CGROUP_NULL;

        if (region_cgroup_plan_here("00000000000000000000000000", &c) < 0)
                return;
        budget_row(r, "budget-memory", c.memory, c.v2, "RLIMIT_DATA for each process, notification of large mappings, and accounting");
        budget_row(r, "budget-processes", c.pids, c.v2, "each clone and fork is notified and counted");
        budget_row(r, "budget-cpu", c.cpu, c.v2, "the times of all processes are added up");
        region_cgroup_deinit(&c);
}

/* The nearest existing folder above a store that is yet to be made decides whether it can be. */
static void store_place(ProbeReport *r, const char *store) {
        _cleanup_free_ char *p = strdup(store);
        struct stat st;
        bool there = stat(store, &st) == 0;
        const char *home = getenv("HOME"), *state = getenv("XDG_STATE_HOME");

        while (p && *p && access(p, F_OK) < 0 && strrchr(p, '/'))
                *strrchr(p, '/') = 0;
        if (p && (stat(*p ? p : "/", &st) < 0 || (!S_ISDIR(st.st_mode) && (errno = ENOTDIR)) || access(*p ? p : "/", W_OK | X_OK) < 0))
                probe_add(r, "store", PROBE_WARN, "nothing can be recorded, so nothing runs", "--store DIR, or LETHE_STORE, with a folder of yours",
                          "%.200s: %s", store, strerror(errno));
        else
                probe_add(r, "store", PROBE_OK, there ? "" : "made on first use", "", "%.200s", store);
        if (getenv("LETHE_ANCHOR"))
                probe_add(r, "anchor", PROBE_OK, "a store that was put back is noticed", "", "%.200s", getenv("LETHE_ANCHOR"));
        else if ((state && *state == '/') || (home && *home == '/'))
                probe_add(r, "anchor", PROBE_OK, "a store that was put back is noticed", "", "%.180s%s", state && *state == '/' ? state : home,
                          state && *state == '/' ? "/lethe-anchors" : "/.local/state/lethe-anchors");
        else
                probe_add(r, "anchor", PROBE_WARN, "kept inside the store: whoever puts an old store back puts the old anchor back, too",
                          "set HOME, XDG_STATE_HOME or LETHE_ANCHOR", "no place outside the store");
}

static int print_report_json(const ProbeReport *r, const char *tier) {
        _cleanup_json_ json_t *out = json_pack("{s:i, s:s?, s:[]}", "version", 1, "tier", tier, "checks");

        for (size_t i = 0; out && i < r->n; i++) {
                const ProbeFinding *f = &r->rows[i];

                json_array_append_new(json_object_get(out, "checks"),
                                      json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", f->name, "status", level_name(f->level), "value", f->value,
                                                "meaning", f->meaning, "fix", f->fix));
        }
        return out ? print_json(stdout, out) : -ENOMEM;
}

static void print_report(const ProbeReport *r, const char *tier) {
        for (size_t i = 0; i < r->n; i++) {
                const ProbeFinding *f = &r->rows[i];

                printf("%-5s %-26s ", level_name(f->level), f->name);
                print_safe(stdout, f->value, strlen(f->value));
                putchar('\n');
                if (f->level != PROBE_OK && *f->meaning)
                        printf("      %-26s %s\n", "", f->meaning);
                if (f->level != PROBE_OK && *f->fix)
                        printf("      %-26s fix: %s\n", "", f->fix);
        }
        printf("\n%s%s\n", tier ? "Regions of this user run in tier " : "No region can run here", tier ? tier : "");
}

int cmd_doctor(int argc, char **argv) {
        static const struct option options[] = {
                {"store", required_argument, NULL, 's'}, {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {0}};
        static ProbeReport report;
        StoreOptions o = {0};
        _cleanup_free_ char *store = NULL;
        bool namespaces, landlock;
        const char *tier;
        struct stat st;
        Diag d = {0};
        int opt, r;

        while ((opt = getopt_long(argc, argv, ":h", options, NULL)) >= 0) {
                if (opt == 'h') {
                        fputs(help, stdout);
                        return cli_done(VERB, EXIT_OK);
                }
                if (!store_option(&o, opt, optarg))
                        return store_option_wrong(argv);
        }
        if (optind < argc)
                return cli_usage(VERB, "'%s' is one argument too many", argv[optind]);
        store = place_of_store(o.store, &d);
        probe_full(&report);
        budgets(&report);
        if (store)
                store_place(&report, store);
        else
                probe_add(&report, "store", PROBE_WARN, "nothing can be recorded, so nothing runs", "--store DIR", "%s", d.text);
        probe_trial(&report, store && stat(store, &st) == 0 ? store : NULL, &namespaces, &landlock);
        tier = namespaces ? tier_name(TIER_NAMESPACES) : landlock ? tier_name(TIER_LANDLOCK) : NULL;
        if (o.json) {
                r = print_report_json(&report, tier);
                if (r < 0)
                        return cli_fail(VERB, EXIT_NOT, "%s", strerror(-r));
        } else
                print_report(&report, tier);
        return cli_done(VERB, namespaces ? EXIT_OK : EXIT_NOT);
}
