/* Runs: supervisor. Skills that were loaded, for who loads the same ones again and again: as long as no file and no folder of one has changed, it is not
 * read, hashed and parsed anew. What tells is what the kernel keeps of each: device, inode, size, mode, links and the times of its last changes, of which
 * nobody but the host's administrator can set back the one of the inode. A skill is kept only when that time is long over, so that
 * nothing can have been written within the same tick; and never one whose manifest names files of the host, that has many files, or that somebody else
 * than we and root can write to: what is written through a mapping need not change a time. */
#pragma once

#include "manifest/skill.h"

typedef struct SkillsKept SkillsKept;

SkillsKept *skills_kept_new(void); /* NULL: out of memory, which is as good as none */
void skills_kept_free(SkillsKept *k);
/* As skill_load_from(). k: NULL, or for any number of threads. A skill that is kept has a copy that looks as it was made: that is looked at each time. */
extern int skills_quiet_sec; /* how long ago the last change must be; tests change it */
int skill_load_kept(SkillsKept *k, const SkillSource *from, Skill **ret, Diag *reterr);
