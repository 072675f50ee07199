/* Deleted files of the scratch have no name to find them by, so the guard keeps the ones open in a process at its
 * end. Each is overwritten when no further process has it open, at the latest when the last process is gone. */
#include "scrub/tracer/state.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/statfs.h>

int fds_reopen(int fd, int flags) {
        return open(PROC_FD(fd), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

int fds_open(pid_t pid) {
        /* open() of musl makes a second call */
        return openat(AT_FDCWD, PROC_PATH("%d/fd", pid), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

uint64_t files_bytes(const Tracer *g) {
        struct statfs st;

        return g->tier == 2 && g->scratch >= 0 && fstatfs(g->scratch, &st) == 0
                       ? (uint64_t)(st.f_blocks - st.f_bfree) * (uint64_t)st.f_bsize
                       : 0;
}

void files_count(Tracer *g, const Task *t) {
        GuardEvidence *e = g->evidence;
        uint64_t bytes = g->wipe.passes == 1 ? files_bytes(g) : 0, sum = bytes + e->scratch_known + g->scratch_later;

        if (bytes > 0 && sum > e->scratch_sum && (g->frozen || g->over || !task_others_run(g, t)))
                e->scratch_sum = sum;
}

void files_known(Tracer *g, uint64_t bytes) {
        g->scratch_later += bytes;
}

bool files_settled(Tracer *g) {
        if (g->scratch_later > 0 && g->n_leaving > 0)
                return false;
        g->evidence->scratch_known += g->scratch_later;
        g->scratch_later = 0;
        return true;
}

static uint64_t files_used(const Tracer *g) {
        struct statfs st;

        return g->scratch >= 0 && fstatfs(g->scratch, &st) == 0 ? st.f_files - st.f_ffree : 0;
}

/* In tier landlock: the path of the folder, as in the names of open and mapped files. */
static void files_find_folder(Tracer *g) {
        static char folder[4096];
        ssize_t n;

        n = readlink(PROC_FD(g->scratch), folder, sizeof(folder) - 1);
        folder[n > 1 ? n : 0] = 0;
        g->scan.below = g->other.below = folder;
}

void files_start(Tracer *g) {
        struct stat st;

        if (g->scratch >= 0 && fstat(g->scratch, &st) == 0)
                g->scratch_dev = st.st_dev;
        g->scratch_files = files_used(g);
        if (g->tier != 2 && g->scratch >= 0)
                files_find_folder(g);
}

bool files_kept(const Tracer *g, dev_t dev, ino_t ino) {
        for (size_t i = 0; i < g->n_kept; i++)
                if (g->kept[i].ino == ino && g->kept[i].dev == dev)
                        return true;
        return false;
}

int files_keep_fd(Tracer *g, int taken) {
        _autoclose_ int fd = taken;
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_nlink > 0 || st.st_dev != g->scratch_dev ||
            files_kept(g, st.st_dev, st.st_ino))
                return 0;
        if (fd >= g->fd_max)
                return -EMFILE;
        if (g->n_kept == g->max_kept && array_grow(&g->kept, &g->max_kept, 16, sizeof(*g->kept)) < 0)
                return -ENOMEM;
        g->kept[g->n_kept++] = (KeptFile){fd, st.st_dev, st.st_ino};
        fd = -1;
        return 0;
}

/* Opens a file of the region in spite of its mode. An executed file is writable only after its last process. */
static int files_open(const char *path) {
        int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

        if (fd < 0 && errno == EACCES && chmod(path, 0600) == 0)
                fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0 && errno == ETXTBSY)
                fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        return fd < 0 ? -errno : fd;
}

static void files_make_writable(KeptFile *k) {
        int fd;

        if ((fcntl(k->fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
                return;
        fd = fds_reopen(k->fd, O_RDWR);
        if (fd < 0)
                return; /* each write will fail, and is counted */
        close(k->fd);
        k->fd = fd;
}

int files_below_scratch(const Tracer *g, const char *link) {
        const char *folder = g->scan.below;
        size_t n = folder ? strlen(folder) : 0;
        char target[4096];
        ssize_t k;

        if (g->tier == 2)
                return 1;
        k = readlink(link, target, sizeof(target));
        if (k < 0 && errno == ENAMETOOLONG)
                return -1;
        return n > 0 && k > (ssize_t)n && memcmp(folder, target, n) == 0 && target[n] == '/';
}

void files_miss(Tracer *g, const struct stat *st) {
        uint64_t bytes = st->st_blocks > 8 ? (uint64_t)st->st_blocks * 512 : SCAN_PAGE;

        count_missed(g, GUARD_MISSED_FILE, bytes);
        g->evidence->scratch_known += bytes;
}

void files_keep_link(Tracer *g, const char *link) {
        struct stat st = {};
        int fd, below;

        if (stat(link, &st) < 0) {
                if (errno != ENOENT) /* ENOENT: closed since */
                        files_miss(g, &st);
                return;
        }
        if (st.st_dev != g->scratch_dev || st.st_nlink > 0 || !S_ISREG(st.st_mode) ||
            files_kept(g, st.st_dev, st.st_ino))
                return;
        below = files_below_scratch(g, link);
        if (below == 0)
                return;
        fd = below > 0 ? files_open(link) : -1;
        if (fd < 0 || files_keep_fd(g, fd) < 0)
                files_miss(g, &st);
}

bool files_any(const Tracer *g) {
        return g->scratch >= 0 && (g->tier != 2 || files_used(g) > g->scratch_files);
}

/* A file system in memory numbers its inodes from 1 on, without reuse. Only its owner can make one there. */
bool files_ever(Tracer *g) {
        _autoclose_ int fd = -1;
        struct stat st = {};

        if (g->scratch < 0 || g->tier != 2)
                return g->scratch >= 0;
        if (fstat(g->scratch, &st) == 0) {
                setfsgid(st.st_gid);
                setfsuid(st.st_uid);
        }
        fd = openat(g->scratch, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        setfsuid(geteuid());
        setfsgid(getegid());
        if (fd < 0 || fstat(fd, &st) < 0)
                st.st_ino = UINT64_MAX;
        return st.st_ino > g->scratch_files + ++g->scratch_probes;
}

void files_keep(Tracer *g, const Task *t) {
        _autoclose_ int folder = -1;
        const char *name;
        Dirents fds;

        if (!files_any(g))
                return;
        folder = fds_open(t->pid);
        if (folder < 0) {
                files_miss(g, &(struct stat){});
                return;
        }
        dirents_begin(&fds, folder);
        while ((name = dirents_next(&fds)))
                files_keep_link(g, PROC_PATH("%d/fd/%.20s", t->pid, name));
        if (fds.error < 0)
                files_miss(g, &(struct stat){});
        /* The executed file, also when no part of it is mapped any more. */
        files_keep_link(g, PROC_PATH("%d/exe", t->pid));
}

/* A write lease is given only to the sole holder of a file. */
static bool files_is_alone(int fd) {
        if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
                return false;
        fcntl(fd, F_SETLEASE, F_UNLCK);
        return true;
}

uint64_t files_overwrite(Tracer *g, int fd) {
        WipeCount count = {};
        struct stat st;

        if (wipe_file(&g->wipe, fd, &count) < 0 && fstat(fd, &st) == 0)
                count.denied += (uint64_t)st.st_blocks * 512;
        count_wiped(g, &count, GUARD_MISSED_FILE);
        return count.overwritten;
}

static void files_step(Tracer *g) {
        __atomic_fetch_add(&g->evidence->file_steps, 1, __ATOMIC_SEQ_CST);
}

/* When all are given up, the region is gone: blocks that stay in the scratch are lent to a holder outside. */
static void files_give_up(Tracer *g, int fd, const struct stat *st, bool all) {
        uint64_t bytes = st->st_nlink > 0 ? 0 : (uint64_t)st->st_blocks * 512, before = all ? files_bytes(g) : 0, after;

        files_step(g);
        g->evidence->scratch_known += bytes;
        close(fd);
        files_step(g);
        after = all ? files_bytes(g) : 0;
        if (all && g->tier == 2 && before < after + bytes)
                g->evidence->file_bytes_lent += after + bytes - before;
}

void files_clear(Tracer *g, bool all) {
        for (size_t i = 0; i < g->n_kept;) {
                KeptFile *k = &g->kept[i];
                struct stat st = {};

                if (!all && !files_is_alone(k->fd)) {
                        i++;
                        continue;
                }
                if (fstat(k->fd, &st) < 0)
                        st.st_blocks = 0;
                files_make_writable(k);
                g->evidence->file_bytes += files_overwrite(g, k->fd);
                g->evidence->files++;
                files_give_up(g, k->fd, &st, all);
                *k = g->kept[--g->n_kept];
        }
}
