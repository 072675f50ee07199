#include "base/mounts.h"

#include "base/io.h"
#include "base/lock.h"
#include "base/proc-path.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define LIST_MAX (16 * 1024 * 1024)

static atomic_uint changes; /* 0: no watcher */
static atomic_uint_fast64_t unknown;
static struct {
        pthread_mutex_t lock;
        char *list; /* owned */
        unsigned at; /* value of `changes` before the list was read */
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

void mounts_changed(void) {
        if (atomic_fetch_add(&changes, 1) + 1 == 0)
                atomic_store(&changes, 1);
}

/* With the lock held. */
static const char *mounts_list(void) {
        unsigned now = atomic_load(&changes);
        size_t n;

        if (kept.list && now != 0 && now == kept.at)
                return kept.list;
        free(TAKE_PTR(kept.list));
        if (io_read_file(AT_FDCWD, "/proc/self/mountinfo", LIST_MAX, &kept.list, &n) < 0)
                kept.list = NULL;
        kept.at = now;
        return kept.list;
}

/* The place is the fifth field; octal escapes stand for space, tab, newline and backslash. */
char mounts_after(const char *line, const char *path) {
        for (int i = 0; i < 4; i++) {
                line += strcspn(line, " \n");
                line += *line == ' ';
        }
        for (; *path; path++) {
                char c = *line++;

                if (c == '\\' && line[0] >= '0' && line[0] <= '3' && line[1] >= '0' && line[1] <= '7' &&
                    line[2] >= '0' && line[2] <= '7') {
                        c = (char)((line[0] - '0') << 6 | (line[1] - '0') << 3 | (line[2] - '0'));
                        line += 3;
                }
                if (c != *path)
                        return 0;
        }
        return *line;
}

static bool mounts_is_below(const char *line, const char *path) {
        char after = mounts_after(line, path);

        return path[1] ? after == '/' : after && after != ' '; /* below "/": all mounts but the root itself */
}

uint64_t mounts_below(const char *path) {
        crypto_generichash_state h;
        uint64_t digest = 0;
        bool any = false;
        const char *p;

        pthread_mutex_lock(&kept.lock);
        p = mounts_list();
        if (!p)
                digest = 1 | (uint64_t)atomic_fetch_add(&unknown, 1) << 1;
        crypto_generichash_init(&h, NULL, 0, crypto_generichash_BYTES_MIN);
        while (p && *p) {
                size_t n = strcspn(p, "\n");

                if (mounts_is_below(p, path)) {
                        crypto_generichash_update(&h, (const uint8_t *)p, n + 1);
                        any = true;
                }
                p += n + (p[n] == '\n');
        }
        pthread_mutex_unlock(&kept.lock);
        if (any) {
                uint8_t out[crypto_generichash_BYTES_MIN];

                crypto_generichash_final(&h, out, sizeof(out));
                memcpy(&digest, out, sizeof(digest));
                digest |= digest == 0;
        }
        return digest;
}

/* The type stands behind " - " (proc_pid_mountinfo(5)). */
bool mounts_has_type(const char *line, const char *const *types, size_t n, bool untyped) {
        const char *type = memmem(line, strcspn(line, "\n"), " - ", 3);
        bool has = !type && untyped;

        for (size_t i = 0; type && i < n; i++)
                has |= strncmp(type + 3, types[i], strlen(types[i])) == 0 && strchr(" .", type[3 + strlen(types[i])]);
        return has;
}

static bool mounts_is_served(const char *line) {
        static const char *const types[] = {"fuse", "fuseblk", "virtiofs", "nfs", "nfs4", "cifs", "smb3",
                                            "9p",   "ceph",    "afs",      "autofs", "lustre", "ocfs2", "gfs2"};

        return mounts_has_type(line, types, ARRAY_SIZE(types), true);
}

static MountKind mounts_kind_in(const char *p, uint64_t number) {
        for (; p && *p; p += strcspn(p, "\n"), p += *p == '\n')
                if (strtoull(p, NULL, 10) == number)
                        return mounts_is_served(p) ? MOUNT_SERVED : MOUNT_LOCAL;
        return MOUNT_UNKNOWN;
}

MountKind mounts_kind(uint64_t number) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&kept.lock);

        return mounts_kind_in(mounts_list(), number);
}

MountKind mounts_kind_of_device(unsigned major, unsigned minor) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&kept.lock);

        for (const char *p = mounts_list(); p && *p; p += strcspn(p, "\n"), p += *p == '\n') {
                unsigned at[2];

                if (sscanf(p, "%*u %*u %u:%u", &at[0], &at[1]) == 2 && at[0] == major && at[1] == minor)
                        return mounts_is_served(p) ? MOUNT_SERVED : MOUNT_LOCAL;
        }
        return MOUNT_UNKNOWN;
}

MountKind mounts_kind_of(pid_t pid, uint64_t number) {
        static const char *const layered[] = {"overlay"};
        _cleanup_free_ char *text = NULL;
        MountKind kind;
        size_t n;

        if (io_read_file(AT_FDCWD, PROC_PATH("%d/mountinfo", pid), LIST_MAX, &text, &n) < 0)
                return MOUNT_UNKNOWN;
        kind = mounts_kind_in(text, number);
        for (const char *p = text; kind == MOUNT_LOCAL && *p; p += strcspn(p, "\n"), p += *p == '\n')
                if (strtoull(p, NULL, 10) == number)
                        return mounts_has_type(p, layered, 1, false) ? MOUNT_LAYERED : kind;
        return kind;
}

bool mounts_served_below(const char *path) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&kept.lock);
        const char *p = mounts_list();
        bool is = !p;

        for (; p && *p && !is; p += strcspn(p, "\n"), p += *p == '\n')
                is = (!*path || mounts_is_below(p, path)) && mounts_is_served(p);
        return is;
}

