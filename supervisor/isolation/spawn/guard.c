#include "spawn/guard.h"

#include "base/clock.h"
#include "base/io.h"
#include "spawn/clone.h"
#include "spawn/find.h"
#include "base/left.h"
#include "base/child-registry.h"
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
#include <sys/wait.h>

#define FOLDER "guard"
#define EXIT_MS 5000
#define TURN_USEC 5000 /* for a guard to come to the end of a look */
#define LOOK_MS 200 /* how often progress is looked for while nothing is said */

static int execute(Guard *g, const int *fds, Diag *reterr) {
        _cleanup_close_ int exe = -1;
        _cleanup_free_ char *path = NULL;
        CloneExec c = {.name = "lethe-guard", .fds = fds, .n_fds = GUARD_FD_EVIDENCE + 1};
        pid_t pid;

        exe = find_program("lethe-guard", &path);
        if (exe < 0 && !find_is_missing(exe))
                return exe;
        if (exe < 0)
                return diag(reterr, GUARD_E_START, "lethe-guard, which overwrites a region's memory at its end, is not beside lethe and not at %s; fix: "
                                                   "install it there", path ?: "its place");
        c.exec_fd = exe;
        pid = clone_exec(&c, 0, -1, &g->pidfd);
        if (pid < 0)
                return diag(reterr, GUARD_E_START, "lethe-guard cannot be started: %s: %s", c.what, strerror(-pid));
        g->pid = pid;
        return 0;
}

static int start(Guard *g, Spawner *spawner, Diag *reterr) {
        _cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC), page = memfd_create("lethe-evidence", MFD_CLOEXEC), theirs = -1;
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
        return execute(g, fds, reterr);
}

int guard_start(Guard *ret, Spawner *spawner, Diag *reterr) {
        left_reap();
        Guard g = GUARD_NULL;
        int e;

        if (spawner && spawner_take_guard(spawner, ret))
                return 0;
        e = start(&g, spawner, reterr);
        g.spawner = spawner;
        if (e == 0)
                *ret = g;
        else
                guard_deinit(&g);
        return e;
}

/* The byte of the lock file that stands for a region: two that meet in one only wait for each other. */
static off_t lock_byte(const char *region) {
        uint64_t h = 0xcbf29ce484222325ULL; /* FNV-1a */

        for (; *region; region++)
                h = (h ^ (uint8_t)*region) * 0x100000001b3ULL;
        return (off_t)(h >> 2);
}

static struct flock lock_of(const char *region, short type) {
        return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = lock_byte(region), .l_len = 1};
}

/* Returns a descriptor or -errno. */
static int open_folder(const char *store_dir, bool make) {
        char path[PATH_MAX];
        int fd;

        if (snprintf(path, sizeof(path), "%s/" FOLDER, store_dir) >= (int)sizeof(path))
                return -ENAMETOOLONG;
        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT && make && (mkdir(path, 0700) == 0 || errno == EEXIST))
                fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

static int gone(Guard *g) {
        closep(&g->control);
        return GUARD_E_GONE;
}

static int order(Guard *g, const GuardOrder *o, const int *fds, size_t n_fds) {
        int e = g->control < 0 ? -EPIPE : io_send_fds(g->control, o, sizeof(*o), fds, n_fds);

        return e == -EPIPE ? gone(g) : e;
}

int guard_attach(Guard *g, const GuardOrder *o, const char *store_dir, int spec, int scratch, Diag *reterr) {
        _cleanup_close_ int folder = open_folder(store_dir, true), lock = -1;
        struct flock l = lock_of(o->region, F_WRLCK);
        int e;

        if (folder < 0)
                return diag(reterr, folder, "folder \"" FOLDER "\" of the store: %s", strerror(-folder));
        lock = openat(folder, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (lock < 0 || fcntl(lock, F_OFD_SETLK, &l) < 0)
                return diag(reterr, -errno, "the guard's lock in the store: %s", strerror(errno));
        e = order(g, o, (const int[]){lock, folder, spec, scratch}, scratch < 0 ? GUARD_ATTACH_SCRATCH : GUARD_ATTACH_FDS);
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
        do
                n = recv(g->control, ret, sizeof(*ret), MSG_DONTWAIT);
        while (n < 0 && errno == EINTR);
        if (n < 0 && errno == EAGAIN)
                return -EAGAIN;
        if (n <= 0) {
                gone(g);
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

        if (error == EPERM || error == EACCES)
                fix = "; fix: let processes be traced (in a container: a seccomp profile that allows ptrace and process_vm_writev; where "
                      "/proc/sys/kernel/yama/ptrace_scope is 2 or 3: a lower one), or run a skill that the policy trusts with --discipline none";
        return diag(reterr, GUARD_E_START, "the region's memory could not be overwritten at its end: lethe-guard cannot trace the program: %s%s",
                    strerror(error), fix);
}

int guard_freeze(Guard *g) {
        return order(g, &(GuardOrder){.version = GUARD_VERSION, .kind = GUARD_FREEZE}, NULL, 0);
}

int guard_freeze_at_once(Guard *g) {
        g->scrub = true;
        return order(g, &(GuardOrder){.version = GUARD_VERSION, .kind = GUARD_FREEZE, .flags = GUARD_AT_ONCE}, NULL, 0);
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
        return order(g, &(GuardOrder){.version = GUARD_VERSION, .kind = GUARD_SCRUB}, NULL, 0);
}

void guard_lent(Guard *g) {
        if (!g->lent)
                order(g, &(GuardOrder){.version = GUARD_VERSION, .kind = GUARD_LENT}, NULL, 0);
        g->lent = true;
}

int guard_pause(Guard *g, pid_t task, unsigned flags, uint32_t serial) {
        return order(g, &(GuardOrder){.version = GUARD_VERSION, .kind = GUARD_PAUSE, .flags = flags, .program = task,
                                      .serial = serial}, NULL, 0);
}

int guard_doom(Guard *g, uint32_t serial) {
        return order(g, &(GuardOrder){.version = GUARD_VERSION, .kind = GUARD_DOOM, .serial = serial}, NULL, 0);
}

int guard_resume(Guard *g, uint32_t serial) {
        return order(g, &(GuardOrder){.version = GUARD_VERSION, .kind = GUARD_RESUME, .serial = serial}, NULL, 0);
}

int guard_stand(Guard *g) {
        if (g->control < 0 || !g->attached)
                return GUARD_E_GONE;
        return order(g, &(GuardOrder){.version = GUARD_VERSION, .kind = GUARD_STAND}, NULL, 0);
}

int guard_walk(Guard *g) {
        return order(g, &(GuardOrder){.version = GUARD_VERSION, .kind = GUARD_WALK}, NULL, 0);
}

int guard_watch(Guard *g, uint64_t machine, uint64_t growth, uint32_t usec, unsigned flags) {
        if (g->control < 0 || !g->attached)
                return GUARD_E_GONE;
        return order(g, &(GuardOrder){.version = GUARD_VERSION, .kind = GUARD_WATCH, .flags = flags, .machine = machine, .growth = growth,
                                      .watch_usec = usec}, NULL, 0);
}

uint64_t guard_progress(const Guard *g) {
        const volatile GuardEvidence *e = g->page;

        if (!e)
                return 0;
        return e->processes + e->processes_missed + e->threads + e->bytes_held + e->bytes_overwritten + e->bytes_verified + e->files + e->scrub_usec + e->beats;
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
        gone(g);
        return true;
}

static int wait_for(Guard *g, const bool *what, uint64_t stall_usec) {
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
        return wait_for(g, &g->empty, stall_usec);
}

int guard_wait_frozen(Guard *g, uint64_t stall_usec) {
        return wait_for(g, &g->frozen, stall_usec);
}

void guard_evidence(const Guard *g, GuardEvidence *ret) {
        *ret = g->page ? *g->page : (GuardEvidence){0};
}

void guard_done(Guard *g) {
        if (g->control >= 0 && !g->done) {
                g->again = g->spawner && g->attached && g->empty;
                order(g, &(GuardOrder){.version = GUARD_VERSION, .kind = GUARD_DONE, .flags = g->again ? GUARD_AGAIN : 0}, NULL, 0);
        }
        g->done = true;
}

void guard_deinit(Guard *g) {
        guard_done(g);
        if (g->again && g->control >= 0 && spawner_keep_guard(g->spawner, g)) {
                *g = GUARD_NULL;
                return;
        }
        guard_end(g);
}

void guard_end(Guard *g) {
        if (!g->done || g->again) /* as new, it serves nobody */
                order(g, &(GuardOrder){.version = GUARD_VERSION, .kind = GUARD_DONE}, NULL, 0);
        if (g->pid > 0) {
                struct pollfd p = {.fd = g->pidfd, .events = POLLIN};

                /* The socket stays open until then: closing it with an answer unread would look like our death, and hide the order. */
                if (poll(&p, 1, EXIT_MS) == 0)
                        syscall(SYS_pidfd_send_signal, g->pidfd, SIGKILL, NULL, 0);
                while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
                        ;
                child_registry_forget(g->pid);
        }
        closep(&g->control);
        closep(&g->pidfd);
        if (g->page)
                munmap(g->page, sizeof(*g->page));
        *g = GUARD_NULL;
}

void guard_leave(Guard *g) {
        left_add(g->pid);
        closep(&g->control);
        closep(&g->pidfd);
        if (g->page)
                munmap(g->page, sizeof(*g->page));
        *g = GUARD_NULL;
}

static int read_file(int folder, const char *region, GuardEvidence *ret) {
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
        if (n != sizeof(f) || memcmp(f.magic, GUARD_FILE_MAGIC, sizeof(f.magic)) != 0 || f.evidence.version != GUARD_VERSION ||
            strnlen(f.region, sizeof(f.region)) == sizeof(f.region) || strcmp(f.region, region) != 0)
                return -EBADMSG;
        *ret = f.evidence;
        return 0;
}

void guard_sweep(const char *store_dir, bool (*known)(const char *region, void *userdata), void *userdata) {
        int folder = open_folder(store_dir, false);
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
        _cleanup_close_ int folder = open_folder(store_dir, false), lock = -1;
        uint64_t until = clock_mono_usec() + wait_usec;
        struct flock l = lock_of(region, F_RDLCK);

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
        return read_file(folder, region, ret);
}
