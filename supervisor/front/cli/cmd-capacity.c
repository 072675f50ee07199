/* Runs: CLI. */
#include "base/size.h"
#include "cli/capacity-objects.h"
#include "cli/with-store.h"
#include "request/paths.h"
#include "engine/skill.h"
#include "policy/capacity.h"
#include "schema/serve.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define VERB "capacity"
#define ROWS_MAX 4096
#define SERVE_BYTES (SERVE_HELD_MAX + SERVE_UNFINISHED_MAX)

static const char help[] =
        "Usage: lethe capacity [--json] [--policy FILE] [--store DIR] [NAME[:COUNT]...]\n\n"
        "Tells how much memory a mix of skills can hold at once in the worst case: the sum of budget\n"
        "times concurrency, from the policy file alone. No skill is read and none is run. Without\n"
        "names: every skill that the policy or the store names.\n"
        "Then it tells for how many regions at once the host has the objects that the kernel counts\n"
        "per user, such as timers.\n\n"
        "  --policy FILE     the policy file (default: $LETHE_POLICY, else the usual places)\n"
        HELP_STORE
        "  --json            print JSON\n"
        "  -h, --help        this text\n";

typedef struct Mix {
        CapacityRow rows[ROWS_MAX];
        size_t n;
} Mix;

static CapacityRow *find(Mix *m, const char *name) {
        for (size_t i = 0; i < m->n; i++)
                if (strcmp(m->rows[i].name, name) == 0)
                        return &m->rows[i];
        return NULL;
}

static bool add(Mix *m, const char *name, uint64_t count) {
        if (find(m, name))
                return true;
        if (m->n == ROWS_MAX)
                return false;
        m->rows[m->n] = (CapacityRow){.count = count};
        memcpy(m->rows[m->n++].name, name, strlen(name) + 1);
        return true;
}

/* NAME or NAME:COUNT; a skill without a rule of its own has the general one. */
static int add_argument(Mix *m, const char *arg) {
        char name[65], shown[256];
        size_t n = strcspn(arg, ":");
        uint64_t count = 0;

        diag_quote(arg, strlen(arg), shown, sizeof(shown));
        if (n < sizeof(name)) {
                memcpy(name, arg, n);
                name[n] = 0;
        }
        if (n >= sizeof(name) || !skill_name_valid(name))
                return cli_usage(VERB, "\"%s\": not a skill's name", shown);
        if (arg[n] && (count_parse(arg + n + 1, &count) < 0 || count == 0))
                return cli_usage(VERB, "\"%s\": the count must be a whole number from 1", shown);
        if (find(m, name))
                return cli_usage(VERB, "\"%s\": named twice", shown);
        return add(m, name, count) ? 0 : cli_usage(VERB, "more than %d skills", ROWS_MAX);
}

static int add_registered(Mix *m, const char *dir) {
        _cleanup_store_ Store *store = NULL;
        _cleanup_txn_ Txn *t = NULL;
        SkillRow *rows;
        size_t n;
        Diag d = {0};
        bool fits = true;
        int r = store_open(dir, STORE_READ, &store, &d);

        if (r == STORE_E_MISSING)
                return 0;
        if (r == 0)
                r = store_begin(store, false, &t, &d);
        if (r == 0)
                r = engine_skill_list(t, &rows, &n);
        if (r)
                return cli_fail(VERB, EXIT_NOT, "%s", r > 0 ? d.text : store_strerror(r));
        for (size_t i = 0; i < n; i++) {
                fits = fits && add(m, rows[i].name, 0);
                skill_row_deinit(&rows[i]);
        }
        free(rows);
        return fits ? 0 : cli_fail(VERB, EXIT_NOT, "more than %d skills", ROWS_MAX);
}

/* null: there is no such bound. */
static json_t *bound(uint64_t n) {
        return n == OBJECTS_ANY ? json_null() : json_u64(n);
}

static json_t *objects_answer(const Objects *h) {
        _cleanup_json_ json_t *a = json_array();

        for (size_t i = 0; i < h->n; i++) {
                const ObjectRow *w = &h->rows[i];

                if (json_array_append_new(a, json_pack("{s:s, s:s?, s:o, s:o, s:o}", "object", w->object, "limit", *w->limit ? w->limit : NULL, "region",
                                                       bound(w->each), "user", bound(w->user), "regions", bound(w->regions))) < 0)
                        return NULL;
        }
        return json_pack("{s:b, s:o, s:O}", "own_users", h->own_users, "regions", bound(h->regions), "limits", a);
}

static int answer(const Mix *m, const Capacity *c, const Policy *p, const Objects *h) {
        _cleanup_json_ json_t *a = json_array(), *o = NULL;

        for (size_t i = 0; i < m->n; i++) {
                const CapacityRow *w = &m->rows[i];

                if (json_array_append_new(a, json_pack("{s:s, s:o, s:o, s:o, s:b, s:b}", "name", w->name, "count", json_u64(w->count), "memory_bytes",
                                                       json_u64(w->memory), "total_bytes", json_u64(w->total), "memory_bounded", !w->memory_unbounded,
                                                       "count_bounded", !w->count_unbounded)) < 0)
                        return cli_fail(VERB, EXIT_NOT, "out of memory");
        }
        o = json_pack("{s:i, s:s?, s:O, s:o, s:o, s:o, s:o, s:o, s:o}", "version", 1, "policy", p->path, "skills", a, "sum_bytes", json_u64(c->sum),
                      "regions", json_u64(c->regions), "max_regions", json_u64(c->max_regions), "worst_bytes", json_u64(c->worst), "serve_bytes", json_u64(SERVE_BYTES),
                      "objects", objects_answer(h));
        return print_json(stdout, o) < 0 ? cli_fail(VERB, EXIT_NOT, "out of memory") : EXIT_OK;
}

static void print_objects(const Objects *h) {
        printf("Kernel objects, of which a region takes no more than its own part%s:\n",
               h->own_users ? " (each region is a user of the host)" : " (all regions are one user of the host)");
        for (size_t i = 0; i < h->n; i++) {
                const ObjectRow *w = &h->rows[i];

                printf("  %-20s", w->object);
                if (w->each != OBJECTS_ANY)
                        printf(" %6" PRIu64 " each", w->each);
                else
                        printf(" no part of its own");
                if (w->user != OBJECTS_ANY)
                        printf(", %" PRIu64 " a user", w->user);
                if (*w->limit)
                        printf(" (%s)", w->limit);
                if (w->regions != OBJECTS_ANY)
                        printf(": enough for %" PRIu64 " regions", w->regions);
                printf("\n");
        }
        if (h->regions != OBJECTS_ANY)
                printf("At most %" PRIu64 " regions at once can have all of theirs.\n", h->regions);
}

static int print_text(const Mix *m, const Capacity *c, const Policy *p, const Objects *h) {
        char each[SIZE_TEXT_MAX], total[SIZE_TEXT_MAX];

        for (size_t i = 0; i < m->n; i++) {
                const CapacityRow *w = &m->rows[i];

                printf("%-24s %6" PRIu64 " x %10s = %10s%s%s\n", w->name, w->count, size_format(w->memory, each), size_format(w->total, total),
                       w->memory_unbounded ? "  (no policy bounds its memory)" : "", w->count_unbounded ? "  (no policy bounds its concurrency)" : "");
        }
        printf("%-24s %6" PRIu64 "   %10s = %10s\n", "sum", c->regions, "", size_format(c->sum, total));
        if (c->regions > c->max_regions)
                printf("At most %" PRIu64 " regions live at once (max_regions), so the worst case is %s.\n", c->max_regions, size_format(c->worst, total));
        else
                printf("The worst case is %s.\n", size_format(c->worst, total));
        printf("A daemon (lethe serve) holds up to %s besides for its clients: requests, captured output and answers.\n", size_format(SERVE_BYTES, total));
        if (!p->path)
                printf("There is no policy file: the built-in maxima hold.\n");
        print_objects(h);
        return EXIT_OK;
}

static int run(Mix *m, const char *policy_path, const char *store_given, bool json, char **names) {
        _cleanup_policy_ Policy *p = NULL;
        Capacity c;
        Objects h;
        Diag d = {0};
        int r = policy_load(policy_path, &p, &d);

        if (r)
                return cli_fail(VERB, r > 0 ? EXIT_USAGE : EXIT_NOT, "%s", r > 0 ? d.text : strerror(-r));
        for (; *names; names++)
                if ((r = add_argument(m, *names)))
                        return r;
        if (m->n == 0) {
                _cleanup_free_ char *store = path_of_store(store_given, &d);

                for (size_t i = 0; i < p->n_skills; i++)
                        add(m, p->skills[i].name, 0);
                if (!store)
                        return cli_usage(VERB, "%s", d.text);
                r = add_registered(m, store);
                if (r)
                        return r;
                if (m->n == 0)
                        return cli_fail(VERB, EXIT_NOT, "neither the policy nor the store names a skill; fix: name it (NAME:COUNT)");
        }
        if (capacity_of(p, m->rows, m->n, &c) < 0)
                return cli_fail(VERB, EXIT_NOT, "out of memory");
        objects_measure(p, &h);
        return json ? answer(m, &c, p, &h) : print_text(m, &c, p, &h);
}

int cmd_capacity(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, {"policy", required_argument, NULL, 'p'}, {0}};
        _cleanup_free_ Mix *m = calloc(1, sizeof(*m));
        const char *policy = NULL;
        StoreOptions o = {0};
        int opt;

        if (!m)
                return cli_fail(VERB, EXIT_NOT, "out of memory");
        while ((opt = getopt_long(argc, argv, ":h", options, NULL)) >= 0) {
                if (opt == 'h') {
                        fputs(help, stdout);
                        return cli_done(VERB, EXIT_OK);
                }
                if (opt == 'p')
                        policy = optarg;
                else if (!store_option(&o, opt, optarg))
                        return store_option_wrong(argv);
        }
        return cli_done(VERB, run(m, policy, o.store, o.json, argv + optind));
}
