/* Runs: supervisor. */
#include "scrub/teardown.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define STOP_WAIT_USEC 10000000 /* then we say that the region cannot be killed; 1,000 processes take 34 ms */

/* Waits for the worker's death and reaps it. In tier namespaces the kernel lets it be reaped only after every process of its PID
 * namespace was. Returns 0, -ETIMEDOUT, -errno. */
static int reap_worker(Region *r) {
        uint64_t until = clock_mono_usec() + STOP_WAIT_USEC;

        for (;;) {
                siginfo_t info = {};
                struct pollfd p = {.fd = r->spawned.pidfd, .events = POLLIN};

                if (waitid(P_PID, (id_t)r->spawned.pid, &info, WEXITED | WNOHANG) < 0) {
                        if (errno == EINTR)
                                continue;
                        return errno == ECHILD ? 0 : -errno;
                }
                if (info.si_pid)
                        return 0;
                if (clock_mono_usec() > until)
                        return -ETIMEDOUT;
                if (poll(&p, 1, 1000) > 0 && p.revents & POLLNVAL)
                        return -EBADF;
        }
}

int teardown_stop(Region *r, Diag *reterr) {
        int e;

        assert(r->state == REGION_ENDED);
        if (r->has_worker) {
                e = spawn_kill(&r->spawned);
                if (e < 0 && e != -ESRCH)
                        return diag(reterr, e, "cannot kill the region's first process: %s", strerror(-e));
                if (r->cgroup.made)
                        region_cgroup_kill(&r->cgroup);
                e = reap_worker(r);
                if (e == -ETIMEDOUT)
                        return diag(reterr, TEARDOWN_E_ALIVE, "process %d does not die", (int)r->spawned.pid);
                if (e < 0)
                        return e;
                e = spawn_prove_empty(&r->spawned, reterr);
                if (e != 0)
                        return e > 0 ? TEARDOWN_E_ALIVE : e;
                if (r->cgroup.made && !region_cgroup_empty(&r->cgroup))
                        return diag(reterr, TEARDOWN_E_ALIVE, "a process is left in the region's control group");
                r->has_worker = false;
        }
        /* Only now is no writer left: what the pipes hold is all there will be. */
        if (region_io_drain(&r->io))
                region_end_late(r, &(Breach){OUTCOME_OUTPUT_EXCEEDED, "output", r->io.output_max, r->io.output_used});
        Breach late = region_budget_final(&r->budget, clock_mono_usec(), r->program_cpu_usec, r->program_max_rss);

        region_end_late(r, &late);
        region_move(r, REGION_STOPPED);
        return 0;
}

#define REMOVE_DEPTH 64 /* folders deeper than this are first moved up: each level of the walk holds a descriptor */

static int remove_below(int parent, const char *name, int top, unsigned depth, dev_t dev) {
        _cleanup_close_ int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        static unsigned moved;
        struct dirent *de;
        struct stat st;
        int e = 0, at;
        DIR *d;

        if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0) /* the region took its own rights away */
                fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT ? 0 : -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (st.st_dev != dev)
                return -EXDEV;
        if ((st.st_mode & 0700) != 0700)
                fchmod(fd, 0700);
        d = fdopendir(fd);
        if (!d)
                return -errno;
        fd = -1; /* closed with d */
        at = dirfd(d);
        while (e == 0 && (de = readdir(d))) {
                char up[32];

                if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
                        continue;
                if (unlinkat(at, de->d_name, 0) == 0 || errno == ENOENT)
                        continue;
                if (errno != EISDIR && errno != EPERM) {
                        e = -errno;
                } else if (depth < REMOVE_DEPTH) {
                        e = remove_below(at, de->d_name, top < 0 ? at : top, depth + 1, dev);
                } else {
                        snprintf(up, sizeof(up), ".lethe-up-%u", ++moved);
                        e = renameat(at, de->d_name, top, up) < 0 ? -errno : 0;
                }
        }
        closedir(d);
        if (e == 0 && unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
                e = -errno;
        return e;
}

int teardown_remove_folder(const char *path) {
        struct stat st;
        int e;

        if (lstat(path, &st) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (!S_ISDIR(st.st_mode))
                return -ENOTDIR;
        /* What was moved up while the top folder was being read may not have been seen. */
        do
                e = remove_below(AT_FDCWD, path, -1, 0, st.st_dev);
        while (e == -ENOTEMPTY);
        return e;
}

int teardown_clear(Region *r, Evidence *ret, Diag *reterr) {
        int e = 0, k;

        assert(r->state == REGION_STOPPED);
        evidence_collect(r, ret);

        /* Storage goes back: the last descriptor of the scratch frees its pages. */
        closep(&r->budget.scratch);
        if (r->spawned.scratch && (k = teardown_remove_folder(r->spawned.scratch)) < 0)
                e = diag(reterr, k, "scratch folder %s cannot be removed: %s", r->spawned.scratch, strerror(-k));
        region_notify_deinit(&r->notify);
        conn_deinit(&r->pipe);
        closep(&r->region_pipe_in);
        closep(&r->region_pipe_out);
        region_io_started(&r->io);
        k = region_cgroup_remove(&r->cgroup);
        if (k < 0) {
                e = diag(reterr, k, "control group of region %s cannot be removed: %s", r->id, strerror(-k));
                r->cgroup.made = false;
        }
        spawned_deinit(&r->spawned);
        ret->usec = clock_mono_usec() - r->ended_usec;
        region_move(r, REGION_CLEARED);
        return e;
}
