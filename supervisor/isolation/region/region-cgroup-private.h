/* Runs: supervisor. Files of control groups, for the parts of region-cgroup. All functions return 0 or -errno. */
#pragma once

#include "region/region-cgroup.h"

#include <limits.h>
#include <stdatomic.h>

typedef enum GroupFile {
        GROUP_MEMORY_LIMIT, GROUP_SWAP_LIMIT, GROUP_MEMORY_PEAK, GROUP_MEMORY_NOW, GROUP_PIDS_MAX, GROUP_PIDS_PEAK,
        GROUP_CPU_USAGE, GROUP_MEMORY_TASKS, GROUP_PIDS_TASKS, GROUP_CPU_TASKS, GROUP_QUOTA_TASKS, GROUP_QUOTA_STAT,
        GROUP_FILES,
} GroupFile;

/* Opened at the first use. */
struct CgroupFiles {
        int fd[GROUP_FILES];
        atomic_uint *kept; /* borrowed: number of groups with kept files */
};

/* The path of this process's group, from lines "ID:controllers:path". controller: "" for version 2. Owned or NULL. */
char *group_of_self(const char *self, const char *controller);
bool group_has_word(const char *text, const char *word); /* True when the text has the word, between spaces. */
bool group_is_leaf(const char *dir); /* Version 2: true for a supervisor's leaf. */
bool group_has_controllers(const char *dir); /* Version 2: true with the controllers of a region's group. */
/* Keeps files open from now on, also `oom` and `pids_events`. Out of memory, files are opened for each use. */
void group_keep_files(RegionCgroup *c, atomic_uint *kept);
/* Closes all open files. */
void group_close_files(RegionCgroup *c);
int group_file_write(const RegionCgroup *c, GroupFile f, const char *fmt, ...) _printf_(3, 4);
int group_file_read(const RegionCgroup *c, GroupFile f, char *text, size_t room);
int group_file_number(const RegionCgroup *c, GroupFile f, uint64_t *ret);

/* The folder of the quota is one of its own. */
bool group_has_own_quota(const RegionCgroup *c);
/* Returns a descriptor or -errno. */
int group_open(const char *dir, const char *file, int flags);
int group_write(const char *dir, const char *file, const char *fmt, ...) _printf_(3, 4);
int group_read(const char *dir, const char *file, char *text, size_t room); /* NUL-terminated; dir NULL: -ENOENT. */
int group_number(const char *dir, const char *file, uint64_t *ret); /* The number in a file; "max": UINT64_MAX. */
/* The number in the line "key N" of the text; 0 without the line. */
uint64_t group_keyed(const char *text, const char *key);
uint64_t group_told(int fd); /* The number of events since the last call. fd -1: 0. */
/* All folders, or all parent folders, joined by ':'. Owned; NULL without groups, or out of memory. */
char *group_join(const RegionCgroup *c, bool parents);
bool group_above(const char *dir, char ret[static PATH_MAX]); /* The folder of the parent group of `dir`. */
/* Calls f with each process of a group, 0 for an unrelated PID namespace. Returns their number, or -errno. */
int group_each_listed(const char *dir, int (*f)(pid_t pid, void *arg), void *arg);
int group_remove(RegionCgroup *c); /* Removes the folders, whatever the pool. */
/* Kills all processes of the group, waits, and removes the group. A missing group is success. */
int group_clear(const char *dir);
