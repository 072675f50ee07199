/* Runs: supervisor. */
#include "scrub/release_hook/hook-internal.h"

#include "base/clock.h"
#include "base/proc.h"
#include "spawn/find.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define FILES_PAUSE_LEAST 1000
#define FILES_PAUSE_MOST 50000

/* Newer than some headers. */
#define MADV_PAGEOUT_ 21
#define MADV_COLLAPSE_ 25
#define MADV_DONTNEED_LOCKED_ 24
#define MADV_GUARD_INSTALL_ 102
#define MAP_DROPPABLE_ 8 /* freed by the kernel without a call */
#define FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* Linux 5.19 */

static bool hook_whole_pages(uint64_t start, uint64_t length, uint64_t *ret_end) {
        uint64_t whole = scan_whole_pages(length);

        return start % SCAN_PAGE == 0 && whole >= length && whole > 0 && !__builtin_add_overflow(start, whole, ret_end);
}

static NotifyStep hook_on_munmap(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error) {
        AddressRun r = {.start = q->data.args[0]};

        return hook_whole_pages(r.start, q->data.args[1], &r.end) ? hook_memory(e, q, &r, 1, HOOK_PRIVATE | HOOK_SHARED)
                                                                  : NOTIFY_GO_ON;
}

/* Refuses advice that makes the kernel copy pages, with the error of a kernel without such advice. */
static NotifyStep hook_on_madvise(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error) {
        AddressRun r = {.start = q->data.args[0]};
        unsigned flags = HOOK_PRIVATE;

        switch ((int)q->data.args[2]) {
        case MADV_HUGEPAGE:
        case MADV_COLLAPSE_:
        case MADV_PAGEOUT_:
                *ret_error = EINVAL;
                return NOTIFY_ANSWER;
        case MADV_DONTNEED:
        case MADV_DONTNEED_LOCKED_:
        case MADV_GUARD_INSTALL_:
                break;
        case MADV_FREE:
                flags |= HOOK_ZEROS;
                break;
        case MADV_REMOVE:
                flags = HOOK_HOLE;
                break;
        default:
                return NOTIFY_GO_ON;
        }
        if (!hook_whole_pages(r.start, q->data.args[1], &r.end))
                return NOTIFY_GO_ON;
        /* A hole in a file, made through its mapping: refused as on a file system without holes. */
        if (flags == HOOK_HOLE && !e->asking && hook_maps_file(e, q, &r)) {
                *ret_error = EOPNOTSUPP;
                return NOTIFY_ANSWER;
        }
        return hook_memory(e, q, &r, 1, flags);
}

/* The highest heap end that a program asked for. The real end is never above, because the heap began empty. Forked
 * processes have the same. Returns UINT64_MAX when the table of programs is full. */
static uint64_t hook_highest_break(ReleaseHook *e, uint64_t start_brk, uint64_t asked) {
        uint64_t before;
        size_t i = 0;

        while (i < e->n_heaps && e->heaps[i].start != start_brk)
                i++;
        if (i == HOOK_HEAPS_MAX)
                return UINT64_MAX;
        if (i == e->n_heaps)
                e->heaps[e->n_heaps++] = (AddressRun){start_brk, start_brk};
        before = e->heaps[i].end;
        e->heaps[i].end = MAX(before, asked);
        return before;
}

/* Areas mapped or named by the program inside of the heap are not called [heap]. A shorter heap takes them unseen. */
static NotifyStep hook_on_brk(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error) {
        uint64_t stat[47 - 2], start_brk, highest, start, end, inode; /* stat: to field 47, start_brk */
        bool other = false;
        AddressRun r = {};
        char line[512];
        FILE *f;

        start_brk = proc_stat((pid_t)q->pid, stat, ARRAY_SIZE(stat)) ? stat[ARRAY_SIZE(stat) - 1] : 0;
        r.start = scan_whole_pages(q->data.args[0]);
        if (start_brk > 0 && q->data.args[0] < start_brk) /* the call fails */
                return NOTIFY_GO_ON;
        highest = start_brk > 0 ? hook_highest_break(e, start_brk, r.start) : UINT64_MAX;
        if (r.start >= highest)
                return NOTIFY_GO_ON;
        f = fopen(PROC_PATH("%u/maps", q->pid), "re");
        while (f && fgets(line, sizeof(line), f))
                if (sscanf(line, "%lx-%lx %*s %*s %*s %lu", &start, &end, &inode) != 3 || end <= r.start ||
                    start >= highest)
                        continue;
                else if (inode == 0 && strstr(line, "[heap]"))
                        r.end = MAX(r.end, end);
                else
                        other = true;
        if (f)
                fclose(f);
        if (e->asking && r.start >= r.end)
                return NOTIFY_LATER; /* memory may be there by then */
        e->region->notify.freed.unheld += !e->asking && (other || !f);
        return r.start < r.end ? hook_memory(e, q, &r, 1, HOOK_PRIVATE) : NOTIFY_GO_ON;
}

static NotifyStep hook_on_mmap(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error) {
        AddressRun r = {.start = q->data.args[0]};

        if ((q->data.args[3] & MAP_TYPE) == MAP_DROPPABLE_) {
                *ret_error = EINVAL;
                return NOTIFY_ANSWER;
        }
        /* A failing call takes nothing. */
        if (!(q->data.args[3] & MAP_FIXED) || q->data.args[3] & MAP_FIXED_NOREPLACE || !(q->data.args[3] & MAP_TYPE) ||
            q->data.args[5] % SCAN_PAGE != 0 || !hook_whole_pages(r.start, q->data.args[1], &r.end))
                return NOTIFY_GO_ON;
        if (!e->asking && !(q->data.args[3] & MAP_ANONYMOUS) &&
            faccessat(AT_FDCWD, PROC_PATH("%u/fd/%d", q->pid, (int)q->data.args[4]), F_OK, AT_SYMLINK_NOFOLLOW) < 0)
                return NOTIFY_GO_ON;
        return hook_memory(e, q, &r, 1, HOOK_PRIVATE | HOOK_SHARED);
}

/* The end of a shrinking area, and the content at the target of a move. */
static NotifyStep hook_on_mremap(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error) {
        AddressRun old = {.start = q->data.args[0]}, over = {.start = q->data.args[4]}, r[2];
        uint64_t kept;
        size_t n = 0;

        /* Old length 0 makes a second mapping of shared memory, which may replace an area, too. */
        old.end = old.start;
        if (!hook_whole_pages(old.start, q->data.args[2], &kept) ||
            (q->data.args[1] != 0 && !hook_whole_pages(old.start, q->data.args[1], &old.end)))
                return NOTIFY_GO_ON;
        if (q->data.args[3] & MREMAP_FIXED) {
                /* the call fails */
                if (!hook_whole_pages(over.start, q->data.args[2], &over.end) ||
                    (over.start < old.end && old.start < over.end))
                        return NOTIFY_GO_ON;
                r[n++] = over;
        }
        if (kept < old.end)
                r[n++] = (AddressRun){kept, old.end};
        return n > 0 ? hook_memory(e, q, r, n, HOOK_PRIVATE | HOOK_SHARED) : NOTIFY_GO_ON;
}

static NotifyStep hook_on_unlinkat(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error) {
        return (int)q->data.args[2] & AT_REMOVEDIR ? NOTIFY_GO_ON : hook_unname(e, c, q, ret_error);
}

static NotifyStep hook_on_truncate(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error) {
        return hook_truncate_path(e, c, q, q->data.args[1], false);
}

static NotifyStep hook_on_open_flags(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, uint64_t flags,
                                     int *ret_error) {
        /* The data would go with the last descriptor, without a notified call. Programs fall back to a named file. */
        if ((flags & O_TMPFILE) == O_TMPFILE) {
                *ret_error = EOPNOTSUPP;
                return NOTIFY_ANSWER;
        }
        if (!(flags & O_TRUNC) || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) || flags & (O_PATH | O_DIRECTORY))
                return NOTIFY_GO_ON;
        return hook_truncate_path(e, c, q, 0, true);
}

static NotifyStep hook_on_open(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error) {
        return hook_on_open_flags(e, c, q, q->data.args[c->path + 1], ret_error);
}

static NotifyStep hook_on_creat(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error) {
        return hook_on_open_flags(e, c, q, O_CREAT | O_TRUNC | O_WRONLY, ret_error);
}

/* A call that renames takes the name of the file at its target. */
static const HookCall hook_calls[] = {
        {"munmap", hook_on_munmap, HOOK_MEMORY},
        {"madvise", hook_on_madvise, HOOK_MEMORY},
        {"brk", hook_on_brk, HOOK_MEMORY},
        {"mmap", hook_on_mmap, HOOK_MEMORY},
        {"mremap", hook_on_mremap, HOOK_MEMORY},
        {"unlink", hook_unname, HOOK_FILE, .path = 0},
        {"unlinkat", hook_on_unlinkat, HOOK_FILE, .path = 1, .at = true},
        {"rename", hook_unname, HOOK_FILE, .path = 1},
        {"renameat", hook_unname, HOOK_FILE, .path = 3, .at = true},
        {"renameat2", hook_unname, HOOK_FILE, .path = 3, .at = true},
        {"truncate", hook_on_truncate, HOOK_FILE, .path = 0},
        {"ftruncate", hook_truncate_fd, HOOK_FILE},
        {"fallocate", hook_hole, HOOK_FILE},
        {"open", hook_on_open, HOOK_FILE, .path = 0},
        {"openat", hook_on_open, HOOK_FILE, .path = 1, .at = true},
        {"creat", hook_on_creat, HOOK_FILE, .path = 0},
        {"execve", hook_exec, HOOK_IMAGE, .path = 0},
        {"execveat", hook_exec, HOOK_IMAGE, .path = 1, .at = true},
};

static NotifyStep hook_before_call(void *userdata, const struct seccomp_notif *q, const char *call, int *ret_error) {
        uint64_t start = clock_mono_usec();
        NotifyStep step = NOTIFY_GO_ON;
        ReleaseHook *e = userdata;

        hook_files_look(e, HOOK_FILES_NEW);
        for (size_t i = 0; i < ARRAY_SIZE(hook_calls); i++)
                if (strcmp(hook_calls[i].name, call) == 0) {
                        step = hook_judge(e, &hook_calls[i], q, ret_error);
                        break;
                }
        e->region->notify.freed.usec += clock_mono_usec() - start;
        return step;
}

static void hook_freep(ReleaseHook **e) {
        hook_free(*e);
}

int hook_start(Region *r, uint64_t *deadline, ReleaseHook **ret) {
        _cleanup_(hook_freep) ReleaseHook *e = NULL;
        struct stat st;
        int k;

        if (r->grant->discipline != DISCIPLINE_MULTIPASS)
                return 0;
        e = calloc(1, sizeof(*e));
        if (!e)
                return -ENOMEM;
        e->region = r;
        e->alone = true;
        e->deadline = deadline;
        e->files = calloc(HOOK_FILES_MAX, sizeof(*e->files));
        if (!e->files)
                return -ENOMEM;
        if ((k = wipe_init(&e->wipe, r->grant->passes)) < 0 || (k = wipe_init(&e->zeros, 1)) < 0)
                return k;
        if (stat(PROC_PATH("%d/exe", r->spawned.pid), &e->worker) < 0) {
                /* in tier landlock the worker hides itself from an ordinary user */
                _cleanup_close_ int worker = errno == EACCES ? find_program("lethe-worker", NULL) : -errno;

                if (worker < 0 || fstat(worker, &e->worker) < 0)
                        return worker < 0 ? worker : -errno;
        }
        if (fstat(r->budget.scratch, &st) < 0)
                return -errno;
        e->scratch = st.st_dev;
        /* The filter NULL is invalid, so that the kernel judges only the flag. */
        e->can_pause = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                               SECCOMP_FILTER_FLAG_NEW_LISTENER | FLAG_WAIT_KILLABLE_RECV, NULL) < 0 &&
                       errno == EFAULT;
        r->notify.frees = hook_before_call;
        r->notify.frees_userdata = e;
        *ret = TAKE_PTR(e);
        return 0;
}

void hook_tick(ReleaseHook *e, uint64_t now) {
        *e->deadline = HOOK_NEVER;
        hook_jobs_step(e, now);
        if (e->n_files == 0)
                return;
        if (hook_files_look(e, HOOK_FILES_ALL)) {
                e->pause = MIN(MAX(2 * e->pause, (uint64_t)FILES_PAUSE_LEAST), (uint64_t)FILES_PAUSE_MOST);
                hook_wake(e, e->pause);
        } else
                e->pause = FILES_PAUSE_LEAST;
}

void hook_finish(ReleaseHook *e) {
        uint64_t start = clock_mono_usec();

        hook_files_look(e, HOOK_FILES_END);
        e->region->notify.freed.usec += clock_mono_usec() - start;
}

void hook_free(ReleaseHook *e) {
        if (!e)
                return;
        e->region->notify.frees = NULL;
        *e->deadline = HOOK_NEVER;
        for (size_t i = 0; i < HOOK_JOBS_MAX; i++)
                runs_deinit(&e->jobs[i].runs);
        for (size_t i = 0; i < e->n_files; i++)
                close(e->files[i].fd);
        free(e->files);
        wipe_deinit(&e->wipe);
        wipe_deinit(&e->zeros);
        scan_deinit(&e->scan);
        free(e);
}

json_t *hook_to_json(const FreedCount *c) {
        return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "calls", json_u64(c->calls),
                         "bytes", json_u64(c->bytes), "overwritten", json_u64(c->overwritten), "missed",
                         json_u64(c->missed), "unheld", json_u64(c->unheld), "racing", json_u64(c->racing), "files",
                         json_u64(c->files), "images", json_u64(c->images), "kept", json_u64(c->kept), "exec_failed",
                         json_u64(c->exec_failed), "usec", json_u64(c->usec));
}
