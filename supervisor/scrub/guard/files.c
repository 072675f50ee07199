/* Deleted files of the scratch: nobody finds them by name any more, so the guard keeps those that a process has open at its end, and
 * overwrites them when nobody else has them open, at the latest when the last process is gone. */
#include "scrub/guard/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

static uint64_t files_used(const Guard *g) {
        struct statfs st;

        return g->scratch >= 0 && fstatfs(g->scratch, &st) == 0 ? st.f_files - st.f_ffree : 0;
}

void files_start(Guard *g) {
        struct stat st;

        if (g->scratch >= 0 && fstat(g->scratch, &st) == 0)
                g->scratch_dev = st.st_dev;
        g->scratch_files = files_used(g);
}

bool files_kept(const Guard *g, dev_t dev, ino_t ino) {
        for (size_t i = 0; i < g->n_kept; i++)
                if (g->kept[i].ino == ino && g->kept[i].dev == dev)
                        return true;
        return false;
}

int files_keep_fd(Guard *g, int fd) {
        struct stat st;

        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink > 0 || st.st_dev != g->scratch_dev) {
                close(fd);
                return 0;
        }
        if (files_kept(g, st.st_dev, st.st_ino)) {
                close(fd);
                return 0;
        }
        if (g->n_kept == g->max_kept) {
                size_t max = g->max_kept ? g->max_kept * 2 : 16;
                Kept *v = realloc(g->kept, max * sizeof(*v));

                if (!v) {
                        close(fd);
                        return -ENOMEM;
                }
                g->kept = v;
                g->max_kept = max;
        }
        g->kept[g->n_kept++] = (Kept){fd, st.st_dev, st.st_ino};
        return 0;
}

/* A file of the region's, whatever mode the program gave it. */
static int open_writable(const char *path) {
        int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

        if (fd < 0 && errno == EACCES && chmod(path, 0600) == 0)
                fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        return fd < 0 ? -errno : fd;
}

/* In tier namespaces the scratch is a file system of its own, and whatever is on it is the region's. Else it is a folder of the host's. */
static bool below_scratch(const Guard *g, const char *link) {
        char own[64], folder[4096], target[4096];
        ssize_t n, k;

        if (g->tier == 2)
                return true;
        snprintf(own, sizeof(own), "/proc/self/fd/%d", g->scratch);
        n = readlink(own, folder, sizeof(folder));
        k = readlink(link, target, sizeof(target));
        return n > 1 && n < (ssize_t)sizeof(folder) && k > n && memcmp(folder, target, (size_t)n) == 0 && target[n] == '/';
}

static void keep_link(Guard *g, const char *link) {
        struct stat st;
        int fd;

        if (stat(link, &st) < 0 || st.st_dev != g->scratch_dev || st.st_nlink > 0 || !S_ISREG(st.st_mode) || !below_scratch(g, link))
                return;
        if (files_kept(g, st.st_dev, st.st_ino))
                return;
        fd = open_writable(link);
        if (fd < 0 || files_keep_fd(g, fd) < 0) {
                uint64_t bytes = (uint64_t)st.st_blocks * 512;

                g->evidence->bytes_held += bytes;
                g->evidence->bytes_missed[GUARD_MISSED_FILE] += bytes;
        }
}

void files_keep(Guard *g, const Task *t) {
        char path[64];
        struct dirent *d;
        DIR *folder;

        if (g->scratch < 0 || (g->tier == 2 && files_used(g) <= g->scratch_files))
                return;
        snprintf(path, sizeof(path), "/proc/%d/fd", (int)t->pid);
        folder = opendir(path);
        while (folder && (d = readdir(folder)))
                if (d->d_name[0] != '.') {
                        snprintf(path, sizeof(path), "/proc/%d/fd/%.20s", (int)t->pid, d->d_name);
                        keep_link(g, path);
                }
        if (folder)
                closedir(folder);
}

/* A lease for writing is given only to who is alone with a file. */
static bool alone(int fd) {
        if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
                return false;
        fcntl(fd, F_SETLEASE, F_UNLCK);
        return true;
}

static uint64_t clear_file(Guard *g, int fd) {
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

void files_clear(Guard *g, bool all) {
        for (size_t i = 0; i < g->n_kept;) {
                Kept *k = &g->kept[i];

                if (!all && !alone(k->fd)) {
                        i++;
                        continue;
                }
                g->evidence->file_bytes += clear_file(g, k->fd);
                g->evidence->files++;
                close(k->fd);
                *k = g->kept[--g->n_kept];
        }
}

static void clear_entry(Guard *g, int folder, const char *name);

static void clear_folder(Guard *g, int fd) {
        DIR *folder = fdopendir(fd);
        struct dirent *d;

        if (!folder)
                close(fd);
        while (folder && (d = readdir(folder)))
                if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
                        clear_entry(g, dirfd(folder), d->d_name);
        if (folder)
                closedir(folder);
}

static int open_entry(int folder, const char *name, int flags, mode_t mode) {
        int fd = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

        if (fd < 0 && errno == EACCES && fchmodat(folder, name, mode, 0) == 0)
                fd = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        return fd;
}

static void clear_entry(Guard *g, int folder, const char *name) {
        struct stat st;
        int fd = -1;

        if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != g->scratch_dev)
                return;
        if (S_ISDIR(st.st_mode)) {
                fd = open_entry(folder, name, O_RDONLY | O_DIRECTORY, 0700);
                if (fd >= 0) {
                        clear_folder(g, fd);
                        return;
                }
        } else if (S_ISREG(st.st_mode))
                fd = open_entry(folder, name, O_RDWR, 0600);
        else
                return;
        if (fd >= 0) {
                g->evidence->scratch_bytes += clear_file(g, fd);
                g->evidence->scratch_files++;
                close(fd);
        } else {
                uint64_t bytes = (uint64_t)st.st_blocks * 512;

                g->evidence->bytes_held += bytes;
                g->evidence->bytes_missed[GUARD_MISSED_FILE] += bytes;
        }
}

void files_clear_scratch(Guard *g) {
        int fd = g->scratch >= 0 ? openat(g->scratch, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

        if (fd >= 0)
                clear_folder(g, fd);
}
