/* Runs: CLI. */
#include "cli/doctor.h"
#include "cli/with-store.h"
#include "request/paths.h"
#include "region/region-cgroup-home.h"
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
        "one means and how to get it; which store, anchor, policy and socket are used, and why those. Ends 0\n"
        "when a run in tier namespaces works and the store can be used, else 1.\n\n"
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
        const char *fix = "", *why = home_settle(&fix);

        if (folder)
                probe_add(r, name, PROBE_OK, "counted for the whole tree by the kernel", "", "cgroup v%d", v2 ? 2 : 1);
        else
                probe_add(r, name, PROBE_NOTE, otherwise, *fix ? fix : "root, or a control group of version 1 that this user may write", "no cgroup: %.200s", why ?: "none that this user may divide");
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

/* The names of what is not as it must be, and of what stands around this process, which may be the cause of it. */
static void print_causes(const ProbeReport *r) {
        const char *before = ": ";

        printf("\nNo region can run here");
        for (size_t i = 0; i < r->n; i++)
                if (r->rows[i].level == PROBE_FAIL || strstr(r->rows[i].name, "-around")) {
                        printf("%s%s (", before, r->rows[i].name);
                        print_safe(stdout, r->rows[i].value, strlen(r->rows[i].value));
                        putchar(')');
                        before = ", ";
                }
        putchar('\n');
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
        if (tier)
                printf("\nRegions of this user run in tier %s\n", tier);
        else
                print_causes(r);
}

int cmd_doctor(int argc, char **argv) {
        static const struct option options[] = {
                {"store", required_argument, NULL, 's'}, {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {0}};
        static ProbeReport report;
        StoreOptions o = {0};
        _cleanup_free_ char *store = NULL;
        bool namespaces, landlock, runs = false;
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
        store = path_of_store(o.store, &d);
        doctor_surroundings(&report);
        probe_full(&report);
        budgets(&report);
        if (store)
                runs = doctor_places(&report, o.store, store);
        else
                probe_add(&report, "store", PROBE_FAIL, "nothing can be recorded, so nothing runs", "--store DIR", "%s", d.text);
        probe_trial(&report, store && stat(store, &st) == 0 ? store : NULL, &namespaces, &landlock);
        tier = namespaces ? tier_name(TIER_NAMESPACES) : landlock ? tier_name(TIER_LANDLOCK) : NULL;
        runs = doctor_run(&report, store, landlock && !namespaces) && runs;
        if (!runs)
                tier = NULL;
        if (o.json) {
                r = print_report_json(&report, tier);
                if (r < 0)
                        return cli_fail(VERB, EXIT_NOT, "%s", strerror(-r));
        } else
                print_report(&report, tier);
        return cli_done(VERB, namespaces && runs ? EXIT_OK : EXIT_NOT);
}
