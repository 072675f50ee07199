/* Runs: supervisor. A cache of loaded skills: an unchanged skill is not read, hashed and parsed again.
 *
 * A change is seen in the look of the folder (stat-digest.h): device, inode, size, mode, links and times of each file. Only
 * the host's administrator can set back the time of an inode's change. A skill is cached only when:
 * - the last change is older than skills_quiet_sec, so that no write can follow within the same clock tick;
 * - the manifest names no files of the host;
 * - the folder has few files (64);
 * - only root and the supervisor's user can write to the files: a write through a mapping need not change a time. */
#pragma once

#include "manifest/skill.h"

typedef struct SkillsKept SkillsKept;

SkillsKept *skills_kept_new(void); /* NULL: out of memory; loading works without a cache too */
void skills_kept_free(SkillsKept *k);
/* Loads like skill_load_from(). k: NULL, or shared by any number of threads. A cached skill is used only when the look
 * of its copy is unchanged; the copy is checked at each call. */
extern int skills_quiet_sec; /* least age of the last change; tests change the value */
int skill_load_kept(SkillsKept *k, const SkillSource *from, Skill **ret, Diag *reterr);
