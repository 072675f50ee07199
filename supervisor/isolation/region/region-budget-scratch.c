/* Runs: supervisor. Counts the scratch of a region: files, names, and files without a name. */
#include "region/region-budget-private.h"

#include "base/dirents.h"
#include "region/region-queues.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define WALK_FILES_MAX 20000 /* files looked at in a walk of the scratch */
#define WALK_DEPTH_MAX 64
#define SCRATCH_NAME_BYTES 1280 /* kernel memory: inode, entry and the longest name */

static uint64_t scratch_bytes(const struct statfs *fs) {
        return (fs->f_blocks - fs->f_bfree) * (uint64_t)fs->f_bsize;
}

uint64_t budget_scratch_mark(const RegionBudget *b) {
        struct statfs fs;

        if (b->scratch < 0 || b->scratch_on_host || fstatfs(b->scratch, &fs) < 0)
                return 0;
        return scratch_bytes(&fs) + fs.f_files - fs.f_ffree;
}

void region_budget_scratch(RegionBudget *b, int fd, bool on_host) {
        b->scratch = fd;
        b->scratch_on_host = on_host;
}

uint64_t region_budget_scratch_used(const RegionBudget *b) {
        struct statfs fs;

        return b->scratch < 0 || b->scratch_on_host || fstatfs(b->scratch, &fs) < 0 ? 0 : scratch_bytes(&fs);
}

static void scratch_walk(int dirfd, unsigned depth, ScratchLook *l) {
        _cleanup_close_ int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const char *name;
        Dirents d;

        if (fd < 0)
                return;
        dirents_begin(&d, fd);
        while (!l->many && (name = dirents_next(&d))) {
                struct stat st;

                if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        continue;
                l->many = ++l->files > WALK_FILES_MAX;
                l->bytes += (uint64_t)st.st_blocks * 512;
                if (S_ISREG(st.st_mode))
                        l->largest = MAX(l->largest, (uint64_t)st.st_size);
                if (S_ISDIR(st.st_mode) && depth >= WALK_DEPTH_MAX)
                        l->deep = true;
                else if (S_ISDIR(st.st_mode)) {
                        _cleanup_close_ int sub = openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

                        if (sub >= 0)
                                scratch_walk(sub, depth + 1, l);
                }
        }
        dirents_end(&d);
}

Breach budget_look_files(RegionBudget *b, ScratchLook *l) {
        const Budget *max = &b->grant->budget;

        *l = (ScratchLook){};
        scratch_walk(b->scratch, 0, l);
        if (l->largest > max->file_bytes)
                return budget_breach(OUTCOME_FILE_SIZE_EXCEEDED, "file_size", max->file_bytes, l->largest);
        return budget_no_breach;
}

static Breach scratch_breach(const RegionBudget *b, uint64_t used) {
        Breach r = budget_breach(OUTCOME_SCRATCH_EXCEEDED, "scratch", b->grant->budget.scratch_bytes, used);

        r.lent = b->lent.scratch_bytes;
        return r;
}

Breach budget_look_scratch(RegionBudget *b, FilesLook files) {
        const Outcome exceeded = OUTCOME_SCRATCH_EXCEEDED;
        const Budget *max = &b->grant->budget;
        uint64_t unnamed, used;
        struct statfs fs;
        ScratchLook l;
        Breach r = budget_no_breach;

        if (b->scratch < 0)
                return budget_no_breach;
        if (b->scratch_on_host) {
                if (files == FILES_NO)
                        return budget_no_breach;
                /* First: a file losing its name in between is missed once, and never counted twice. */
                unnamed = b->worker > 0 && !b->over ? queues_unnamed(&b->queues, b->worker, b->scratch, b->guard) : 0;
                r = budget_look_files(b, &l);
                l.bytes += unnamed;
                b->scratch_now = l.bytes;
                b->scratch_bytes = MAX(b->scratch_bytes, l.bytes);
                if (l.bytes + b->lent.scratch_bytes > max->scratch_bytes)
                        return scratch_breach(b, l.bytes);
                /* Files beyond the count have unknown bytes, and even files without bytes fill the host's disk. */
                if (r.outcome == OUTCOME_NONE && l.many)
                        return budget_breach(exceeded, "scratch_files", WALK_FILES_MAX, l.files);
                if (r.outcome == OUTCOME_NONE && l.deep)
                        return budget_breach(exceeded, "scratch_depth", WALK_DEPTH_MAX, WALK_DEPTH_MAX + 1);
                return r;
        }
        if (fstatfs(b->scratch, &fs) < 0)
                return budget_no_breach;
        used = scratch_bytes(&fs);
        b->scratch_names = (fs.f_files - fs.f_ffree) * SCRATCH_NAME_BYTES;
        b->scratch_now = used;
        b->scratch_bytes = MAX(b->scratch_bytes, used);
        if (used + b->lent.scratch_bytes > max->scratch_bytes)
                return scratch_breach(b, used);
        used += fs.f_files - fs.f_ffree; /* as budget_scratch_mark() */
        if ((files == FILES_WHEN_CHANGED && used != b->scratch_seen) ||
            (files == FILES_AT_THE_END && used != b->scratch_base)) {
                b->scratch_seen = used;
                return budget_look_files(b, &l);
        }
        return budget_no_breach;
}
