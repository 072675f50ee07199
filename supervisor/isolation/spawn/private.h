/* Runs: supervisor. Shared by the files of spawn/. */
#pragma once

#include "spawn/plan.h"
#include "spawn/spawn.h"

/* Fault injection for tests: each possible failure counts down, and the failure at zero is EIO. 0: off. */
extern int spawn_fault;
static inline bool spawn_fails(void) {
        return spawn_fault > 0 && --spawn_fault == 0;
}

/* Opens the plan's trees as descriptors, from fds[*n_fds] on; the caller closes them. binder: makes the mounts of a
 * supervisor without root, by spawner_bind(); NULL: the supervisor makes the mounts. Returns as spawn_start(). */
int spawn_open_trees(const Plan *p, const Probe *probe, Spawner *binder, int *fds, size_t *n_fds, Diag *reterr);
/* A memory file of sealed size: spec and room for words; ret_bytes: the spec, owned. Returns the file or -errno. */
int spawn_seal(const LaunchSpec *s, uint8_t **ret_bytes, size_t *ret_n);
/* Returns 0 or -ENOMEM. */
int view_mark(const Plan *p, ViewMarks *ret);
void view_marks_deinit(ViewMarks *m);
/* Tier landlock: makes the host folder that stands for the scratch file system; root puts the folder where the region's
 * user can reach it. *ret: the path, owned; after a failure the caller removes the folder. */
int spawn_scratch_make(const SpawnRequest *r, char **ret, Diag *reterr);
/* Writes /proc/PID/{setgroups,uid_map,gid_map}; deny_groups as for an ordinary user. Returns 0 or -errno. */
int spawn_write_id_maps(pid_t pid, const char *uids, const char *gids, bool deny_groups);
/* The maps of the worker's user namespace, written from outside. Returns 0 or -errno. */
int spawn_write_maps(pid_t pid, const Probe *p);

/* Copies of a skill for a region of root in tier landlock (scratch.c). */
typedef struct Lent {
        char *skill, *program; /* owned; NULL: not lent, use the grant's path */
} Lent;
void lent_deinit(Lent *l);
/* gid: the region's group. lend_end() also removes a failed copy. Returns 0, SPAWN_E_SOURCE, -errno, with a message. */
int lend(const Grant *g, const char *scratch, gid_t gid, Lent *ret, Diag *reterr);
/* Removes the lent copies beside the scratch. Returns 0 or -errno. */
int lend_end(const char *scratch);
