#include "policy/filter.h"

#include "base/cache.h"
#include "base/hash.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* Linux 6.9: PIDFD_THREAD. Older kernels show only the first thread's table: other tables could hide a deleted file. */
static bool filter_sees_tables(void) {
        static atomic_int known; /* 1: no, 2: yes */
        int k = atomic_load_explicit(&known, memory_order_relaxed);

        if (k == 0) {
                int fd = (int)syscall(SYS_pidfd_open, getpid(), O_EXCL);

                k = fd >= 0 ? 2 : 1;
                if (fd >= 0)
                        close(fd);
                atomic_store_explicit(&known, k, memory_order_relaxed);
        }
        return k == 2;
}

void filter_input(const Grant *g, Tier tier, bool memory_in_cgroup, bool tasks_in_cgroup, bool objects_limited,
                  bool scoped, FilterInput *ret) {
        /* Without a network namespace the network and the abstract names are the host's. */
        const bool loopback = tier == TIER_NAMESPACES && g->network == NETWORK_LOOPBACK;
        const bool listed = tier == TIER_NAMESPACES && (g->network == NETWORK_CONNECT || g->network == NETWORK_HOST);

        *ret = (FilterInput){
                .tier = (uint8_t)tier,
                .network = (uint8_t)g->network,
                .loopback = loopback,
                .unix_sockets = loopback && g->n_files == 0,
                .listed = listed,
                .scoped = scoped,
                .notify_paths = g->report_paths,
                .notify_memory = !memory_in_cgroup,
                .notify_tasks = !tasks_in_cgroup,
                .host_files = g->n_files > 0,
                .tables = filter_sees_tables(),
                .watches = tier == TIER_NAMESPACES && objects_limited,
                .terminal = g->terminal || g->terminals,
                .terminals = grant_has_terminals(g, tier),
                .notify_frees = g->discipline == DISCIPLINE_MULTIPASS,
        };
}

unsigned filter_when(const FilterInput *in) {
        bool addresses = in->loopback || in->network == NETWORK_HOST,
             reaches_host = in->host_files || !in->scoped; /* a name may be that of a socket of the host */

        return (in->notify_paths ? 0 : WHEN_NO_PATHS) |
               (in->tier == TIER_NAMESPACES ? WHEN_NAMESPACES : WHEN_LANDLOCK) |
               (in->notify_memory ? WHEN_MEMORY_NOTIFIED : WHEN_MEMORY_CGROUP) |
               (in->notify_tasks ? 0 : WHEN_TASK_CGROUP) | (in->unix_sockets ? WHEN_UNIX : 0) |
               (in->loopback ? WHEN_LOOPBACK : 0) |
               (in->unix_sockets || (in->network == NETWORK_HOST && !(in->listed && reaches_host)) ? WHEN_CONNECTS : 0) |
               (in->listed ? WHEN_LISTED : 0) | (in->listed || addresses ? WHEN_BINDS : 0) |
               (addresses && !in->listed ? WHEN_LISTENS : 0) |
               (in->network == NETWORK_CONNECT ? WHEN_INET : 0) |
               (addresses ? WHEN_INET | WHEN_UDP | WHEN_ADDRESSES : WHEN_NO_ADDRESSES) |
               (in->tables ? WHEN_TABLES : 0) | (in->notify_frees ? WHEN_FREES : WHEN_NO_FREES) |
               (in->watches ? WHEN_WATCHES : 0) | (in->terminal ? WHEN_TERMINAL : 0) |
               (in->terminals ? WHEN_TERMINALS : 0);
}

static void filter_release(scmp_filter_ctx *ctx) {
        if (*ctx)
                seccomp_release(*ctx);
}

/* An unknown name is no error: a call that this architecture or this libseccomp lacks stays denied. */
static int filter_allow(scmp_filter_ctx ctx, const char *call, const FilterRow *row) {
        int nr = seccomp_syscall_resolve_name(call);

        if (nr < 0)
                return 0;
        return seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, nr, row ? row->n : 0, row ? row->cmp : NULL);
}

static int filter_add_rules(scmp_filter_ctx ctx, const void *arg) {
        const FilterInput *in = arg;
        static const char *const always[] = {
#define ALLOW(call) #call,
#include "policy/filter-calls.def"
        };
        static const struct {
                const char *call;
                bool meta;
        } paths[] = {
#define PATH(call, path, at, writes) {#call, false},
#define META(call, path, at) {#call, true},
#include "policy/filter-calls.def"
        };
        unsigned when = filter_when(in);
        int e = 0;

        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(always); i++)
                e = filter_allow(ctx, always[i], NULL);
        for (size_t i = 0; e == 0 && i < n_filter_numbers; i++)
                e = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, filter_numbers[i].nr, 0);
        for (size_t i = 0; e == 0 && i < n_filter_rows; i++)
                if ((filter_rows[i].when & ~when) == 0)
                        e = filter_allow(ctx, filter_rows[i].call, &filter_rows[i]);
        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(paths) && !in->notify_paths; i++)
                if (!FILTER_FIND(filter_rows, n_filter_rows, paths[i].call) &&
                    !(paths[i].meta && in->tier == TIER_LANDLOCK) &&
                    !(in->notify_frees && filter_call_frees(paths[i].call)))
                        e = filter_allow(ctx, paths[i].call, NULL);
        /* C libraries try clone3 first and fall back silently; the arguments are in memory, invisible to a filter. */
        e = e ?: seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
        /* Names of areas are memory that the kernel does not charge. EINVAL is the answer of a kernel without names. */
        e = e ?: seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, PR_SET_VMA));
        return e;
}

static int filter_export(uint32_t otherwise, int (*rules)(scmp_filter_ctx, const void *), const void *arg,
                         struct sock_filter **ret, size_t *ret_n) {
        _cleanup_(filter_release) scmp_filter_ctx ctx = seccomp_init(otherwise);
        _cleanup_close_ int fd = -1;
        _cleanup_free_ char *bytes = NULL;
        size_t n;
        int e;

        if (!ctx)
                return -ENOMEM;
        /* ia32 and x32 calls have other numbers: the filter has not judged them. */
        e = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
        if (e == 0)
                /* a tree: installing costs the kernel the tree's depth for each number */
                e = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
        e = e ?: rules(ctx, arg);
        if (e < 0)
                return e;
        fd = memfd_create("filter", MFD_CLOEXEC);
        if (fd < 0)
                return -errno;
        e = seccomp_export_bpf(ctx, fd);
        if (e < 0)
                return e;
        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        e = io_read_all(fd, BPF_MAXINSNS * sizeof(struct sock_filter), &bytes, &n);
        if (e < 0)
                return e;
        *ret = (struct sock_filter *)(void *)TAKE_PTR(bytes);
        *ret_n = n / sizeof(struct sock_filter);
        return 0;
}

int filter_compile(const FilterInput *in, struct sock_filter **ret, size_t *ret_n) {
        return filter_export(SCMP_ACT_NOTIFY, filter_add_rules, in, ret, ret_n);
}

/* Calls of the steps only, not of regions: namespaces, mounts (umount2: layers), the file with the launch words, rules of Landlock. */
static const char *const of_the_steps[] = {"clone3", "fsopen", "fsconfig", "fsmount", "open_tree", "move_mount",
                                           "mount_setattr", "umount2", "openat2", "memfd_create",
                                           "landlock_add_rule"};
static const FilterRow rows_of_the_steps[] = {
        {"ioctl", 0, 1, {{.arg = 1, .op = SCMP_CMP_MASKED_EQ, .datum_a = UINT32_MAX, .datum_b = SIOCSIFFLAGS}}},
};

static const char *const of_regions[] = {
#define ALLOW(call) #call,
#define PATH(call, path, at, writes) #call,
#define META(call, path, at) #call,
#include "policy/filter-calls.def"
};

static int filter_add_template_rules(scmp_filter_ctx ctx, const void *arg) {
        int e = 0;

        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(of_the_steps); i++)
                e = filter_allow(ctx, of_the_steps[i], NULL);
        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(rows_of_the_steps); i++)
                e = filter_allow(ctx, rows_of_the_steps[i].call, &rows_of_the_steps[i]);
        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(of_regions); i++)
                e = filter_allow(ctx, of_regions[i], NULL);
        for (size_t i = 0; e == 0 && i < n_filter_rows; i++)
                e = filter_allow(ctx, filter_rows[i].call, NULL);
        for (size_t i = 0; e == 0 && i < n_filter_numbers; i++)
                e = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, filter_numbers[i].nr, 0);
        return e;
}

/* The filter of a template is installed in all regions of the template, below the region's own filter. A refused call
 * is answered:
 *
 *  in the template   ENOSYS: SECCOMP_RET_TRACE without a tracer
 *  in a region       by the region's own filter: a notification goes before SECCOMP_RET_TRACE, so that the denial is recorded
 *
 * So the filter must allow all calls that a region's filter allows with some grant, and the calls of a worker's steps
 * below a template. */
int filter_of_template(struct sock_filter **ret, size_t *ret_n) {
        return filter_export(SCMP_ACT_TRACE(0), filter_add_template_rules, NULL, ret, ret_n);
}

static void filter_hash_add(crypto_generichash_state *h, const void *p, size_t n) {
        crypto_generichash_update(h, p, n);
}

/* The key covers the whole input of the program: the FilterInput, the tables of this build, and the library's version,
 * because another version may compile the same rules to another program. */
static void filter_cache_name(const FilterInput *in, char name[static 80]) {
        static const char calls[] =
#define ALLOW(call) #call "\n"
#define PATH(call, path, at, writes) #call ",p\n"
#define META(call, path, at) #call ",m\n"
#include "policy/filter-calls.def"
                ;
        const struct scmp_version *v = seccomp_version();
        const uint32_t library[] = {v->major, v->minor, v->micro, seccomp_arch_native()};
        crypto_generichash_state h;
        uint8_t hash[HASH_BYTES];
        char hex[HASH_HEX_MAX];

        crypto_generichash_init(&h, NULL, 0, sizeof(hash));
        filter_hash_add(&h, in, sizeof(*in));
        filter_hash_add(&h, library, sizeof(library));
        filter_hash_add(&h, calls, sizeof(calls));
        for (size_t i = 0; i < n_filter_numbers; i++) {
                filter_hash_add(&h, filter_numbers[i].call, strlen(filter_numbers[i].call) + 1);
                filter_hash_add(&h, &filter_numbers[i].nr, sizeof(filter_numbers[i].nr));
        }
        for (size_t i = 0; i < n_filter_rows; i++) {
                const FilterRow *row = &filter_rows[i];

                filter_hash_add(&h, row->call, strlen(row->call) + 1);
                filter_hash_add(&h, &row->when, sizeof(row->when));
                for (size_t k = 0; k < row->n; k++) {
                        const uint64_t cmp[] = {row->cmp[k].arg, row->cmp[k].op, row->cmp[k].datum_a,
                                                row->cmp[k].datum_b};

                        filter_hash_add(&h, cmp, sizeof(cmp));
                }
        }
        crypto_generichash_final(&h, hash, sizeof(hash));
        snprintf(name, 80, "filter-%s", hex_encode(hash, sizeof(hash), hex));
}

int filter_cached(const FilterInput *in, const char *store_dir, struct sock_filter **ret, size_t *ret_n) {
        _cleanup_close_ int dir = cache_open(store_dir);
        _cleanup_free_ uint8_t *bytes = NULL;
        char name[80];
        size_t n;
        int e;

        if (dir < 0)
                return filter_compile(in, ret, ret_n);
        filter_cache_name(in, name);
        if (cache_get(dir, name, BPF_MAXINSNS * sizeof(struct sock_filter), &bytes, &n) == 0 && n > 0 &&
            n % sizeof(struct sock_filter) == 0) {
                *ret = (struct sock_filter *)(void *)TAKE_PTR(bytes);
                *ret_n = n / sizeof(struct sock_filter);
                return 0;
        }
        e = filter_compile(in, ret, ret_n);
        if (e == 0)
                cache_put(dir, name, *ret, *ret_n * sizeof(**ret));
        return e;
}
