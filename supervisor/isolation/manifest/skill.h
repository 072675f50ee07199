/* Runs: supervisor, CLI. A skill as it lies on disk: its folder, what SKILL.md and lethe.json say, and the digest of every file. */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "base/util.h"
#include "manifest/bundle.h"
#include "manifest/copy.h"
#include "manifest/manifest.h"
#include "manifest/skill-md.h"

enum {
        SKILL_E_MISSING = 1, /* no folder there, or no SKILL.md in it: 127 */
        SKILL_E_BAD,         /* SKILL.md or lethe.json is refused */
        SKILL_E_BUNDLE,      /* a file in the folder is refused: symlink out of it, FIFO, device, too many, unreadable, changed meanwhile */
        SKILL_E_OTHERS,      /* another user can change it */
        SKILL_E_COPY,        /* its copy in the store cannot be made, or is not what it was */
};

typedef struct Skill {
        char *dir;          /* absolute, symlinks resolved */
        SkillMd md;
        bool has_manifest;  /* lethe.json is there */
        Manifest manifest;  /* without lethe.json: nothing is asked for */
        Bundle bundle;      /* files and the digest over them */
        Copy copy;          /* what a region is given; path NULL: the skill was looked at only, and cannot be run */
        char **warnings;    /* NULL-terminated; what `lethe validate` would call errors but a run can live with */
        _Atomic unsigned more_users; /* but the first: skill_free() frees it for the last. What several use does not change */
} Skill;

/* Where a skill comes from. */
typedef struct SkillSource {
        const char *dir;
        const char *store_dir; /* a copy is there, or made there, and everything is read from the copy; NULL: `dir` itself is read, and no region can have it */
        const char *digest;    /* of no other content is a copy made: with another one the skill is loaded as by NULL above; NULL: of any */
        bool gone;             /* `dir` is not looked at, its copy with `digest` is all there is: for what ran already */
} SkillSource;
/* Loads it (lenient about SKILL.md). Returns 0, SKILL_E_* with a message that names file, line or pointer, value and rule; -errno. */
int skill_load_from(const SkillSource *from, Skill **ret, Diag *reterr);
static inline int skill_load(const char *dir, Skill **ret, Diag *reterr) {
        return skill_load_from(&(const SkillSource){.dir = dir}, ret, reterr);
}
/* The same for `lethe validate`: everything that was found, nothing decided. What could not be read is empty in *ret.
 * Returns 0, SKILL_E_MISSING (no folder), SKILL_E_BUNDLE, -errno. */
int skill_inspect(const char *dir, Skill **ret, Findings *findings, Diag *reterr);
/* Whether root and this user alone can change the skill's folder, each file in it and each folder above it (I-82). Returns 0, SKILL_E_OTHERS with a
 * message, -errno. */
int skill_check_owner(const Skill *s, Diag *reterr);
Skill *skill_use(Skill *s);
void skill_free(Skill *s);
static inline void skill_freep(Skill **s) {
        skill_free(*s);
}
#define _cleanup_skill_ _cleanup_(skill_freep)
