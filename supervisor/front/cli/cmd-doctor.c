/* Runs: CLI. */
#include "cli/doctor.h"
#include "cli/with-store.h"
#include "request/paths.h"
#include "region/region-cgroup-home.h"
#include "region/region-cgroup.h"
#include "spawn/probe-full.h"

#include <string.h>
#include <sys/stat.h>

#define VERB "doctor"

static const char help[] =
        "Usage: lethe doctor [--programs] [--json] [--store DIR]\n\n"
        "Tries each feature of the machine that a region needs, as the calling user, and tells the meaning of\n"
        "a missing feature and the fix; also the store, anchor, policy and socket in use, and the reason. Ends 0\n"
        "when a run in tier namespaces works and the store can be used, else 1.\n\n"
        "  --programs        also try classes of programs (python, node, java, browser, office, git)\n"
        "  --store DIR       the store (default: $LETHE_STORE, else the XDG state folder)\n"
        "  --json            a JSON object: tier, checks\n"
        "  -h, --help        print the help\n";

static const char *const doctor_levels[] = {
        [PROBE_OK] = "ok", [PROBE_NOTE] = "note", [PROBE_WARN] = "warn", [PROBE_FAIL] = "fail"};

static void doctor_budget_row(ProbeReport *r, const char *name, const char *folder, bool v2, const char *otherwise) {
        const char *fix = "", *why = home_settle(&fix);

        if (folder)
                probe_add(r, name, PROBE_OK, "counted for the whole tree by the kernel", "", "cgroup v%d", v2 ? 2 : 1);
        else
                probe_add(r, name, PROBE_NOTE, otherwise,
                          *fix ? fix : "root, or a control group of version 1 that the user may write",
                          "no cgroup: %.200s", why ?: "none that the user may divide");
}

/* Makes no group: the folder can be made where the others are. */
static void doctor_quota(ProbeReport *r, RegionCgroup *c) {
        const char *fix = "", *why = home_settle(&fix);

        if (region_cgroup_plan_quota_here("00000000000000000000000000", c) == 0 && c->quota)
                probe_add(r, "budget-cpus", PROBE_OK, "--cpus: a share of processors, held by the kernel", "", "cgroup v%d",
                          c->v2 ? 2 : 1);
        else
                probe_add(r, "budget-cpus", PROBE_NOTE, "--cpus is refused",
                          *fix ? fix : "root, or a control group that is delegated with controller cpu",
                          "no cgroup with controller cpu%s%.200s", why ? ": " : "", why ?: "");
}

static void doctor_budgets(ProbeReport *r) {
        RegionCgroup c = REGION_CGROUP_NULL;

        if (region_cgroup_plan_here("00000000000000000000000000", &c) < 0)
                return;
        doctor_budget_row(r, "budget-memory", c.memory, c.v2,
                          "RLIMIT_DATA for each process, notification of large mappings, and accounting");
        doctor_budget_row(r, "budget-processes", c.pids, c.v2, "each clone and fork is notified and counted");
        doctor_budget_row(r, "budget-cpu", c.cpu, c.v2, "the times of all processes are added up");
        doctor_quota(r, &c);
        region_cgroup_deinit(&c);
}

static json_t *doctor_json(const ProbeReport *r, const char *tier) {
        json_t *out = json_pack("{s:i, s:s?, s:[]}", "version", 1, "tier", tier, "checks");

        for (size_t i = 0; out && i < r->n; i++) {
                const ProbeFinding *f = &r->rows[i];

                json_array_append_new(
                        json_object_get(out, "checks"),
                        json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", f->name, "status", doctor_levels[f->level],
                                  "value", f->value, "meaning", f->meaning, "fix", f->fix));
        }
        return out;
}

/* Names the failed checks, and the limits around the calling process, a possible cause. */
static void doctor_print_causes(const ProbeReport *r) {
        const char *before = ": ";

        printf("\nNo region can run here");
        for (size_t i = 0; i < r->n; i++)
                if (r->rows[i].level == PROBE_FAIL || strstr(r->rows[i].name, "-around")) {
                        printf("%s%s (", before, r->rows[i].name);
                        cli_print_safe(r->rows[i].value);
                        putchar(')');
                        before = ", ";
                }
        putchar('\n');
}

static void doctor_print(const ProbeReport *r, const char *tier) {
        for (size_t i = 0; i < r->n; i++) {
                const ProbeFinding *f = &r->rows[i];

                printf("%-5s %-26s ", doctor_levels[f->level], f->name);
                cli_print_safe(f->value);
                putchar('\n');
                if (f->level != PROBE_OK && *f->meaning)
                        printf("      %-26s %s\n", "", f->meaning);
                if (f->level != PROBE_OK && *f->fix)
                        printf("      %-26s fix: %s\n", "", f->fix);
        }
        if (tier)
                printf("\nRegions of the user run in tier %s\n", tier);
        else
                doctor_print_causes(r);
}

int cmd_doctor(int argc, char **argv) {
        static const struct option options[] = {
                OPTION("store", 's'), OPTION_FLAG("programs", 'p'), OPTION_FLAG("json", 'j'), OPTION_FLAG("help", 'h'), {0}};
        static ProbeReport report;
        StoreOptions o = {.help = help, .no_arguments = true};
        _cleanup_free_ char *store = NULL;
        bool namespaces, landlock, runs = false;
        const char *tier;
        struct stat st;
        Diag d = {0};
        int r;

        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        store = path_of_store(o.store, &d);
        doctor_surroundings(&report);
        probe_full(&report);
        doctor_budgets(&report);
        doctor_proxy(&report);
        doctor_routes(&report);
        if (store)
                runs = doctor_places(&report, o.store, store);
        else
                probe_add(&report, "store", PROBE_FAIL, "no record is possible, so no region runs", "--store DIR", "%s",
                          d.text);
        probe_trial(&report, store && stat(store, &st) == 0 ? store : NULL, &namespaces, &landlock);
        tier = namespaces ? tier_name(TIER_NAMESPACES) : landlock ? tier_name(TIER_LANDLOCK) : NULL;
        runs = doctor_run(&report, store, landlock && !namespaces) && runs;
        if (store)
                doctor_layers(&report, store);
        if (namespaces && runs)
                doctor_overlay(&report, store);
        if (!runs)
                tier = NULL;
        if (runs && o.value['p'])
                doctor_programs(&report, store);
        r = namespaces && runs ? EXIT_OK : EXIT_NOT;
        if (o.json)
                return cli_print(VERB, r, doctor_json(&report, tier));
        doctor_print(&report, tier);
        return cli_done(VERB, r);
}
