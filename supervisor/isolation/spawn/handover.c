/* Runs: supervisor. Prepares the hand-over to a worker: the sealed spec, the trees, the id maps. */
#include "base/io.h"
#include "base/path-lookup.h"
#include "base/proc-path.h"
#include "schema/limits.h"
#include "spawn/bind-mount.h"
#include "spawn/private.h"
#include "spawn/spawner-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#define WAIT_NSEC_MAX 200000000 /* of one wait: about two seconds in all */

int spawn_fault;

int spawn_seal(const LaunchSpec *s, uint8_t **ret_bytes, size_t *ret_n) {
        _cleanup_free_ uint8_t *bytes = NULL;
        _cleanup_close_ int fd = -1;
        size_t n;
        int e = launch_encode(s, &bytes, &n);

        if (e < 0)
                return e;
        fd = memfd_create("lethe-spec", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0)
                return -errno;
        e = io_write_full(fd, bytes, n);
        if (e == 0 && s->flags & LAUNCH_LATER && ftruncate(fd, (off_t)(n + LAUNCH_WORDS_MAX)) < 0)
                e = -errno;
        if (e == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) < 0)
                e = -errno;
        if (e < 0)
                return e;
        *ret_bytes = TAKE_PTR(bytes);
        *ret_n = n;
        return TAKE_FD(fd);
}

int spawn_open_trees(const Plan *plan, const Probe *probe, Spawner *binder, int *fds, size_t *n_fds, Diag *reterr) {
        for (size_t i = 0; i < plan->n_trees; i++) {
                const PlanTree *p = &plan->trees[i];
                struct stat st;
                bool plain = p->uniform && lookup_stat(p->source, true, &st) == 0 && (st.st_mode & 05) == 05;
                uint32_t to = probe->has_nobody && !plain ? probe_region_id(probe) : 0;
                int fd = spawn_fails() ? diag(reterr, -EIO, "injected")
                         : binder && !probe->root ? spawner_bind(binder, probe, p->source, p->write)
                                                  : bind_mount_open(p->source, p->write, to, p->of, reterr);

                if (fd < 0)
                        return fd == -ENOENT || fd == -ELOOP || fd == -EACCES || fd == -ETIMEDOUT ? SPAWN_E_SOURCE
                                                                                                  : SPAWN_E_KERNEL;
                fds[(*n_fds)++] = fd;
        }
        return 0;
}

static int spawn_write_proc(pid_t pid, const char *name, const char *text) {
        _cleanup_close_ int fd = open(PROC_PATH("%d/%s", pid, name), O_WRONLY | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        /* one write: the kernel takes a map whole */
        return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno;
}

/* The kernel wakes the parent in the middle of the child's exec. When the supervisor is not dumpable (changed ids, or a
 * protected key), the child's /proc files belong to root until the exec ends, microseconds later. */
static int spawn_write_first(pid_t pid, const char *name, const char *text) {
        int e;

        for (long nsec = 50000; (e = spawn_write_proc(pid, name, text)) == -EACCES && nsec < WAIT_NSEC_MAX;
             nsec += nsec / 8)
                nanosleep(&(struct timespec){.tv_nsec = nsec}, NULL);
        return e;
}

int spawn_write_id_maps(pid_t pid, const char *uids, const char *gids, bool deny_groups) {
        int e = deny_groups ? spawn_write_first(pid, "setgroups", "deny") : 0;

        e = e ?: spawn_write_first(pid, "uid_map", uids);
        e = e ?: spawn_write_proc(pid, "gid_map", gids);
        return e;
}

int spawn_write_maps(pid_t pid, const Probe *p) {
        char uids[64], gids[64];
        bool nobody = p->root && p->has_nobody;

        snprintf(uids, sizeof(uids), "%u %u 1\n", REGION_UID, nobody ? probe_region_id(p) : p->uid);
        snprintf(gids, sizeof(gids), "%u %u 1\n", REGION_GID, nobody ? probe_region_id(p) : p->gid);
        return spawn_write_id_maps(pid, uids, gids, !p->root);
}
