/* Runs: supervisor. */
#include "scrub/release_hook/hook-internal.h"

#include "base/path-lookup.h"
#include "base/proc.h"
#include "region/region-path.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define STRINGS_MAX 16384           /* arguments and variables together; a call with more is not overwritten */
#define STRING_BYTES_MAX 131072     /* the kernel's own bound of a string */
#define BYTES_MAX (124U * 1024)     /* of all strings: accepted by the kernel whatever the limit of the stack is */
#define IMAGE_END 0x7ffffffff000U

/* Byte ranges that the kernel still has to read. */
typedef struct Keep {
        AddressRun v[STRINGS_MAX + 8];
        size_t n;
        uint64_t bytes;
} Keep;

static bool exec_keep_range(Keep *k, uint64_t start, uint64_t n) {
        if (k->n == ARRAY_SIZE(k->v))
                return false;
        k->v[k->n++] = (AddressRun){start, start + n};
        k->bytes += n;
        return k->bytes <= BYTES_MAX;
}

static bool exec_keep_string(Keep *k, pid_t pid, uint64_t at) {
        char text[4096];

        for (uint64_t n = 0; n < STRING_BYTES_MAX;) {
                ssize_t got = region_notify_read(pid, at + n, text, sizeof(text) - (at + n) % sizeof(text));
                const char *nul = got > 0 ? memchr(text, 0, (size_t)got) : NULL;

                if (got <= 0)
                        return false;
                if (nul)
                        return exec_keep_range(k, at, n + (uint64_t)(nul - text) + 1);
                n += (uint64_t)got;
        }
        return false;
}

/* An array of pointers that ends with NULL, and its strings. */
static bool exec_keep_array(Keep *k, pid_t pid, uint64_t at) {
        uint64_t pointers[64], start = at;

        while (at) {
                size_t want = MIN(sizeof(pointers), (size_t)(SCAN_PAGE - at % SCAN_PAGE));
                ssize_t got = at % 8 ? -1 : region_notify_read(pid, at, pointers, want);

                if (got < 8)
                        return false;
                for (size_t i = 0; i < (size_t)got / 8; i++, at += 8) {
                        if (!pointers[i])
                                return exec_keep_range(k, start, at + 8 - start);
                        if (!exec_keep_string(k, pid, pointers[i]))
                                return false;
                }
        }
        return true;
}

static int exec_by_start(const void *a, const void *b) {
        uint64_t x = ((const AddressRun *)a)->start, y = ((const AddressRun *)b)->start;

        return x < y ? -1 : x > y;
}

/* Whether the kernel will take the file: a program of this machine, or a script for such a program. A failing call
 * takes nothing, and shells and execvp() try several places. With an unclear result the image stays and is missed. */
typedef enum Start { START_NO, START_YES, START_MAYBE } Start;

static bool exec_is_granted(const ReleaseHook *e, const char *path) {
        const Grant *g = e->region->grant;

        for (size_t i = 0; i < g->n_files; i++)
                if (path_is_under(path, e->region->notify.root >= 0 ? g->files[i].target : g->files[i].source))
                        return true;
        return false;
}

/* Tier landlock: files kept from the region by the rules look executable to the supervisor. */
static bool exec_is_beyond_rules(const ReleaseHook *e, int fd) {
        const RegionNotify *n = &e->region->notify;
        char path[PATH_MAX];

        if (n->root >= 0)
                return false;
        return !hook_fd_path(fd, path) ||
               region_path_reach(n->grant, n->tier, n->scratch, n->shims, path, false) != PATH_INSIDE;
}

static Start exec_judge_head(const ReleaseHook *e, int fd, char *head, ssize_t n, unsigned depth);

static Start exec_will_start(const ReleaseHook *e, const char *path, unsigned depth) {
        _cleanup_close_ int there = hook_open(e, path, true), fd = -1;
        char head[256];
        struct statvfs mount;
        struct stat st;
        ssize_t n;

        if (there < 0)
                return there == -ENOENT || there == -ENOTDIR ? START_NO : START_MAYBE;
        if (region_notify_any_served() && region_notify_is_served(e->region->notify.worker, there))
                return START_MAYBE;
        if (lookup_fstat(there, &st) < 0 || !S_ISREG(st.st_mode) || (st.st_mode & 0111) == 0 ||
            fstatvfs(there, &mount) < 0 || mount.f_flag & ST_NOEXEC)
                return START_NO;
        if ((st.st_mode & 0111) != 0111 || (st.st_dev == e->scratch && e->region->notify.root >= 0) ||
            exec_is_granted(e, path) || exec_is_beyond_rules(e, there))
                return START_MAYBE;
        fd = open(PROC_FD(there), O_RDONLY | O_CLOEXEC | O_NOCTTY);
        n = fd < 0 ? -1 : pread(fd, head, sizeof(head) - 1, 0);
        return n < 0 ? START_MAYBE : exec_judge_head(e, fd, head, n, depth);
}

/* Checks the parts of the file read by the kernel before the old image goes. */
static Start exec_judge_program(const ReleaseHook *e, int fd, const Elf64_Ehdr *h, unsigned depth) {
        size_t n = (size_t)h->e_phnum * sizeof(Elf64_Phdr);
        _cleanup_free_ Elf64_Phdr *p = malloc(n ?: 1);
        char name[PATH_MAX];

        if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != EM_X86_64 ||
            (h->e_type != ET_EXEC && h->e_type != ET_DYN) || h->e_phentsize != sizeof(*p) || n == 0 || n > 65536 ||
            !p || pread(fd, p, n, (off_t)h->e_phoff) != (ssize_t)n)
                return START_MAYBE;
        for (size_t i = 0; i < h->e_phnum; i++)
                if (p[i].p_type == PT_INTERP) {
                        if (p[i].p_filesz < 2 || p[i].p_filesz > sizeof(name) || depth >= 4 ||
                            pread(fd, name, p[i].p_filesz, (off_t)p[i].p_offset) != (ssize_t)p[i].p_filesz ||
                            name[p[i].p_filesz - 1] || *name != '/')
                                return START_MAYBE;
                        return exec_will_start(e, name, depth + 1);
                }
        return START_YES;
}

static Start exec_judge_head(const ReleaseHook *e, int fd, char *head, ssize_t n, unsigned depth) {
        char *name = head + 2;
        Elf64_Ehdr h;

        head[n] = 0;
        if (n >= (ssize_t)sizeof(h) && memcmp(head, ELFMAG, SELFMAG) == 0) {
                memcpy(&h, head, sizeof(h));
                return exec_judge_program(e, fd, &h, depth);
        }
        if (n < 4 || memcmp(head, "#!", 2) != 0 || depth >= 4 || !strchr(head, '\n'))
                return START_MAYBE;
        name += strspn(name, " \t");
        name[strcspn(name, " \t\n")] = 0;
        return *name == '/' ? exec_will_start(e, name, depth + 1) : START_MAYBE;
}

typedef struct Self {
        pid_t tgid, parent;
        unsigned threads;
} Self;

static bool exec_read_status(pid_t pid, Self *ret) {
        static const char *const keys[] = {"\nTgid:", "\nPPid:", "\nThreads:"};
        unsigned long values[ARRAY_SIZE(keys)] = {0};
        char text[4096];
        const char *p;

        if (proc_read_status(PROC_PATH("%d/status", pid), text, sizeof(text)) > 0)
                for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
                        values[i] = (p = strstr(text, keys[i])) ? strtoul(p + strlen(keys[i]), NULL, 10) : 0;
        *ret = (Self){.tgid = (pid_t)values[0], .parent = (pid_t)values[1], .threads = (unsigned)values[2]};
        return ret->tgid > 0 && ret->threads > 0;
}

/* In tier landlock the worker hides itself; a program of a region cannot. */
static bool exec_is_worker(const ReleaseHook *e, pid_t pid) {
        struct stat st;

        if (stat(PROC_PATH("%d/exe", pid), &st) < 0)
                return errno == EACCES;
        return st.st_dev == e->worker.st_dev && st.st_ino == e->worker.st_ino;
}

/* In a page with bytes to keep, overwrites all other bytes. */
static void exec_wipe_around(ReleaseHook *e, const Keep *k, uint64_t page, size_t *first) {
        static const uint8_t zeros[SCAN_PAGE];
        uint64_t at = page, end = page + SCAN_PAGE, kept = 0, lost = 0;
        uint8_t back[SCAN_PAGE];

        while (*first < k->n && k->v[*first].end <= page)
                (*first)++;
        for (size_t i = *first; at < end; i++) {
                uint64_t stop = i < k->n ? MAX(at, MIN(k->v[i].start, end)) : end;
                struct iovec local = {(void *)zeros, stop - at}, remote = {(void *)(uintptr_t)at, stop - at},
                             in = {back, stop - at};

                if (stop > at && (process_vm_writev(e->scan.pid, &local, 1, &remote, 1, 0) != (ssize_t)(stop - at) ||
                                  process_vm_readv(e->scan.pid, &in, 1, &remote, 1, 0) != (ssize_t)(stop - at) ||
                                  memcmp(back, zeros, stop - at) != 0))
                        lost += stop - at;
                at = i < k->n ? MAX(stop, MIN(k->v[i].end, end)) : end;
                kept += at - stop;
        }
        e->region->notify.freed.kept += kept;
        hook_count(e, SCAN_PAGE, SCAN_PAGE - kept - lost);
}

/* Takes the pages with bytes to keep out of `own`, with their frames, and overwrites the rest of such pages. */
static int exec_split_own(ReleaseHook *e, const Keep *k) {
        Runs whole = {};
        size_t first = 0, next = 0, frame = 0, frames = 0;
        int r = 0;

        for (size_t i = 0; r == 0 && i < e->scan.own.n; i++)
                for (uint64_t p = e->scan.own.v[i].start; r == 0 && p < e->scan.own.v[i].end; p += SCAN_PAGE, frame++) {
                        while (next < k->n && k->v[next].end <= p)
                                next++;
                        if (next < k->n && k->v[next].start < p + SCAN_PAGE) {
                                exec_wipe_around(e, k, p, &first);
                                continue;
                        }
                        r = runs_add(&whole, p, p + SCAN_PAGE);
                        if (e->scan.frames.n > 0)
                                e->scan.frames.v[frames++] = e->scan.frames.v[frame];
                }
        e->scan.frames.n = frames;
        runs_deinit(&e->scan.own);
        e->scan.own = whole;
        return r;
}

static NotifyStep exec_wipe_image(ReleaseHook *e, const struct seccomp_notif *q, const Keep *k) {
        int r = scan_begin(&e->scan, (pid_t)q->pid);

        if (!region_notify_waits(&e->region->notify, q->id)) {
                scan_end(&e->scan);
                return NOTIFY_GO_ON;
        }
        r = r ?: scan_private(&e->scan, 0, IMAGE_END);
        e->region->notify.freed.calls++;
        e->region->notify.freed.images++;
        if (k && (r < 0 || !hook_doom(e)))
                k = NULL;
        if (r == 0)
                hook_count_shared(e, q);
        if (r == 0 && k)
                r = exec_split_own(e, k);
        if (r == 0 && k)
                hook_wipe_own(e, false);
        else /* an unreadable image counts as a page */
                hook_count(e, r == 0 ? e->scan.own.bytes : SCAN_PAGE, 0);
        scan_end(&e->scan);
        return NOTIFY_GO_ON;
}

NotifyStep hook_exec(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error) {
        const __u64 *args = &q->data.args[c->path]; /* path, argv, envp, and of execveat its flags */
        _cleanup_free_ Keep *k = NULL;
        pid_t pid = (pid_t)q->pid;
        Start start = START_MAYBE;
        char full[PATH_MAX];
        Self self;

        /* After vfork the memory belongs to the parent, still in use there. */
        if (exec_is_worker(e, pid) || !exec_read_status(pid, &self) ||
            syscall(SYS_kcmp, self.tgid, self.parent, KCMP_VM, 0, 0) == 0)
                return NOTIFY_GO_ON;
        e->common = e->asking; /* with its parent, as a rule */
        if (e->asking)
                return NOTIFY_LATER;
        if (c->at && (int)args[3] & AT_EMPTY_PATH) /* by descriptor alone: the file is unknown, so the image stays */
                return exec_wipe_image(e, q, NULL);
        if (hook_path(c, q, full) == 0)
                start = exec_will_start(e, full, 0);
        if (start == START_NO || !region_notify_waits(&e->region->notify, q->id))
                return NOTIFY_GO_ON;
        k = calloc(1, sizeof(*k));
        if (start == START_MAYBE || !k || self.threads > 1 || !exec_keep_string(k, pid, args[0]) ||
            !exec_keep_array(k, pid, args[1]) || !exec_keep_array(k, pid, args[2]))
                return exec_wipe_image(e, q, NULL);
        qsort(k->v, k->n, sizeof(*k->v), exec_by_start);
        return exec_wipe_image(e, q, k);
}
