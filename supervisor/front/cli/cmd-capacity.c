/* Runs: CLI. */
#include "base/size.h"
#include "cli/with-store.h"
#include "request/paths.h"
#include "engine/skill.h"
#include "policy/capacity.h"
#include "region/region-locks.h"
#include "region/region-proc.h"
#include "schema/limits.h"
#include "schema/serve.h"
#include "spawn/probe.h"
#include "spawn/uids.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define VERB "capacity"
#define ROWS_MAX 4096
#define SERVE_BYTES (SERVE_HELD_MAX + SERVE_UNFINISHED_MAX)

static const char help[] =
        "Usage: lethe capacity [--json] [--policy FILE] [--store DIR] [NAME[:COUNT]...]\n\n"
        "Tells how much memory a mix of skills can hold at once in the worst case: the sum of budget\n"
        "times concurrency, from the policy file alone. No skill is read or run. Without names:\n"
        "every skill in the policy or the store.\n"
        "Then tells for how many regions at once the host has the objects that the kernel counts\n"
        "per user, such as timers.\n\n"
        "  --policy FILE     the policy file (default: $LETHE_POLICY, else the usual places)\n"
        HELP_STORE
        HELP_JSON;

/* The number of regions that can have all their kernel objects at once, for objects that the kernel counts per user, by
 * the limits of the host (I-67). */
#define OBJECTS_ANY UINT64_MAX

typedef struct HostRow {
        /* limit: the name of the host's limit, "" when the host has no such limit. Static */
        const char *object, *limit;
        uint64_t each;              /* a region's most; OBJECTS_ANY: only the user's limit bounds a region */
        uint64_t user;              /* the most of a user of the host; OBJECTS_ANY: unbounded or unknown */
        uint64_t regions;           /* regions that can have their part at once; OBJECTS_ANY: no bound */
} HostRow;

typedef struct HostObjects {
        bool own_users;   /* each region is a user of its own */
        uint64_t regions; /* the least of all rows */
        HostRow rows[9];
        size_t n;
} HostObjects;

static uint64_t capacity_file_limit(const char *path) {
        char text[32];

        return (proc_read(path, text, sizeof(text)) > 0 ? strtoull(text, NULL, 10) : 0)
                       ?: OBJECTS_ANY; /* 0: no limit */
}

static uint64_t capacity_sysctl_limit(const char *name) {
        uint64_t n = probe_user_limit(name);

        return n > 0 ? n : OBJECTS_ANY;
}

static uint64_t capacity_rlimit(int resource) {
        struct rlimit r;

        return getrlimit(resource, &r) < 0 || r.rlim_cur == RLIM_INFINITY ? OBJECTS_ANY : (uint64_t)r.rlim_cur;
}

static void capacity_add_object(HostObjects *o, const char *object, const char *limit, uint64_t each, uint64_t user) {
        uint64_t regions = OBJECTS_ANY;

        if (each != OBJECTS_ANY && each > 0 && user != OBJECTS_ANY && (!o->own_users || user < each))
                regions = user / each;
        o->rows[o->n++] = (HostRow){object, limit, each, user, regions};
        o->regions = MIN(o->regions, regions);
}

/* Reads the host's limits, and the limits of the calling process (I-67). */
static void capacity_measure_objects(const Policy *p, HostObjects *ret) {
        uint32_t uid = 0;
        Diag d = {0};

        *ret = (HostObjects){.regions = OBJECTS_ANY};
        if (geteuid() == 0 && uids_take(&p->region_uids, &uid, &d) == 0 && uid > 0) {
                uids_give(uid);
                ret->own_users = true;
                ret->regions = p->region_uids.count ?: UIDS_STANDARD_COUNT;
                ret->rows[ret->n++] = (HostRow){"users", "region_uids", 1, ret->regions, ret->regions};
        }
        capacity_add_object(ret, "inotify_instances", "user.max_inotify_instances", REGION_INOTIFY_INSTANCES,
                    capacity_sysctl_limit("max_inotify_instances"));
        capacity_add_object(ret, "inotify_watches", "user.max_inotify_watches", REGION_INOTIFY_WATCHES,
                    capacity_sysctl_limit("max_inotify_watches"));
        capacity_add_object(ret, "signals_and_timers", "RLIMIT_SIGPENDING", REGION_SIGNALS_PENDING,
                    capacity_rlimit(RLIMIT_SIGPENDING));
        capacity_add_object(ret, "locked_ranges", "", LOCK_RANGES_MAX, OBJECTS_ANY);
        capacity_add_object(ret, "message_queues", "", 0, OBJECTS_ANY);
        capacity_add_object(ret, "pipe_pages", "fs.pipe-user-pages-soft", OBJECTS_ANY,
                    capacity_file_limit("/proc/sys/fs/pipe-user-pages-soft"));
        capacity_add_object(ret, "epoll_watches", "fs.epoll.max_user_watches", OBJECTS_ANY,
                    capacity_file_limit("/proc/sys/fs/epoll/max_user_watches"));
        capacity_add_object(ret, "descriptors_sent", "RLIMIT_NOFILE of the sender", OBJECTS_ANY, OBJECTS_ANY);
}

typedef struct Mix {
        CapacityRow rows[ROWS_MAX];
        size_t n;
} Mix;

static CapacityRow *capacity_find(Mix *m, const char *name) {
        for (size_t i = 0; i < m->n; i++)
                if (strcmp(m->rows[i].name, name) == 0)
                        return &m->rows[i];
        return NULL;
}

static bool capacity_add(Mix *m, const char *name, uint64_t count) {
        if (capacity_find(m, name))
                return true;
        if (m->n == ROWS_MAX)
                return false;
        m->rows[m->n] = (CapacityRow){.count = count};
        memcpy(m->rows[m->n++].name, name, strlen(name) + 1);
        return true;
}

/* NAME or NAME:COUNT; a skill without a rule of its own has the general rule. */
static int capacity_add_argument(Mix *m, const char *arg) {
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
        if (capacity_find(m, name))
                return cli_usage(VERB, "\"%s\": named twice", shown);
        return capacity_add(m, name, count) ? 0 : cli_usage(VERB, "more than %d skills", ROWS_MAX);
}

static int capacity_add_registered(Mix *m, const char *dir) {
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
                r = store_begin(store, false, &t, &d) ?: engine_skill_list(t, &rows, &n);
        if (r)
                return cli_fail(VERB, EXIT_NOT, "%s", r > 0 ? d.text : store_strerror(r));
        for (size_t i = 0; i < n; i++)
                fits = fits && capacity_add(m, rows[i].name, 0);
        skill_rows_free(rows, n);
        return fits ? 0 : cli_fail(VERB, EXIT_NOT, "more than %d skills", ROWS_MAX);
}

/* null: unbounded. */
static json_t *capacity_bound(uint64_t n) {
        return n == OBJECTS_ANY ? json_null() : json_u64(n);
}

static json_t *capacity_objects_json(const HostObjects *h) {
        _cleanup_json_ json_t *a = json_array();

        for (size_t i = 0; i < h->n; i++) {
                const HostRow *w = &h->rows[i];

                if (json_array_append_new(
                            a, json_pack("{s:s, s:s?, s:o, s:o, s:o}", "object", w->object, "limit",
                                         *w->limit ? w->limit : NULL, "region", capacity_bound(w->each), "user",
                                         capacity_bound(w->user), "regions", capacity_bound(w->regions))) < 0)
                        return NULL;
        }
        return json_pack("{s:b, s:o, s:O}", "own_users", h->own_users, "regions", capacity_bound(h->regions), "limits",
                         a);
}

static int capacity_print_json(const Mix *m, const Capacity *c, const Policy *p, const HostObjects *h) {
        _cleanup_json_ json_t *a = json_array();

        for (size_t i = 0; i < m->n; i++) {
                const CapacityRow *w = &m->rows[i];

                if (json_array_append_new(a, json_pack("{s:s, s:o, s:o, s:o, s:b, s:b}", "name", w->name, "count",
                                                       json_u64(w->count), "memory_bytes", json_u64(w->memory),
                                                       "total_bytes", json_u64(w->total), "memory_bounded",
                                                       !w->memory_unbounded, "count_bounded", !w->count_unbounded)) < 0)
                        return cli_fail(VERB, EXIT_NOT, "out of memory");
        }
        return cli_print(VERB, EXIT_OK,
                         json_pack("{s:i, s:s?, s:O, s:o, s:o, s:o, s:o, s:o, s:o}", "version", 1, "policy", p->path,
                                   "skills", a, "sum_bytes", json_u64(c->sum), "regions", json_u64(c->regions),
                                   "max_regions", json_u64(c->max_regions), "worst_bytes", json_u64(c->worst),
                                   "serve_bytes", json_u64(SERVE_BYTES), "objects", capacity_objects_json(h)));
}

static void capacity_print_objects(const HostObjects *h) {
        printf("Kernel objects, with the most that a region can take%s:\n",
               h->own_users ? " (each region is a user of the host)" : " (all regions are a single user of the host)");
        for (size_t i = 0; i < h->n; i++) {
                const HostRow *w = &h->rows[i];

                printf("  %-20s", w->object);
                if (w->each != OBJECTS_ANY)
                        printf(" %6" PRIu64 " each", w->each);
                else
                        printf(" no limit for a region");
                if (w->user != OBJECTS_ANY)
                        printf(", %" PRIu64 " a user", w->user);
                if (*w->limit)
                        printf(" (%s)", w->limit);
                if (w->regions != OBJECTS_ANY)
                        printf(": enough for %" PRIu64 " regions", w->regions);
                printf("\n");
        }
        if (h->regions != OBJECTS_ANY)
                printf("At most %" PRIu64 " regions at once can have all their objects.\n", h->regions);
}

static int capacity_print_text(const Mix *m, const Capacity *c, const Policy *p, const HostObjects *h) {
        char each[SIZE_TEXT_MAX], total[SIZE_TEXT_MAX];

        for (size_t i = 0; i < m->n; i++) {
                const CapacityRow *w = &m->rows[i];

                printf("%-24s %6" PRIu64 " x %10s = %10s%s%s\n", w->name, w->count, size_format(w->memory, each),
                       size_format(w->total, total), w->memory_unbounded ? "  (no policy bounds the memory)" : "",
                       w->count_unbounded ? "  (no policy bounds the concurrency)" : "");
        }
        printf("%-24s %6" PRIu64 "   %10s = %10s\n", "sum", c->regions, "", size_format(c->sum, total));
        if (c->regions > c->max_regions)
                printf("At most %" PRIu64 " regions live at once (max_regions), so the worst case is %s.\n",
                       c->max_regions, size_format(c->worst, total));
        else
                printf("The worst case is %s.\n", size_format(c->worst, total));
        printf("A daemon (lethe serve) holds up to %s besides for its clients: requests, captured output and answers.\n",
               size_format(SERVE_BYTES, total));
        if (!p->path)
                printf("There is no policy file: the built-in maxima hold.\n");
        capacity_print_objects(h);
        return EXIT_OK;
}

static int capacity_run(Mix *m, const char *policy_path, const char *store_given, bool json, char **names) {
        _cleanup_policy_ Policy *p = NULL;
        Capacity c;
        HostObjects h;
        Diag d = {0};
        int r = policy_load(policy_path, &p, &d);

        if (r)
                return cli_fail(VERB, r > 0 ? EXIT_USAGE : EXIT_NOT, "%s", r > 0 ? d.text : strerror(-r));
        for (; *names; names++)
                if ((r = capacity_add_argument(m, *names)))
                        return r;
        if (m->n == 0) {
                _cleanup_free_ char *store = path_of_store(store_given, &d);

                for (size_t i = 0; i < p->n_skills; i++)
                        capacity_add(m, p->skills[i].name, 0);
                if (!store)
                        return cli_usage(VERB, "%s", d.text);
                r = capacity_add_registered(m, store);
                if (r)
                        return r;
                if (m->n == 0)
                        return cli_fail(VERB, EXIT_NOT,
                                "neither the policy nor the store names a skill; fix: name a skill (NAME:COUNT)");
        }
        if (capacity_of(p, m->rows, m->n, &c) < 0)
                return cli_fail(VERB, EXIT_NOT, "out of memory");
        capacity_measure_objects(p, &h);
        return json ? capacity_print_json(m, &c, p, &h) : capacity_print_text(m, &c, p, &h);
}

int cmd_capacity(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTION("policy", 'p'), {0}};
        _cleanup_free_ Mix *m = calloc(1, sizeof(*m));
        StoreOptions o = {.help = help};

        if (!m)
                return cli_fail(VERB, EXIT_NOT, "out of memory");
        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        return cli_done(VERB, capacity_run(m, o.value['p'], o.store, o.json, argv + optind));
}
