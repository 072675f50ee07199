#include "store/write-lock.h"
#include "base/clock.h"
#include "base/dirents.h"
#include "base/log.h"
#include "base/proc.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define GATE_FILE "run/gate"
#define GATE_NEW GATE_FILE ".new."
#define GATE_MAGIC 0x6C65746867617432U
#define GATE_BYTES 4096
#define GATE_STEP_USEC 50000U      /* between two looks at other reasons to end the wait */
#define GATE_HURRY_USEC 2000000U
#define GATE_TRIES 100

struct GatePage {
        uint64_t magic;
        char boot[40];
        uint64_t device, inode;
        pthread_mutex_t mutex;
        _Atomic int pid;        /* the holder; 0: none, or not yet set */
        _Atomic uint64_t since; /* CLOCK_REALTIME usec */
        char command[64];       /* of the holder, by store_set_command() */
        char comm[16];          /* of the holder, for any name of the program */
        GateLeft left;          /* older gates have zeros here */
};
static_assert(sizeof(GatePage) <= GATE_BYTES, "one page");

unsigned gate_stopped_usec = 30000000;

static char gate_command[sizeof(((GatePage *)NULL)->command)];
static _Thread_local int gate_stop_fd = -1;
static _Thread_local bool gate_in_hurry;
static _Thread_local char gate_words[320];

void store_set_command(const char *command) {
        snprintf(gate_command, sizeof(gate_command), "%s", command);
}

void store_stop_at(int fd) {
        gate_stop_fd = fd;
        gate_in_hurry = false;
}

void store_hurry(void) {
        gate_in_hurry = true;
}

const char *gate_why(void) {
        return gate_words;
}

static bool gate_is_signalled(void) {
        struct pollfd stop = {.fd = gate_stop_fd, .events = POLLIN};

        return gate_stop_fd >= 0 && poll(&stop, 1, 0) > 0 && stop.revents & POLLIN;
}

bool gate_wait_is_over(uint64_t waited_usec) {
        return gate_is_signalled() || (gate_in_hurry && waited_usec >= GATE_HURRY_USEC);
}

static bool gate_identity(int fd, GatePage *ret) {
        struct stat st;

        *ret = (GatePage){.magic = GATE_MAGIC};
        snprintf(ret->boot, sizeof(ret->boot), "%s", proc_boot_id());
        if (!*ret->boot || fstat(fd, &st) < 0)
                return false;
        ret->device = st.st_dev;
        ret->inode = st.st_ino;
        return true;
}

/* Writes the whole page: a full disk may have no block for a hole. */
static int gate_fill(int fd) {
        const size_t whole = offsetof(GatePage, mutex);
        uint8_t bytes[GATE_BYTES] = {0};
        GatePage p;
        pthread_mutexattr_t a;

        if (!gate_identity(fd, &p))
                return -ENOTSUP;
        pthread_mutexattr_init(&a);
        pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&p.mutex, &a);
        pthread_mutexattr_destroy(&a);
        memcpy(bytes, &p, sizeof(p));
        if (pwrite(fd, bytes + whole, sizeof(bytes) - whole, (off_t)whole) != (ssize_t)(sizeof(bytes) - whole))
                return -ENOSPC;
        return pwrite(fd, bytes, whole, 0) == (ssize_t)whole ? 0 : -ENOSPC; /* last: a reader never takes half a page */
}

/* Root may be the first writer of another user's store: the owner needs the file later. */
static void gate_give(int dir_fd, int fd) {
        struct stat ours, folder;

        if (fstat(fd, &ours) == 0 && fstatat(dir_fd, "run", &folder, AT_SYMLINK_NOFOLLOW) == 0 &&
            ours.st_uid != folder.st_uid && fchown(fd, folder.st_uid, folder.st_gid) < 0)
                log_debug(GATE_FILE " cannot be given to the owner of the folder: %s", strerror(errno));
}

/* Makes the file under a temporary name first: the file appears whole. */
static int gate_make(int dir_fd, bool replaces) {
        _cleanup_close_ int fd = -1;
        char name[64];
        uint64_t rnd;
        int r;

        if (getrandom(&rnd, sizeof(rnd), 0) != (ssize_t)sizeof(rnd))
                return -EIO;
        if (mkdirat(dir_fd, "run", 0700) < 0 && errno != EEXIST)
                return -errno;
        snprintf(name, sizeof(name), GATE_NEW "%016llx", (unsigned long long)rnd);
        fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        r = gate_fill(fd);
        if (r == 0)
                gate_give(dir_fd, fd);
        if (r == 0 && replaces && renameat(dir_fd, name, dir_fd, GATE_FILE) == 0)
                return 0;
        if (r == 0 && (replaces || (linkat(dir_fd, name, dir_fd, GATE_FILE, 0) < 0 && errno != EEXIST)))
                r = -errno;
        unlinkat(dir_fd, name, 0);
        return r;
}

static bool gate_is_named(int dir_fd, int fd) {
        struct stat a, b;

        return fstat(fd, &a) == 0 && fstatat(dir_fd, GATE_FILE, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_ino == b.st_ino &&
               a.st_dev == b.st_dev;
}

/* Removes files of killed makers: a file beside run/gate never gets the name. */
static void gate_sweep(int dir_fd) {
        _cleanup_closedir_ DIR *d = opendirat(dir_fd, "run");
        const char *prefix = strchr(GATE_NEW, '/') + 1;
        struct dirent *e;

        while (d && (e = readdir(d)))
                if (strncmp(e->d_name, prefix, strlen(prefix)) == 0)
                        unlinkat(dirfd(d), e->d_name, 0);
}

/* Returns 1 with the lock; 0: another process replaces the file, look again. */
static int gate_lock(int fd) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
                return 1;
        return errno == EWOULDBLOCK ? (poll(NULL, 0, 1), 0) : -errno;
}

/* Replaces the file, under its lock: one process at a time. A file of another boot or folder has no users: on a full
 * disk its block is used again. Returns 0 to look again. */
static int gate_replace(int dir_fd, int fd) {
        int r = gate_lock(fd);

        if (r <= 0 || !gate_is_named(dir_fd, fd))
                return MIN(r, 0);
        gate_sweep(dir_fd);
        r = gate_make(dir_fd, true);
        return r == -ENOSPC || r == -EDQUOT ? gate_fill(fd) : r;
}

/* The name belongs to a link, a socket or a folder: removed. Returns 0 to look again. */
static int gate_clear(int dir_fd) {
        _cleanup_close_ int run = openat(dir_fd, "run", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int r = run < 0 ? -errno : gate_lock(run);
        struct stat st;

        if (r <= 0 || fstatat(dir_fd, GATE_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISREG(st.st_mode))
                return MIN(r, 0);
        return unlinkat(dir_fd, GATE_FILE, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) < 0 ? -errno : 0;
}

/* Returns a descriptor of a valid file, or -errno. */
static int gate_open(int dir_fd) {
        int r = 0;

        for (int tries = 0; r == 0 && tries < GATE_TRIES; tries++) {
                _cleanup_close_ int fd = openat(dir_fd, GATE_FILE, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
                uint8_t bytes[GATE_BYTES];
                GatePage want;

                if (fd < 0) {
                        r = errno == ENOENT                                       ? gate_make(dir_fd, false)
                            : errno == ELOOP || errno == ENXIO || errno == EISDIR ? gate_clear(dir_fd)
                                                                                  : -errno;
                        continue;
                }
                if (!gate_identity(fd, &want))
                        return -ENOTSUP;
                if (pread(fd, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes) &&
                    memcmp(bytes, &want, offsetof(GatePage, mutex)) == 0)
                        return TAKE_FD(fd);
                r = gate_replace(dir_fd, fd);
        }
        return r < 0 ? r : -EBUSY;
}

/* Maps the gate. Without a gate, writes go on, and the next write tries again. */
static void gate_map(Gate *g, int dir_fd) {
        _cleanup_close_ int fd = gate_open(dir_fd);
        void *p = fd < 0 ? MAP_FAILED : mmap(NULL, GATE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        g->page = p == MAP_FAILED ? NULL : p;
        prctl(PR_GET_NAME, g->comm, 0, 0, 0); /* threads have the name of their process */
}

/* The state letter of /proc/PID/stat; 0: not visible. */
static char gate_state_of(const GatePage *p, int pid) {
        char path[40], comm[32];
        uint64_t state;

        snprintf(path, sizeof(path), "/proc/%d/comm", pid);
        if (pid <= 0 || proc_read(path, comm, sizeof(comm)) == 0)
                return 0;
        comm[strcspn(comm, "\n")] = 0;
        /* The number may belong to another PID namespace. */
        if ((*p->comm && strncmp(comm, p->comm, sizeof(p->comm)) != 0) || !proc_stat(pid, &state, 1))
                return 0;
        return (char)state;
}

/* Before pid is set, the robust futex has the thread's number (get_robust_list(2)). */
static int gate_holder(const GatePage *p) {
        int pid = atomic_load(&p->pid);

        return pid > 0 ? pid : (int)((unsigned)p->mutex.__data.__lock & FUTEX_TID_MASK);
}

static void gate_describe(const GatePage *p, char *out, size_t n) {
        int pid = gate_holder(p);
        char state = gate_state_of(p, pid), command[sizeof(p->command)], at[24] = "";
        uint64_t since = atomic_load(&p->since), now = clock_real_usec();
        time_t sec = (time_t)(since / 1000000);
        struct tm tm;

        memcpy(command, p->command, sizeof(command));
        command[sizeof(command) - 1] = 0;
        if (pid <= 0 || !localtime_r(&sec, &tm) || strftime(at, sizeof(at), "%H:%M:%S", &tm) == 0)
                snprintf(out, n, "another process");
        else
                snprintf(out, n, "process %d (%s)%s, which has been writing since %s (%llu s)%s", pid, command,
                         state == 0 ? " of another PID namespace" : "", at,
                         (unsigned long long)(now > since ? (now - since) / 1000000 : 0),
                         state == 'T' || state == 't' ? " and is stopped" : "");
}

typedef struct GateWait {
        uint64_t began; /* CLOCK_MONOTONIC usec, as all here */
        int pid; /* the last seen holder, and its start */
        uint64_t since;
        uint64_t stands; /* start of the holder's stop; 0: the holder works */
        bool said;
} GateWait;

/* True when the same holder has been stopped or invisible for long enough. */
static bool gate_is_stuck(Gate *g, GateWait *w, uint64_t now) {
        int pid = gate_holder(g->page);
        uint64_t since = atomic_load(&g->page->since);
        bool known = pid > 0 && pid == g->stuck_pid && since == g->stuck_since;
        char state = 'R';

        if (pid > 0 && (known || now - w->began >= GATE_SAY_USEC))
                state = gate_state_of(g->page, pid);
        if ((state != 0 && state != 'T' && state != 't') || pid != w->pid || since != w->since)
                w->stands = 0;
        w->pid = pid;
        w->since = since;
        if (state != 0 && state != 'T' && state != 't')
                return false;
        w->stands = w->stands ? w->stands : now;
        if (!known && now - w->stands < gate_stopped_usec)
                return false;
        g->stuck_pid = pid;
        g->stuck_since = since;
        return true;
}

/* Checks for other ends of the wait. */
static int gate_look(Gate *g, const char *dir, GateWait *w, uint64_t now) {
        const uint64_t waited = now - w->began;
        char who[200];
        int r = 0;

        if (gate_is_signalled())
                r = -ECANCELED;
        else if (((gate_in_hurry || atomic_load(&g->hurry)) && waited >= GATE_HURRY_USEC) || gate_is_stuck(g, w, now))
                r = -ETIME;
        if (r == 0 && (w->said || waited < GATE_SAY_USEC))
                return 0;
        gate_describe(g->page, who, sizeof(who));
        if (r == 0) {
                w->said = true;
                log_warning("store %s: waiting for %s", dir, who);
                return 0;
        }
        snprintf(gate_words, sizeof(gate_words), "%s %s",
                 r == -ECANCELED ? "a signal ended the wait for" : "waited too long for", who);
        return r;
}

static void gate_taken(const Gate *g, int pid) {
        GatePage *p = g->page;

        atomic_store(&p->since, clock_real_usec());
        atomic_store(&p->pid, pid);
        memcpy(p->comm, g->comm, sizeof(p->comm));
        snprintf(p->command, sizeof(p->command), "%s", *gate_command ? gate_command : program_invocation_short_name);
}

int gate_take(Gate *g, int dir_fd, const char *dir) {
        const int pid = getpid(); /* no system call between the lock and gate_taken() */
        GateWait w = {};
        int e, r;

        if (!g->page && !g->none)
                gate_map(g, dir_fd);
        if (!g->page)
                return 0;
        for (e = pthread_mutex_trylock(&g->page->mutex); e == EBUSY || e == ETIMEDOUT;) {
                uint64_t now = clock_mono_usec(), until = now + GATE_STEP_USEC;
                const struct timespec at = clock_timespec(until);

                w.began = w.began ? w.began : now;
                r = gate_look(g, dir, &w, now);
                if (r < 0)
                        return r;
                e = pthread_mutex_clocklock(&g->page->mutex, CLOCK_MONOTONIC, &at);
        }
        if (e == EOWNERDEAD)
                e = pthread_mutex_consistent(&g->page->mutex);
        if (e != 0) { /* not recoverable */
                g->none = true;
                gate_deinit(g);
                return 0;
        }
        gate_taken(g, pid);
        if (w.said)
                log_note("store %s: the wait is over", dir);
        return 0;
}

void gate_leave(Gate *g) {
        if (!g->page)
                return;
        atomic_store(&g->page->pid, 0);
        pthread_mutex_unlock(&g->page->mutex);
}

GateLeft *gate_left(const Gate *g) {
        return g->page ? &g->page->left : NULL;
}

void gate_deinit(Gate *g) {
        if (g->page)
                munmap(g->page, GATE_BYTES);
        g->page = NULL;
}
