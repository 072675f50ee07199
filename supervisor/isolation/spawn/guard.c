#include "spawn/guard.h"

#include "base/child-registry.h"
#include "base/clock.h"
#include "base/io.h"
#include "spawn/clone.h"
#include "spawn/find.h"
#include "spawn/spawner-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define FOLDER "guard"
#define EXIT_MS 5000
#define TURN_USEC 5000 /* the most time of a guard's look */
#define LOOK_MS 200 /* how often progress is checked without an answer */

/* A byte of the lock file, chosen by the region's id: two regions with an equal byte only wait for each other. */
static struct flock guard_lock_of(const char *region, short type) {
        uint64_t h = 0xcbf29ce484222325ULL; /* FNV-1a */

        for (; *region; region++)
                h = (h ^ (uint8_t)*region) * 0x100000001b3ULL;
        return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)(h >> 2), .l_len = 1};
}

/* Returns a descriptor or -errno. */
static int guard_open_folder(const char *store_dir, bool make) {
        char path[PATH_MAX];
        int fd;

        if (snprintf(path, sizeof(path), "%s/" FOLDER, store_dir) >= (int)sizeof(path))
                return -ENAMETOOLONG;
        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT && make && (mkdir(path, 0700) == 0 || errno == EEXIST))
                fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

static int guard_gone(Guard *g) {
        closep(&g->control);
        return GUARD_E_GONE;
}

static int guard_order(Guard *g, const GuardOrder *o, const int *fds, size_t n_fds) {
        int e = g->control < 0 ? -EPIPE : io_send_fds(g->control, o, sizeof(*o), fds, n_fds);

        return e == -EPIPE ? guard_gone(g) : e;
}

/* Sends an order without descriptors. */
static int guard_tell(Guard *g, GuardOrder o) {
        o.version = GUARD_VERSION;
        return guard_order(g, &o, NULL, 0);
}

static int guard_execute(Guard *g, const int *fds, Diag *reterr) {
        _cleanup_close_ int exe = -1;
        CloneExec c = {.name = "lethe-guard", .fds = fds, .n_fds = GUARD_FD_EVIDENCE + 1};
        int e = find_needed("lethe-guard", GUARD_E_START, &exe, reterr);
        pid_t pid;

        if (e != 0)
                return e;
        c.exec_fd = exe;
        pid = clone_exec(&c, 0, &g->pidfd);
        if (pid < 0)
                return diag(reterr, GUARD_E_START, "lethe-guard cannot be started: %s: %s", c.what, strerror(-pid));
        g->pid = pid;
        return 0;
}

static int guard_make(Guard *g, Spawner *spawner, Diag *reterr) {
        _cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC),
                            page = memfd_create("lethe-evidence", MFD_CLOEXEC), theirs = -1;
        int pair[2], fds[GUARD_FD_EVIDENCE + 1];
        void *p;

        if (null < 0 || page < 0 || ftruncate(page, sizeof(GuardEvidence)) < 0)
                return -errno;
        p = mmap(NULL, sizeof(GuardEvidence), PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
        if (p == MAP_FAILED)
                return -errno;
        g->page = p;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        g->control = pair[0];
        theirs = pair[1];
        if (io_set_nonblock(g->control) < 0)
                return -errno;
        for (int i = 0; i < GUARD_FD_CONTROL; i++)
                fds[i] = null;
        fds[GUARD_FD_CONTROL] = theirs;
        fds[GUARD_FD_EVIDENCE] = page;
        if (spawner && spawner_guard(spawner, fds, ARRAY_SIZE(fds), &g->pid, &g->pidfd) == 0)
                return 0;
        return guard_execute(g, fds, reterr);
}

int guard_start(Guard *ret, Spawner *spawner, Diag *reterr) {
        child_registry_reap_dead();
        Guard g = GUARD_NULL;
        int e;

        if (spawner && guard_pool_take(spawner_guards(spawner), ret))
                return 0;
        e = guard_make(&g, spawner, reterr);
        g.spawner = spawner;
        if (e == 0)
                *ret = g;
        else
                guard_deinit(&g);
        return e;
}

int guard_attach(Guard *g, const GuardOrder *o, const char *store_dir, int spec, int scratch, Diag *reterr) {
        _cleanup_close_ int folder = guard_open_folder(store_dir, true), lock = -1;
        struct flock l = guard_lock_of(o->region, F_WRLCK);
        int e;

        if (folder < 0)
                return diag(reterr, folder, "folder \"" FOLDER "\" of the store: %s", strerror(-folder));
        lock = openat(folder, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (lock < 0 || fcntl(lock, F_OFD_SETLK, &l) < 0)
                return diag(reterr, -errno, "the guard's lock in the store: %s", strerror(errno));
        e = guard_order(g, o, (const int[]){lock, folder, spec, scratch},
                        scratch < 0 ? GUARD_ATTACH_SCRATCH : GUARD_ATTACH_FDS);
        if (e > 0)
                return diag(reterr, e, "lethe-guard ended before it was attached");
        g->sent = e == 0;
        return e;
}

int guard_answer(Guard *g, GuardAnswer *ret) {
        bool refused;
        ssize_t n;

        if (g->control < 0)
                return 0;
        n = TEMP_FAILURE_RETRY(recv(g->control, ret, sizeof(*ret), MSG_DONTWAIT));
        if (n < 0 && errno == EAGAIN)
                return -EAGAIN;
        if (n <= 0) {
                guard_gone(g);
                return 0;
        }
        if (n != sizeof(*ret) || ret->version != GUARD_VERSION)
                return -EPROTO;
        g->attached |= ret->kind == GUARD_ATTACHED && ret->error == 0;
        refused = ret->kind == GUARD_ATTACHED && ret->error != 0;
        g->frozen |= refused || ret->kind == GUARD_FROZEN;
        g->empty |= refused || ret->kind == GUARD_EMPTY;
        g->as_new |= ret->kind == GUARD_AS_NEW;
        return 1;
}

int guard_explain(int error, Diag *reterr) {
        const char *fix = "";

        if (error == ESRCH || error == ECHILD)
                return diag(reterr, GUARD_E_START, "the region's first process ended before lethe-guard traced it, and "
                            "so before the program started: it was killed from outside, or with the interpreter "
                            "that it was forked from; fix: start it again");
        if (error == EPERM || error == EACCES)
                fix = "; fix: let processes be traced (in a container: a seccomp profile that allows ptrace and "
                      "process_vm_writev; where "
                      "/proc/sys/kernel/yama/ptrace_scope is 2 or 3: a lower one), or run a skill that the policy "
                      "trusts with --discipline none";
        return diag(reterr, GUARD_E_START, "the region's memory could not be overwritten at the region's end: "
                    "lethe-guard cannot trace the program: %s%s", strerror(error), fix);
}

int guard_freeze(Guard *g) {
        return guard_tell(g, (GuardOrder){.kind = GUARD_FREEZE});
}

int guard_freeze_at_once(Guard *g) {
        g->scrub = true;
        return guard_tell(g, (GuardOrder){.kind = GUARD_FREEZE, .flags = GUARD_AT_ONCE});
}

unsigned guard_facts(const Guard *g) {
        return g->page ? __atomic_load_n(&g->page->facts, __ATOMIC_ACQUIRE) : 0;
}

bool guard_scratch_known(const Guard *g, uint64_t *ret_known, uint64_t *ret_step) {
        if (!g->page)
                return false;
        *ret_step = __atomic_load_n(&g->page->file_steps, __ATOMIC_SEQ_CST);
        *ret_known = __atomic_load_n(&g->page->scratch_known, __ATOMIC_SEQ_CST);
        return *ret_step % 2 == 0 && __atomic_load_n(&g->page->file_steps, __ATOMIC_SEQ_CST) == *ret_step;
}

unsigned guard_living(const Guard *g) {
        return g->page ? __atomic_load_n(&g->page->living, __ATOMIC_ACQUIRE) : 0;
}

bool guard_look_begin(Guard *g) {
        uint64_t until = clock_mono_usec() + TURN_USEC;

        if (!g->page)
                return true;
        __atomic_store_n(&g->page->supervisor_looks, 1, __ATOMIC_SEQ_CST);
        while (__atomic_load_n(&g->page->guard_looks, __ATOMIC_SEQ_CST)) {
                if (clock_mono_usec() > until) {
                        guard_look_end(g);
                        return false;
                }
                usleep(TURN_USEC / 100);
        }
        return true;
}

void guard_look_end(Guard *g) {
        if (g->page)
                __atomic_store_n(&g->page->supervisor_looks, 0, __ATOMIC_SEQ_CST);
}

int guard_scrub(Guard *g) {
        g->scrub = true;
        return guard_tell(g, (GuardOrder){.kind = GUARD_SCRUB});
}

void guard_lent(Guard *g) {
        if (!g->lent)
                guard_tell(g, (GuardOrder){.kind = GUARD_LENT});
        g->lent = true;
}

int guard_pause(Guard *g, pid_t task, unsigned flags, uint32_t serial) {
        return guard_tell(g, (GuardOrder){.kind = GUARD_PAUSE, .flags = flags, .program = task, .serial = serial});
}

int guard_doom(Guard *g, uint32_t serial) {
        return guard_tell(g, (GuardOrder){.kind = GUARD_DOOM, .serial = serial});
}

int guard_resume(Guard *g, uint32_t serial) {
        return guard_tell(g, (GuardOrder){.kind = GUARD_RESUME, .serial = serial});
}

int guard_stand(Guard *g) {
        if (g->control < 0 || !g->attached)
                return GUARD_E_GONE;
        return guard_tell(g, (GuardOrder){.kind = GUARD_STAND});
}

int guard_walk(Guard *g) {
        return guard_tell(g, (GuardOrder){.kind = GUARD_WALK});
}

int guard_watch(Guard *g, uint64_t machine, uint64_t growth, uint32_t usec, unsigned flags) {
        if (g->control < 0 || !g->attached)
                return GUARD_E_GONE;
        return guard_tell(g, (GuardOrder){.kind = GUARD_WATCH, .flags = flags, .machine = machine, .growth = growth,
                                          .watch_usec = usec});
}

uint64_t guard_progress(const Guard *g) {
        const volatile GuardEvidence *e = g->page;

        if (!e)
                return 0;
        return e->processes + e->processes_missed + e->threads + e->bytes_held + e->bytes_overwritten +
               e->bytes_verified + e->files + e->scrub_usec + e->beats;
}

bool guard_stalled(Guard *g, uint64_t stall_usec) {
        uint64_t now = clock_mono_usec(), seen;

        if (g->control < 0)
                return false;
        seen = guard_progress(g);
        if (g->since == 0 || seen != g->seen) {
                g->seen = seen;
                g->since = now;
        }
        if (now - g->since <= stall_usec)
                return false;
        syscall(SYS_pidfd_send_signal, g->pidfd, SIGKILL, NULL, 0);
        guard_gone(g);
        return true;
}

static int guard_wait_for(Guard *g, const bool *what, uint64_t stall_usec) {
        g->since = 0;
        while (!*what) {
                struct pollfd p = {.fd = g->control, .events = POLLIN};
                GuardAnswer a;
                int e = guard_answer(g, &a);

                if (e == 0)
                        return GUARD_E_GONE;
                if (e != -EAGAIN)
                        continue;
                poll(&p, 1, LOOK_MS);
                if (guard_stalled(g, stall_usec))
                        return GUARD_E_GONE;
        }
        return 0;
}

int guard_wait_empty(Guard *g, uint64_t stall_usec) {
        return guard_wait_for(g, &g->empty, stall_usec);
}

int guard_wait_frozen(Guard *g, uint64_t stall_usec) {
        return guard_wait_for(g, &g->frozen, stall_usec);
}

void guard_evidence(const Guard *g, GuardEvidence *ret) {
        *ret = g->page ? *g->page : (GuardEvidence){0};
}

void guard_done(Guard *g) {
        if (g->control >= 0 && !g->done) {
                g->again = g->spawner && g->attached && g->empty;
                guard_tell(g, (GuardOrder){.kind = GUARD_DONE, .flags = g->again ? GUARD_AGAIN : 0});
        }
        g->done = true;
}

static void guard_close(Guard *g) {
        closep(&g->control);
        closep(&g->pidfd);
        if (g->page)
                munmap(g->page, sizeof(*g->page));
        *g = GUARD_NULL;
}

void guard_end(Guard *g) {
        if (!g->done || g->again) /* a guard as new has no region */
                guard_tell(g, (GuardOrder){.kind = GUARD_DONE});
        if (g->pid > 0) {
                struct pollfd p = {.fd = g->pidfd, .events = POLLIN};

                /* Open until the guard exits: closed with an unread answer, the socket would hide the order. */
                if (poll(&p, 1, EXIT_MS) == 0)
                        syscall(SYS_pidfd_send_signal, g->pidfd, SIGKILL, NULL, 0);
                child_registry_reap(g->pid);
        }
        guard_close(g);
}

void guard_deinit(Guard *g) {
        guard_done(g);
        if (g->again && g->control >= 0 && guard_pool_keep(spawner_guards(g->spawner), g)) {
                *g = GUARD_NULL;
                return;
        }
        guard_end(g);
}

void guard_leave(Guard *g) {
        child_registry_reap_later(g->pid);
        guard_close(g);
}

static int guard_read_file(int folder, const char *region, GuardEvidence *ret) {
        char name[GUARD_REGION_MAX + sizeof(GUARD_FILE)];
        _cleanup_close_ int fd = -1;
        GuardFile f;
        ssize_t n;

        snprintf(name, sizeof(name), "%s" GUARD_FILE, region);
        fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        n = read(fd, &f, sizeof(f));
        if (n < 0)
                return -errno;
        unlinkat(folder, name, 0);
        if (n != sizeof(f) || memcmp(f.magic, GUARD_FILE_MAGIC, sizeof(f.magic)) != 0 ||
            f.evidence.version != GUARD_VERSION || strnlen(f.region, sizeof(f.region)) == sizeof(f.region) ||
            strcmp(f.region, region) != 0)
                return -EBADMSG;
        *ret = f.evidence;
        return 0;
}

void guard_sweep(const char *store_dir, bool (*known)(const char *region, void *userdata), void *userdata) {
        int folder = guard_open_folder(store_dir, false);
        DIR *d = folder < 0 ? NULL : fdopendir(folder);
        struct dirent *e;

        if (!d) {
                closep(&folder);
                return;
        }
        while ((e = readdir(d))) {
                char region[GUARD_REGION_MAX];
                const char *dot = strchr(e->d_name, '.');
                size_t n = dot ? (size_t)(dot - e->d_name) : 0;

                if (n == 0 || n >= sizeof(region) || strcmp(dot, GUARD_FILE) != 0)
                        continue;
                memcpy(region, e->d_name, n);
                region[n] = 0;
                if (!known(region, userdata))
                        unlinkat(dirfd(d), e->d_name, 0);
        }
        closedir(d);
}

int guard_left(const char *store_dir, const char *region, uint64_t wait_usec, GuardEvidence *ret) {
        _cleanup_close_ int folder = guard_open_folder(store_dir, false), lock = -1;
        uint64_t until = clock_mono_usec() + wait_usec;
        struct flock l = guard_lock_of(region, F_RDLCK);

        if (folder < 0)
                return folder;
        lock = openat(folder, "lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (lock < 0)
                return -errno;
        while (fcntl(lock, F_OFD_SETLK, &l) < 0) {
                if (errno != EAGAIN && errno != EACCES)
                        return -errno;
                if (clock_mono_usec() > until)
                        return -ETIMEDOUT;
                poll(NULL, 0, 5);
        }
        return guard_read_file(folder, region, ret);
}
