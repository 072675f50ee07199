/* Runs: supervisor. */
#include "region/region-proc.h"

#include "base/dirents.h"
#include "region/region-tables.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#define PROC_VSIZE 20 /* of proc_stat(): size of the address space */
#define PROC_BORN 19
#define PROC_STACK 25 /* start of the stack: differs for each executed image, and stays the same after a fork */
#define PROC_STACK_BYTES (UINT64_C(8) << 20)
#define PROC_STACK_MOST (UINT64_C(1) << 40) /* the sum for all processes must not wrap */
#define PROC_AREAS_FREE (256ULL << 10) /* bytes of a process without charge: 1,024 unshared areas */
#define PROC_AREAS_MAX 65536 /* the default of vm.max_map_count */
#define PROC_AREA_BYTES 192
#define PROC_AREA_LINK_BYTES 64

uint64_t proc_fd_count(pid_t pid) {
        _cleanup_closedir_ DIR *d = NULL;
        struct stat st;
        uint64_t n = 0;

        if (stat(PROC_PATH("%d/fd", pid), &st) < 0)
                return 0;
        if (st.st_size > 0) /* Linux 6.2 and later give the number */
                return (uint64_t)st.st_size;
        d = opendir(PROC_PATH("%d/fd", pid));
        while (d && readdir(d))
                n++;
        return n > 2 ? n - 2 : 0;
}

static uint64_t proc_status_kib(const char *text, const char *key) {
        return proc_number(text, key, 10) * 1024;
}

size_t proc_link(const char *path, char *ret, size_t room) {
        const ssize_t n = MAX(readlink(path, ret, room - 1), (ssize_t)0);

        ret[n] = 0;
        return (size_t)n;
}

uint64_t proc_data_bytes(pid_t pid) {
        pid_t teller = tables_teller(pid);

        return proc_field(PROC_PATH("%d/status", teller > 0 ? teller : pid), "\nVmData:", 10) * 1024;
}

/* True for a child of vfork(2) before its execve, in the parent's memory: already counted with the parent. */
static bool proc_shares_memory_of(pid_t teller, pid_t parent) {
        return syscall(SYS_kcmp, teller, parent, KCMP_VM, 0UL, 0UL) == 0;
}

uint64_t proc_mapped_bytes(pid_t pid) {
        const pid_t told = tables_teller(pid), teller = told > 0 ? told : pid;
        uint64_t f[2];
        char text[4096];

        return proc_stat(pid, f, ARRAY_SIZE(f)) && !proc_shares_memory_of(teller, (pid_t)f[1]) &&
                               proc_read_status(PROC_PATH("%d/status", teller), text, sizeof(text))
                       ? proc_status_kib(text, "\nRssAnon:") + proc_status_kib(text, "\nVmSwap:") +
                                 proc_status_kib(text, "\nRssShmem:")
                       : 0;
}

static ProcEntry *proc_tree_entry(ProcTree *t, pid_t pid, uint64_t start_ticks) {
        for (size_t i = t->n; i-- > 0;) /* living processes are the last entries */
                if (t->v[i].pid == pid && t->v[i].start_ticks == start_ticks)
                        return &t->v[i];
        if (!GROW(t->v, t->n))
                return NULL;
        t->v[t->n] = (ProcEntry){.pid = pid, .start_ticks = start_ticks};
        return &t->v[t->n++];
}

static uint64_t proc_ticks_usec(uint64_t ticks) {
        return ticks * 1000000 / (uint64_t)MAX(sysconf(_SC_CLK_TCK), 1L); /* no system call */
}

/* Counts descriptors in every table: a thread can have a separate table. */
static int proc_count_fds(ProcTree *t, pid_t pid, uint64_t threads) {
        _cleanup_free_ pid_t *list = NULL;
        size_t n = 1;
        int e = threads > 1 ? tables_of(pid, &list, &n) : 0;

        for (size_t i = 0; e == 0 && i < n; i++) {
                uint64_t fds = proc_fd_count(list ? list[i] : pid);

                t->most_fds = MAX(t->most_fds, fds);
                t->all_fds += fds;
        }
        return e;
}

typedef struct ProcAreas {
        pid_t pid, teller;
        uint64_t vsize, born, stack;
        unsigned depth;
        size_t first; /* index of the ancestor directly below the region's first process */
} ProcAreas;

typedef struct ProcAreasList {
        ProcAreas *v; /* owned */
        size_t n;
} ProcAreasList;

static bool proc_is_older_image(const ProcAreas *a, const ProcAreas *than) {
        return a->stack == than->stack && (a->born < than->born || (a->born == than->born && a->pid < than->pid));
}

/* Orphans become children of the region's first process. Older processes with the same image count as ancestors. */
static uint64_t proc_area_links(const ProcAreasList *l, const ProcAreas *a) {
        uint64_t links = a->depth;

        for (size_t i = 0; i < l->n; i++)
                links += proc_is_older_image(&l->v[i], &l->v[a->first]);
        return links;
}

/* Each area of address space takes an entry in the kernel, and a further link for each ancestor by fork. */
static uint64_t proc_area_bytes(pid_t teller, uint64_t vsize, uint64_t links) {
        const uint64_t each = PROC_AREA_BYTES + PROC_AREA_LINK_BYTES * links;
        uint64_t n = 0, most = PROC_AREAS_MAX;
        char text[16384];
        _cleanup_close_ int fd = -1;
        ssize_t k;

        if (vsize / PROC_PAGE * each < PROC_AREAS_FREE)
                return 0;
        fd = open(PROC_PATH("%d/maps", teller), O_RDONLY | O_CLOEXEC);
        while (fd >= 0 && n < most && (k = read(fd, text, sizeof(text))) > 0)
                for (const char *p = text, *end = text + k; (p = memchr(p, '\n', (size_t)(end - p))); p++)
                        n++;
        return n * each > PROC_AREAS_FREE ? n * each - PROC_AREAS_FREE : 0;
}

/* The error of the kernel's page counts, in bytes: before 6.17 each processor keeps a part of the count. */
static uint64_t proc_anon_noise(void) {
        static atomic_ullong known;
        uint64_t noise = atomic_load_explicit(&known, memory_order_relaxed), cpus;
        unsigned major = 0, minor = 0;
        struct utsname u;

        if (noise == 0) {
                cpus = (uint64_t)MAX(sysconf(_SC_NPROCESSORS_CONF), 1L);
                uname(&u);
                sscanf(u.release, "%u.%u", &major, &minor);
                noise = major > 6 || (major == 6 && minor >= 17) ? 1 : cpus * MAX(2 * cpus, UINT64_C(32)) * PROC_PAGE;
                atomic_store_explicit(&known, noise, memory_order_relaxed);
        }
        return noise;
}

/* During execve the kernel charges the process with the new program's arguments, not mapped anywhere yet. */
static uint64_t proc_unmapped_bytes(uint64_t charged, uint64_t mapped) {
        return charged > mapped + proc_anon_noise() ? charged - mapped : 0;
}

/* The kernel grows a stack at each fault below. Without an answer, the kernel's default limit counts. */
static uint64_t proc_stack_bytes(pid_t pid) {
        struct rlimit r;

        return prlimit(pid, RLIMIT_STACK, NULL, &r) < 0 ? PROC_STACK_BYTES : MIN((uint64_t)r.rlim_cur, PROC_STACK_MOST);
}

static int proc_look_at(ProcTree *t, pid_t pid, unsigned look, ProcAreas *ret_areas) {
        uint64_t f[PROC_STACK + 1];
        char text[4096];
        pid_t teller = pid;
        bool counted;

        if (!proc_stat(pid, f, ARRAY_SIZE(f)))
                return 0;
        t->tasks += MAX(f[17], UINT64_C(1));
        /* After the end of the first thread, only another thread shows the memory. */
        if (f[17] > 1 && f[PROC_VSIZE] == 0 && (teller = tables_teller(pid)) > 0) {
                uint64_t again[PROC_STACK + 1];
                bool told = proc_stat(teller, again, ARRAY_SIZE(again));

                f[PROC_VSIZE] = told ? again[PROC_VSIZE] : 0;
                f[PROC_STACK] = told ? again[PROC_STACK] : 0;
        }
        if (look & PROC_LOOK_CPU) {
                ProcEntry *p = proc_tree_entry(t, pid, f[19]);

                if (!p)
                        return -ENOMEM;
                p->cpu_usec = MAX(p->cpu_usec, proc_ticks_usec(f[11] + f[12]));
                p->waited_cpu_usec = MAX(p->waited_cpu_usec, proc_ticks_usec(f[13] + f[14]));
                p->alive = true;
        }
        counted = look & (PROC_LOOK_AREAS | PROC_LOOK_MEMORY) && f[PROC_VSIZE] > 0 &&
                  proc_shares_memory_of(teller, (pid_t)f[1]);
        if (look & PROC_LOOK_AREAS && !counted) {
                ret_areas->pid = pid;
                ret_areas->teller = teller;
                ret_areas->vsize = f[PROC_VSIZE];
                ret_areas->born = f[PROC_BORN];
                ret_areas->stack = f[PROC_STACK];
        }
        if (look & PROC_LOOK_MEMORY && !counted) {
                uint64_t shared = 0, mapped = 0;

                if (look & PROC_LOOK_SHARED && proc_read(PROC_PATH("%d/smaps_rollup", teller), text, sizeof(text))) {
                        shared = proc_status_kib(text, "\nPss_Anon:") + proc_status_kib(text, "\nSwapPss:");
                        mapped = proc_status_kib(text, "\nAnonymous:") + proc_status_kib(text, "\nSwap:");
                }
                if (proc_read_status(PROC_PATH("%d/status", teller), text, sizeof(text))) {
                        const uint64_t anon = proc_status_kib(text, "\nRssAnon:") + proc_status_kib(text, "\nVmSwap:"),
                                       shmem = proc_status_kib(text, "\nRssShmem:"),
                                       tables = proc_status_kib(text, "\nVmPTE:");

                        t->processes += tables > 0; /* a dead process has none */
                        t->table_bytes += tables;
                        t->most_anon_bytes = MAX(t->most_anon_bytes, anon);
                        t->resident_bytes += (shared ? shared + proc_unmapped_bytes(anon, mapped) : anon) + tables;
                        t->shmem_bytes += shmem;
                        t->mapped_bytes += anon + shmem;
                        t->all_data_bytes += proc_status_kib(text, "\nVmData:") + proc_stack_bytes(teller);
                }
        }
        return look & PROC_LOOK_FDS ? proc_count_fds(t, pid, f[17]) : 0;
}

/* Appends the children of every thread of pid. */
static int proc_add_children(pid_t pid, pid_t **list, size_t *n) {
        _cleanup_closedir_ DIR *d = opendir(PROC_PATH("%d/task", pid));
        char text[65536];
        struct dirent *de;

        while (d && (de = readdir(d))) {
                char *p = text;

                if (de->d_name[0] == '.' ||
                    proc_read(PROC_PATH("%d/task/%.20s/children", pid, de->d_name), text, sizeof(text)) == 0)
                        continue;
                for (;;) {
                        char *end;
                        long v = strtol(p, &end, 10);

                        /* The last number may be cut at the end of the buffer. */
                        if (end == p || (*end != ' ' && *end != 0) || (*end == 0 && end == text + sizeof(text) - 1))
                                break;
                        if (!GROW(*list, *n))
                                return -ENOMEM;
                        if (*n < PROC_TREE_MAX)
                                (*list)[(*n)++] = (pid_t)v;
                        p = end;
                }
        }
        return 0;
}

/* Without a control group, no counter has the CPU time of a tree. Two lower bounds: the last seen times of all
 * processes, and the times of living processes with their waited-for children. The larger counts, and never falls. */
static void proc_sum_cpu(ProcTree *t) {
        uint64_t seen = t->gone_cpu_usec, living = 0;

        for (size_t i = 0; i < t->n; i++) {
                seen += t->v[i].cpu_usec;
                if (t->v[i].alive)
                        living += t->v[i].cpu_usec + t->v[i].waited_cpu_usec;
        }
        t->cpu_usec = MAX(t->cpu_usec, MAX(seen, living));
}

/* Only the time of a gone process stays. The kernel's list of children may miss a living child while siblings end. */
static void proc_forget_gone(ProcTree *t) {
        size_t n = 0;

        for (size_t i = 0; i < t->n; i++) {
                if (!t->v[i].alive && proc_start_ticks(t->v[i].pid) != t->v[i].start_ticks) {
                        t->gone_cpu_usec += t->v[i].cpu_usec;
                        continue;
                }
                t->v[n] = t->v[i];
                t->v[n++].alive = false;
        }
        t->n = n;
}

int proc_tree_list(pid_t root, pid_t **ret, size_t *ret_n) {
        int e;

        *ret = NULL;
        *ret_n = 0;
        e = proc_add_children(root, ret, ret_n);
        for (size_t i = 0; e == 0 && i < *ret_n; i++)
                e = proc_add_children((*ret)[i], ret, ret_n);
        return e;
}

/* Grows the list to n entries; new entries are zero. */
static int proc_areas_grow(ProcAreasList *l, size_t n) {
        while (l->n < n) {
                if (!GROW(l->v, l->n))
                        return -ENOMEM;
                l->v[l->n++] = (ProcAreas){0};
        }
        return 0;
}

int proc_tree_each(pid_t root, void (*fn)(pid_t pid, void *arg), void *arg) {
        _cleanup_free_ pid_t *list = NULL;
        size_t n = 0;
        int e = proc_add_children(root, &list, &n);

        for (size_t i = 0; i < n; i++) {
                fn(list[i], arg);
                e = e ?: proc_add_children(list[i], &list, &n);
        }
        return e;
}

int proc_tree_walk(ProcTree *t, pid_t root, unsigned look) {
        _cleanup_free_ pid_t *list = NULL;
        ProcAreasList areas = {};
        size_t n = 0, before;
        int e;

        t->tasks = t->resident_bytes = t->processes = t->table_bytes = t->most_anon_bytes = t->shmem_bytes = t->mapped_bytes =
                t->all_data_bytes = t->most_fds = t->all_fds = 0;
        if (look & PROC_LOOK_AREAS)
                t->areas_bytes = 0;
        if (look & PROC_LOOK_CPU) /* a walk without CPU marks no process as alive */
                proc_forget_gone(t);
        e = proc_add_children(root, &list, &n);
        e = e ?: proc_areas_grow(&areas, n);
        for (size_t i = 0; e == 0 && i < n; i++) {
                if (areas.v[i].depth == 0) {
                        areas.v[i].depth = 1;
                        areas.v[i].first = i;
                }
                /* with CPU, times of skipped processes would be lost */
                if (t->before_each && t->before_each(t->arg) && !(look & PROC_LOOK_CPU)) {
                        free(areas.v);
                        return -EAGAIN;
                }
                e = proc_look_at(t, list[i], look, &areas.v[i]);
                before = n;
                e = e ?: proc_add_children(list[i], &list, &n);
                e = e ?: proc_areas_grow(&areas, n);
                for (size_t k = before; e == 0 && k < n; k++) {
                        areas.v[k].depth = areas.v[i].depth + 1;
                        areas.v[k].first = areas.v[i].first;
                }
        }
        for (size_t i = 0; e == 0 && i < n; i++)
                if (areas.v[i].vsize > 0)
                        t->areas_bytes += proc_area_bytes(areas.v[i].teller, areas.v[i].vsize,
                                                          proc_area_links(&areas, &areas.v[i]));
        free(areas.v);
        if (e < 0)
                return e;
        if (look & PROC_LOOK_CPU) {
                /* The worker waits for the region's orphans. */
                uint64_t f[20];

                if (proc_stat(root, f, ARRAY_SIZE(f))) {
                        ProcEntry *r = proc_tree_entry(t, root, f[19]);

                        if (!r)
                                return -ENOMEM;
                        r->waited_cpu_usec = MAX(r->waited_cpu_usec, proc_ticks_usec(f[13] + f[14]));
                        r->alive = true;
                }
                proc_sum_cpu(t);
        }
        t->peak_resident_bytes = MAX(t->peak_resident_bytes, t->resident_bytes);
        return 0;
}

void proc_tree_deinit(ProcTree *t) {
        free(t->v);
        *t = (ProcTree){};
}

size_t proc_kill_below(pid_t root) {
        _cleanup_free_ pid_t *list = NULL;
        size_t n = 0;

        proc_tree_list(root, &list, &n);
        for (size_t i = 0; i < n; i++)
                if (list[i] > 1)
                        kill(list[i], SIGKILL);
        return n;
}
