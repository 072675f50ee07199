/* Runs: supervisor. */
#include "region/region-proc.h"

#include "region/region-hold.h"
#include "region/region-tables.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PROC_PAGE 4096
#define PROC_VSIZE 20 /* of proc_stat(): addresses in use */
#define PROC_BORN 19
#define PROC_STACK 25 /* where the stack began: no two images that were executed have it in common, and a fork keeps it */
#define PROC_AREAS_FREE (256ULL << 10) /* bytes of a process, which no program notices: 1,024 areas of one that no other process made */
#define PROC_AREAS_MAX 65536 /* vm.max_map_count, where nobody raised it */
#define PROC_AREA_BYTES 192
#define PROC_AREA_LINK_BYTES 64

uint64_t proc_fd_count(pid_t pid) {
        char path[64];
        struct stat st;
        uint64_t n = 0;
        DIR *d;

        snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
        if (stat(path, &st) < 0)
                return 0;
        if (st.st_size > 0) /* Linux 6.2 and later tell the number here */
                return (uint64_t)st.st_size;
        d = opendir(path);
        if (!d)
                return 0;
        while (readdir(d))
                n++;
        closedir(d);
        return n > 2 ? n - 2 : 0;
}

static uint64_t status_kib(const char *text, const char *key) {
        const char *p = strstr(text, key);

        return p ? strtoull(p + strlen(key), NULL, 10) * 1024 : 0;
}

uint64_t proc_data_bytes(pid_t pid) {
        char path[64], text[4096];
        pid_t teller = tables_teller(pid);

        snprintf(path, sizeof(path), "/proc/%d/status", (int)(teller > 0 ? teller : pid));
        return proc_read(path, text, sizeof(text)) ? status_kib(text, "\nVmData:") : 0;
}

static ProcEntry *tree_entry(ProcTree *t, pid_t pid, uint64_t start_ticks) {
        for (size_t i = t->n; i-- > 0;) /* the living ones are the youngest */
                if (t->v[i].pid == pid && t->v[i].start_ticks == start_ticks)
                        return &t->v[i];
        if (t->n == t->room) {
                size_t room = t->room ? t->room * 2 : 64;
                ProcEntry *v = realloc(t->v, room * sizeof(*v));

                if (!v)
                        return NULL;
                t->v = v;
                t->room = room;
        }
        t->v[t->n] = (ProcEntry){.pid = pid, .start_ticks = start_ticks};
        return &t->v[t->n++];
}

static uint64_t ticks_usec(uint64_t ticks) {
        return ticks * 1000000 / (uint64_t)MAX(sysconf(_SC_CLK_TCK), 1L); /* no system call */
}

/* Every table of descriptors counts: a thread can have its own. */
static int look_at_tables(ProcTree *t, pid_t pid, uint64_t threads) {
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

/* A process whose areas are to be counted. */
typedef struct ProcAreas {
        pid_t pid, teller;
        uint64_t vsize, born, stack;
        unsigned depth;
        size_t first; /* the place of its ancestor below the region's first process */
} ProcAreas;

typedef struct ProcAreasList {
        ProcAreas *v; /* owned */
        size_t n, room;
} ProcAreasList;

static bool areas_is_older(const ProcAreas *a, const ProcAreas *than) {
        return a->stack == than->stack && (a->born < than->born || (a->born == than->born && a->pid < than->pid));
}

/* The region's first process takes the child of one that has ended. Which processes that was forked from nobody tells: older ones with the same image. */
static uint64_t areas_links(const ProcAreasList *l, const ProcAreas *a) {
        uint64_t links = a->depth;

        for (size_t i = 0; i < l->n; i++)
                links += areas_is_older(&l->v[i], &l->v[a->first]);
        return links;
}

/* Areas of address space are the kernel's memory: each one has an entry, and another one for each process that it was forked from. */
static uint64_t look_at_areas(pid_t teller, uint64_t vsize, uint64_t links) {
        const uint64_t each = PROC_AREA_BYTES + PROC_AREA_LINK_BYTES * links;
        uint64_t n = 0, most = PROC_AREAS_MAX;
        char path[64], text[16384];
        ssize_t k;
        int fd;

        if (vsize / PROC_PAGE * each < PROC_AREAS_FREE)
                return 0;
        snprintf(path, sizeof(path), "/proc/%d/maps", (int)teller);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        while (fd >= 0 && n < most && (k = read(fd, text, sizeof(text))) > 0)
                for (const char *p = text, *end = text + k; (p = memchr(p, '\n', (size_t)(end - p))); p++)
                        n++;
        if (fd >= 0)
                close(fd);
        return n * each > PROC_AREAS_FREE ? n * each - PROC_AREAS_FREE : 0;
}

/* How far the kernel's number of a process's pages can be from the truth, in bytes: before 6.17 each processor keeps some to itself. */
static uint64_t anon_noise(void) {
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

/* The kernel charges a process with the arguments of the program that it is about to execute, which are mapped nowhere yet. */
static uint64_t charged_unmapped(uint64_t charged, uint64_t mapped) {
        return charged > mapped + anon_noise() ? charged - mapped : 0;
}

/* One that vfork(2) made has its parent's address space until it executes, and a busy machine lets it wait there. The parent was looked at before. */
static bool has_memory_of(pid_t teller, pid_t parent) {
        return syscall(SYS_kcmp, teller, parent, KCMP_VM, 0UL, 0UL) == 0;
}

static int look_at(ProcTree *t, pid_t pid, unsigned look, ProcAreas *ret_areas) {
        uint64_t f[PROC_STACK + 1];
        char path[64], text[4096];
        pid_t teller = pid;
        bool counted;
        int e;

        if (!proc_stat(pid, f, ARRAY_SIZE(f)))
                return 0;
        t->tasks += MAX(f[17], UINT64_C(1));
        /* With the first thread gone, only another one tells of the memory. */
        if (f[17] > 1 && f[PROC_VSIZE] == 0 && (teller = tables_teller(pid)) > 0) {
                uint64_t again[PROC_STACK + 1];
                bool told = proc_stat(teller, again, ARRAY_SIZE(again));

                f[PROC_VSIZE] = told ? again[PROC_VSIZE] : 0;
                f[PROC_STACK] = told ? again[PROC_STACK] : 0;
        }
        if (look & PROC_LOOK_CPU) {
                ProcEntry *p = tree_entry(t, pid, f[19]);

                if (!p)
                        return -ENOMEM;
                p->cpu_usec = MAX(p->cpu_usec, ticks_usec(f[11] + f[12]));
                p->waited_cpu_usec = MAX(p->waited_cpu_usec, ticks_usec(f[13] + f[14]));
                p->alive = true;
        }
        counted = look & (PROC_LOOK_AREAS | PROC_LOOK_MEMORY) && f[PROC_VSIZE] > 0 && has_memory_of(teller, (pid_t)f[1]);
        if (look & PROC_LOOK_AREAS && !counted) {
                ret_areas->pid = pid;
                ret_areas->teller = teller;
                ret_areas->vsize = f[PROC_VSIZE];
                ret_areas->born = f[PROC_BORN];
                ret_areas->stack = f[PROC_STACK];
        }
        if (look & PROC_LOOK_MEMORY && !counted) {
                uint64_t shared = 0, mapped = 0;

                if (look & PROC_LOOK_SHARED) {
                        snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)teller);
                        if (proc_read(path, text, sizeof(text))) {
                                shared = status_kib(text, "\nPss_Anon:") + status_kib(text, "\nSwapPss:");
                                mapped = status_kib(text, "\nAnonymous:") + status_kib(text, "\nSwap:");
                        }
                }
                snprintf(path, sizeof(path), "/proc/%d/status", (int)teller);
                if (proc_read(path, text, sizeof(text))) {
                        const uint64_t anon = status_kib(text, "\nRssAnon:") + status_kib(text, "\nVmSwap:"), tables = status_kib(text, "\nVmPTE:");

                        t->processes += tables > 0; /* a dead one has none */
                        t->table_bytes += tables;
                        t->most_anon_bytes = MAX(t->most_anon_bytes, anon);
                        t->resident_bytes += (shared ? shared + charged_unmapped(anon, mapped) : anon) + tables;
                        t->shmem_bytes += status_kib(text, "\nRssShmem:");
                        t->all_data_bytes += status_kib(text, "\nVmData:") + region_hold_stack(teller);
                }
        }
        if (look & PROC_LOOK_FDS && (e = look_at_tables(t, pid, f[17])) < 0)
                return e;
        return 0;
}

/* Appends the children of every thread of pid. */
static int add_children(pid_t pid, pid_t **list, size_t *n, size_t *room) {
        char path[96], text[65536];
        struct dirent *de;
        DIR *d;

        snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
        d = opendir(path);
        if (!d)
                return 0;
        while ((de = readdir(d))) {
                char *p = text;

                if (de->d_name[0] == '.')
                        continue;
                snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid, de->d_name);
                if (proc_read(path, text, sizeof(text)) == 0)
                        continue;
                for (;;) {
                        char *end;
                        long v = strtol(p, &end, 10);

                        /* The last number may be cut where the buffer ends. */
                        if (end == p || (*end != ' ' && *end != 0) || (*end == 0 && end == text + sizeof(text) - 1))
                                break;
                        if (*n == *room) {
                                size_t more = *room ? *room * 2 : 64;
                                pid_t *l = realloc(*list, more * sizeof(*l));

                                if (!l) {
                                        closedir(d);
                                        return -ENOMEM;
                                }
                                *list = l;
                                *room = more;
                        }
                        if (*n < PROC_TREE_MAX)
                                (*list)[(*n)++] = (pid_t)v;
                        p = end;
                }
        }
        closedir(d);
        return 0;
}

/* CPU time of a tree has no single counter without a control group. Two sums bound it from below: what every process was last seen
 * with, and what the living have with their waited-for children in it. The larger counts, and it never falls. */
static void sum_cpu(ProcTree *t) {
        uint64_t seen = t->gone_cpu_usec, living = 0;

        for (size_t i = 0; i < t->n; i++) {
                seen += t->v[i].cpu_usec;
                if (t->v[i].alive)
                        living += t->v[i].cpu_usec + t->v[i].waited_cpu_usec;
        }
        t->cpu_usec = MAX(t->cpu_usec, MAX(seen, living));
}

/* A process that is no more keeps nothing but its time. The kernel's list of children can leave one out while others end. */
static void forget_gone(ProcTree *t) {
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
        _cleanup_free_ pid_t *list = NULL;
        size_t n = 0, room = 0;
        int e = add_children(root, &list, &n, &room);

        for (size_t i = 0; e == 0 && i < n; i++)
                e = add_children(list[i], &list, &n, &room);
        if (e < 0)
                return e;
        *ret = TAKE_PTR(list);
        *ret_n = n;
        return 0;
}

/* Room for places below n, which are empty so far. */
static int areas_grow(ProcAreasList *l, size_t n) {
        if (n > l->room) {
                ProcAreas *v = reallocarray(l->v, n * 2, sizeof(*v));

                if (!v)
                        return -ENOMEM;
                l->v = v;
                l->room = n * 2;
        }
        if (n > l->n)
                memset(&l->v[l->n], 0, (n - l->n) * sizeof(*l->v));
        l->n = n;
        return 0;
}

void proc_tree_each(pid_t root, void (*fn)(pid_t pid, void *arg), void *arg) {
        _cleanup_free_ pid_t *list = NULL;
        size_t n = 0, room = 0;
        int e = add_children(root, &list, &n, &room);

        for (size_t i = 0; i < n; i++) {
                fn(list[i], arg);
                if (e == 0)
                        e = add_children(list[i], &list, &n, &room);
        }
}

int proc_tree_walk(ProcTree *t, pid_t root, unsigned look) {
        _cleanup_free_ pid_t *list = NULL;
        ProcAreasList areas = {};
        size_t n = 0, room = 0, before;
        int e;

        t->tasks = t->resident_bytes = t->processes = t->table_bytes = t->most_anon_bytes = t->shmem_bytes = t->all_data_bytes = t->most_fds = t->all_fds = 0;
        if (look & PROC_LOOK_AREAS)
                t->areas_bytes = 0;
        if (look & PROC_LOOK_CPU) /* a walk without sees nobody's time, and so nobody alive */
                forget_gone(t);
        e = add_children(root, &list, &n, &room);
        if (e == 0)
                e = areas_grow(&areas, n);
        for (size_t i = 0; e == 0 && i < n; i++) {
                if (areas.v[i].depth == 0) {
                        areas.v[i].depth = 1;
                        areas.v[i].first = i;
                }
                if (t->before_each && t->before_each(t->arg) && !(look & PROC_LOOK_CPU)) { /* else the time of those that are left out is lost */
                        free(areas.v);
                        return -EAGAIN;
                }
                e = look_at(t, list[i], look, &areas.v[i]);
                before = n;
                if (e == 0)
                        e = add_children(list[i], &list, &n, &room);
                if (e == 0)
                        e = areas_grow(&areas, n);
                for (size_t k = before; e == 0 && k < n; k++) {
                        areas.v[k].depth = areas.v[i].depth + 1;
                        areas.v[k].first = areas.v[i].first;
                }
        }
        for (size_t i = 0; e == 0 && i < n; i++)
                if (areas.v[i].vsize > 0)
                        t->areas_bytes += look_at_areas(areas.v[i].teller, areas.v[i].vsize, areas_links(&areas, &areas.v[i]));
        free(areas.v);
        if (e < 0)
                return e;
        if (look & PROC_LOOK_CPU) {
                /* Orphans of the region are waited for by the worker. */
                uint64_t f[20];

                if (proc_stat(root, f, ARRAY_SIZE(f))) {
                        ProcEntry *r = tree_entry(t, root, f[19]);

                        if (!r)
                                return -ENOMEM;
                        r->waited_cpu_usec = MAX(r->waited_cpu_usec, ticks_usec(f[13] + f[14]));
                        r->alive = true;
                }
                sum_cpu(t);
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
        size_t n = 0, room = 0;
        int e = add_children(root, &list, &n, &room);

        for (size_t i = 0; e == 0 && i < n; i++)
                e = add_children(list[i], &list, &n, &room);
        for (size_t i = 0; i < n; i++)
                if (list[i] > 1)
                        kill(list[i], SIGKILL);
        return n;
}

#define TASK_EXITING 0x4U /* PF_EXITING */

/* The state's letter of a task, and its flags: proc_pid_stat(5). */
static char task_letter(const char *path, unsigned *ret_flags) {
        char text[1024], *p, letter;

        if (proc_read(path, text, sizeof(text)) == 0 || !(p = strrchr(text, ')')) || sscanf(p, ") %c %*d %*d %*d %*d %*d %u", &letter, ret_flags) != 2)
                return 'X';
        return letter;
}

/* proc_pid_status(5) */
static uint64_t task_switches(pid_t pid, const char *task) {
        char path[96], text[4096];
        const char *own, *forced;

        snprintf(path, sizeof(path), "/proc/%d/task/%.20s/status", (int)pid, task);
        if (proc_read(path, text, sizeof(text)) == 0)
                return 0;
        own = strstr(text, "\nvoluntary_ctxt_switches:");
        forced = strstr(text, "\nnonvoluntary_ctxt_switches:");
        return (own ? strtoull(strchr(own, ':') + 1, NULL, 10) : 0) + (forced ? strtoull(strchr(forced, ':') + 1, NULL, 10) : 0);
}

static void count_blocked(pid_t pid, ProcBlocked *b) {
        char path[96];
        struct dirent *de;
        DIR *d;

        snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
        d = opendir(path);
        while (d && (de = readdir(d))) {
                unsigned flags;
                char letter;

                if (de->d_name[0] == '.')
                        continue;
                snprintf(path, sizeof(path), "/proc/%d/task/%.20s/stat", (int)pid, de->d_name);
                letter = task_letter(path, &flags);
                if (letter == 'D' || (letter == 'S' && flags & TASK_EXITING)) { /* one that exits takes no signal any more, in whatever it sleeps */
                        b->blocked++;
                        b->switches += task_switches(pid, de->d_name);
                } else if (!strchr("tTZX", letter))
                        b->running++;
        }
        if (d)
                closedir(d);
}

int proc_blocked(pid_t root, ProcBlocked *ret) {
        _cleanup_free_ pid_t *list = NULL;
        size_t n = 0, room = 0;
        int e = add_children(root, &list, &n, &room);

        *ret = (ProcBlocked){};
        for (size_t i = 0; e == 0 && i < n; i++) {
                count_blocked(list[i], ret);
                e = add_children(list[i], &list, &n, &room);
        }
        return e;
}

bool proc_wait_look(ProcWait *w, const ProcBlocked *b, uint64_t progress, uint64_t now, uint64_t usec) {
        uint64_t seen = progress + b->switches + b->blocked;

        if (b->blocked == 0 || b->running > 0) {
                *w = (ProcWait){};
                return false;
        }
        if (w->since == 0 || seen != w->seen)
                *w = (ProcWait){.since = now, .seen = seen};
        return now - w->since >= usec;
}

bool proc_is_blocked(pid_t pid) {
        unsigned flags;
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        return pid > 0 && task_letter(path, &flags) == 'D';
}

#define PROC_ENV_MAX 65536

/* name=value stands in the environment, which is a list of NUL-terminated strings. */
static bool has_variable(const char *env, size_t n, const char *want) {
        for (const char *p = env; p < env + n; p += strlen(p) + 1)
                if (strcmp(p, want) == 0)
                        return true;
        return false;
}

/* Calls fn for each process of the region. Returns how many there are. */
static size_t each_of_region(const char *region, void (*fn)(pid_t pid, void *arg), void *arg) {
        _cleanup_free_ char *env = malloc(PROC_ENV_MAX);
        char want[64], path[64], status[4096];
        struct dirent *de;
        size_t n = 0;
        DIR *d = opendir("/proc");

        snprintf(want, sizeof(want), "LETHE_REGION=%s", region);
        while (d && (de = readdir(d))) {
                long pid = strtol(de->d_name, NULL, 10);
                size_t k;

                if (pid <= 1 || pid == getpid())
                        continue;
                /* The status first: it is read without a lock of the process's, the environment is not, and few processes are confined like this. */
                snprintf(path, sizeof(path), "/proc/%ld/status", pid);
                if (!proc_read(path, status, sizeof(status)) || !strstr(status, "\nNoNewPrivs:\t1") || !strstr(status, "\nSeccomp:\t2"))
                        continue;
                snprintf(path, sizeof(path), "/proc/%ld/environ", pid);
                k = env ? proc_read(path, env, PROC_ENV_MAX) : 0;
                if (k == 0 || !has_variable(env, k, want))
                        continue;
                fn((pid_t)pid, arg);
                n++;
        }
        if (d)
                closedir(d);
        return n;
}

static void kill_found(pid_t pid, void *arg) {
        kill(pid, SIGKILL);
}

size_t proc_kill_by_region(const char *region) {
        return each_of_region(region, kill_found, NULL);
}

static void count_found(pid_t pid, void *arg) {
        count_blocked(pid, arg);
}

void proc_region_blocked(const char *region, ProcBlocked *ret) {
        *ret = (ProcBlocked){};
        each_of_region(region, count_found, ret);
}
