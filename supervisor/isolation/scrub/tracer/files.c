/* Deleted files of the scratch: nobody finds them by name any more, so the guard keeps those that a process has open at its end, and
 * overwrites them when nobody else has them open, at the latest when the last process is gone. */
#include "scrub/tracer/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/statfs.h>
#include <unistd.h>

uint64_t files_bytes(const Guard *g) {
        struct statfs st;

        return g->tier == 2 && g->scratch >= 0 && fstatfs(g->scratch, &st) == 0 ? (uint64_t)(st.f_blocks - st.f_bfree) * (uint64_t)st.f_bsize : 0;
}

void files_count(Guard *g, const Task *t) {
        GuardEvidence *e = g->evidence;
        uint64_t bytes = g->wipe.passes == 1 ? files_bytes(g) : 0, sum = bytes + e->scratch_known + g->scratch_later;

        if (bytes > 0 && sum > e->scratch_sum && (g->frozen || g->over || !trace_others_run(g, t)))
                e->scratch_sum = sum;
}

void files_known(Guard *g, uint64_t bytes) {
        g->scratch_later += bytes;
}

bool files_settled(Guard *g) {
        if (g->scratch_later > 0 && g->n_leaving > 0)
                return false;
        g->evidence->scratch_known += g->scratch_later;
        g->scratch_later = 0;
        return true;
}

void files_account(Guard *g, uint64_t named) {
        const GuardEvidence *e = g->evidence;

        if (e->scratch_sum > e->scratch_known + named)
                count_missed(g, GUARD_MISSED_FILE, e->scratch_sum - e->scratch_known - named);
}

static uint64_t files_used(const Guard *g) {
        struct statfs st;

        return g->scratch >= 0 && fstatfs(g->scratch, &st) == 0 ? st.f_files - st.f_ffree : 0;
}

/* In tier landlock: where the folder is, as the names of open and mapped files will say. */
static void find_folder(Guard *g) {
        static char folder[4096];
        char own[64];
        ssize_t n;

        snprintf(own, sizeof(own), "/proc/self/fd/%d", g->scratch);
        n = readlink(own, folder, sizeof(folder) - 1);
        folder[n > 1 ? n : 0] = 0;
        g->scan.below = g->other.below = folder;
}

void files_start(Guard *g) {
        struct stat st;

        if (g->scratch >= 0 && fstat(g->scratch, &st) == 0)
                g->scratch_dev = st.st_dev;
        g->scratch_files = files_used(g);
        if (g->tier != 2 && g->scratch >= 0)
                find_folder(g);
}

bool files_kept(const Guard *g, dev_t dev, ino_t ino) {
        for (size_t i = 0; i < g->n_kept; i++)
                if (g->kept[i].ino == ino && g->kept[i].dev == dev)
                        return true;
        return false;
}

int files_keep_fd(Guard *g, int fd) {
        struct stat st;

        if (fstat(fd, &st) < 0) {
                int e = -errno;

                close(fd);
                return e;
        }
        if (!S_ISREG(st.st_mode) || st.st_nlink > 0 || st.st_dev != g->scratch_dev) {
                close(fd);
                return 0;
        }
        if (files_kept(g, st.st_dev, st.st_ino)) {
                close(fd);
                return 0;
        }
        if (fd >= g->fd_max) {
                close(fd);
                return -EMFILE;
        }
        if (g->n_kept == g->max_kept) {
                size_t max = g->max_kept ? g->max_kept * 2 : 16;
                SpawnCache *v = realloc(g->kept, max * sizeof(*v));

                if (!v) {
                        close(fd);
                        return -ENOMEM;
                }
                g->kept = v;
                g->max_kept = max;
        }
        g->kept[g->n_kept++] = (SpawnCache){fd, st.st_dev, st.st_ino};
        return 0;
}

/* A file of the region's, whatever mode the program gave it. One that is executed is open for writing only when its last process is gone. */
static int open_own(const char *path) {
        int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

        if (fd < 0 && errno == EACCES && chmod(path, 0600) == 0)
                fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0 && errno == ETXTBSY)
                fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        return fd < 0 ? -errno : fd;
}

static void make_writable(SpawnCache *k) {
        char link[64];
        int fd;

        if ((fcntl(k->fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
                return;
        snprintf(link, sizeof(link), "/proc/self/fd/%d", k->fd);
        fd = open(link, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0)
                return; /* each write will fail, and is counted */
        close(k->fd);
        k->fd = fd;
}

int files_below_scratch(const Guard *g, const char *link) {
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

void files_miss(Guard *g, const struct stat *st) {
        uint64_t bytes = st->st_blocks > 8 ? (uint64_t)st->st_blocks * 512 : SCAN_PAGE;

        count_missed(g, GUARD_MISSED_FILE, bytes);
        g->evidence->scratch_known += bytes;
}

void files_keep_link(Guard *g, const char *link) {
        struct stat st = {};
        int fd, below;

        if (stat(link, &st) < 0) {
                if (errno != ENOENT) /* closed since */
                        files_miss(g, &st);
                return;
        }
        if (st.st_dev != g->scratch_dev || st.st_nlink > 0 || !S_ISREG(st.st_mode) ||
            files_kept(g, st.st_dev, st.st_ino))
                return;
        below = files_below_scratch(g, link);
        if (below == 0)
                return;
        fd = below > 0 ? open_own(link) : -1;
        if (fd < 0 || files_keep_fd(g, fd) < 0)
                files_miss(g, &st);
}

bool files_any(const Guard *g) {
        return g->scratch >= 0 && (g->tier != 2 || files_used(g) > g->scratch_files);
}

/* A file system in memory numbers its inodes from 1 on, and uses no number again. Only the user who owns it can make one in it. */
bool files_ever(Guard *g) {
        struct stat st = {};
        int fd;

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
        if (fd >= 0)
                close(fd);
        return st.st_ino > g->scratch_files + ++g->scratch_probes;
}

void files_keep(Guard *g, const Task *t) {
        char path[64];
        const char *name;
        Fds fds;

        if (!files_any(g))
                return;
        if (!fds_open(&fds, t->pid)) {
                files_miss(g, &(struct stat){});
                return;
        }
        while ((name = fds_next(&fds))) {
                snprintf(path, sizeof(path), "/proc/%d/fd/%.20s", (int)t->pid, name);
                files_keep_link(g, path);
        }
        if (fds.failed)
                files_miss(g, &(struct stat){});
        fds_close(&fds);
        /* What it executes, also when nothing of that is mapped any more. */
        snprintf(path, sizeof(path), "/proc/%d/exe", (int)t->pid);
        files_keep_link(g, path);
}

/* A lease for writing is given only to who is alone with a file. */
static bool alone(int fd) {
        if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
                return false;
        fcntl(fd, F_SETLEASE, F_UNLCK);
        return true;
}

uint64_t files_overwrite(Guard *g, int fd) {
        WipeCount count = {};
        struct stat st;

        if (wipe_file(&g->wipe, fd, &count) < 0 && fstat(fd, &st) == 0)
                count.denied += (uint64_t)st.st_blocks * 512;
        g->evidence->bytes_held += count.overwritten + count.denied + count.mismatched;
        g->evidence->bytes_overwritten += count.overwritten;
        g->evidence->bytes_verified += count.overwritten;
        g->evidence->bytes_missed[GUARD_MISSED_FILE] += count.denied;
        g->evidence->bytes_missed[GUARD_MISSED_VERIFY] += count.mismatched;
        return count.overwritten;
}

static void files_step(Guard *g) {
        __atomic_fetch_add(&g->evidence->file_steps, 1, __ATOMIC_SEQ_CST);
}

/* Nobody of the region is left when all are given up: what the scratch keeps of a file then is for somebody else, who sees it overwritten. */
static void give_up(Guard *g, int fd, const struct stat *st, bool all) {
        uint64_t bytes = st->st_nlink > 0 ? 0 : (uint64_t)st->st_blocks * 512, before = all ? files_bytes(g) : 0, after;

        files_step(g);
        g->evidence->scratch_known += bytes;
        close(fd);
        files_step(g);
        after = all ? files_bytes(g) : 0;
        if (all && g->tier == 2 && before < after + bytes)
                g->evidence->file_bytes_lent += after + bytes - before;
}

void files_clear(Guard *g, bool all) {
        for (size_t i = 0; i < g->n_kept;) {
                SpawnCache *k = &g->kept[i];
                struct stat st = {};

                if (!all && !alone(k->fd)) {
                        i++;
                        continue;
                }
                if (fstat(k->fd, &st) < 0)
                        st.st_blocks = 0;
                make_writable(k);
                g->evidence->file_bytes += files_overwrite(g, k->fd);
                g->evidence->files++;
                give_up(g, k->fd, &st, all);
                *k = g->kept[--g->n_kept];
        }
}
