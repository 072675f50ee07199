/* Runs: supervisor. Files of control groups, for the parts of region-cgroup. All return 0 or -errno. */
#pragma once

#include "region/region-cgroup.h"

#include <limits.h>
#include <stdatomic.h>

typedef enum GroupFile {
        GROUP_MEMORY_LIMIT, GROUP_SWAP_LIMIT, GROUP_MEMORY_PEAK, GROUP_MEMORY_NOW, GROUP_PIDS_MAX, GROUP_PIDS_PEAK, GROUP_CPU_USAGE,
        GROUP_MEMORY_TASKS, GROUP_PIDS_TASKS, GROUP_CPU_TASKS,
        GROUP_FILES,
} GroupFile;

/* Opened when they are used for the first time. */
struct CgroupFiles {
        int fd[GROUP_FILES];
        atomic_uint *kept; /* borrowed: how many have such */
};

/* The path of our own group in the hierarchy of `controller` ("" for version 2), from lines "ID:controllers:path". Owned or NULL. */
char *group_of_self(const char *self, const char *controller);
/* Version 2: where a supervisor stands whose regions' groups are beside it. */
bool group_is_leaf(const char *dir);
/* Version 2: it has those that a region needs. */
bool group_has_controllers(const char *dir);
/* From now on they are kept open, and `oom` and `pids_events` with them. Out of memory they are opened each time. */
void group_keep_files(RegionCgroup *c, atomic_uint *kept);
/* Closes all that is open. */
void group_close_files(RegionCgroup *c);
int group_file_write(const RegionCgroup *c, GroupFile f, const char *fmt, ...) _printf_(3, 4);
int group_file_read(const RegionCgroup *c, GroupFile f, char *text, size_t room);
int group_file_number(const RegionCgroup *c, GroupFile f, uint64_t *ret);

/* Returns a descriptor or -errno. */
int group_open(const char *dir, const char *file, int flags);
int group_write(const char *dir, const char *file, const char *fmt, ...) _printf_(3, 4);
/* NUL-terminated; dir NULL: -ENOENT. */
int group_read(const char *dir, const char *file, char *text, size_t room);
/* The number in the line "key N" of a file of lines; 0 without one. */
uint64_t group_keyed(const char *text, const char *key);
/* How often an eventfd was written to since the last call. -1: never. */
uint64_t group_told(int fd);
/* The folder of the group in which `dir` stands. */
bool group_above(const char *dir, char ret[static PATH_MAX]);
/* Kills all that is in the group, waits, and removes it; one that is not there is removed. */
int group_clear(const char *dir);
