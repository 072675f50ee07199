/* Runs: supervisor. Prepares the hand-over to a worker: the sealed spec, the trees, the id maps. */
#include "base/io.h"
#include "base/path-lookup.h"
#include "schema/limits.h"
#include "spawn/private.h"
#include "spawn/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

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

int spawn_open_trees(const Plan *plan, const Probe *probe, SpawnBindFn bind, Spawner *spawner, int *fds, size_t *n_fds,
                     Diag *reterr) {
        for (size_t i = 0; i < plan->n_trees; i++) {
                const PlanTree *p = &plan->trees[i];
                struct stat st;
                bool plain = p->uniform && lookup_stat(p->source, true, &st) == 0 && (st.st_mode & 05) == 05;
                uint32_t to = probe->has_nobody && !plain ? probe_region_id(probe) : 0;
                int fd = spawn_fails() ? diag(reterr, -EIO, "injected")
                         : bind && !probe->root ? bind(spawner, probe, p->source, p->write)
                                                : tree_open(p->source, p->write, to, p->of, reterr);

                if (fd < 0)
                        return fd == -ENOENT || fd == -ELOOP || fd == -EACCES || fd == -ETIMEDOUT ? SPAWN_E_SOURCE
                                                                                                  : SPAWN_E_KERNEL;
                fds[(*n_fds)++] = fd;
        }
        return 0;
}

int spawn_write_maps(pid_t pid, const Probe *p) {
        char uids[64], gids[64];
        bool nobody = p->root && p->has_nobody;

        snprintf(uids, sizeof(uids), "%u %u 1\n", REGION_UID, nobody ? probe_region_id(p) : p->uid);
        snprintf(gids, sizeof(gids), "%u %u 1\n", REGION_GID, nobody ? probe_region_id(p) : p->gid);
        return tree_write_maps(pid, uids, gids, !p->root);
}
