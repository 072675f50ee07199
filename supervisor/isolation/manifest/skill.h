/* Runs: supervisor, CLI. A skill on disk: the folder, SKILL.md, lethe.json, and the digest of every file. */
#pragma once

#include "manifest/copy.h"
#include "manifest/manifest.h"
#include "manifest/skill-md.h"

enum {
        SKILL_E_MISSING = 1, /* no such folder, or no SKILL.md in the folder: 127 */
        SKILL_E_BAD,         /* SKILL.md or lethe.json is refused */
        SKILL_E_BUNDLE, /* a file is refused: symlink out of the folder, FIFO, device, too many, unreadable, changed */
        SKILL_E_OTHERS,      /* another user can change the skill */
        SKILL_E_COPY,        /* the copy in the store cannot be made, or was changed */
};

typedef struct Skill {
        char *dir;          /* absolute, symlinks resolved */
        SkillMd md;
        bool has_manifest;  /* lethe.json is there */
        Manifest manifest;  /* without lethe.json: manifest_none() */
        Bundle bundle;      /* files and the digest over them */
        Copy copy;          /* the copy that a region gets; path NULL: the skill was only inspected and cannot be run */
        char **warnings;    /* NULL-terminated; errors for `lethe validate` that do not prevent a run */
        /* users besides the first: the skill_free() of the last user frees. A shared skill is not changed */
        _Atomic unsigned more_users;
} Skill;

/* The source of a skill. */
typedef struct SkillSource {
        const char *dir;
        const char *store_dir; /* a copy is found or made there; NULL: `dir` is read, only for inspection */
        const char *digest; /* other content is treated as with store_dir NULL; NULL: any content */
        bool gone;             /* `dir` is not read, the copy with `digest` is used: for skills that ran already */
} SkillSource;
/* Loads a skill (lenient about SKILL.md). Returns 0, SKILL_E_* with file, line or pointer, value and rule; -errno. */
int skill_load_from(const SkillSource *from, Skill **ret, Diag *reterr);
static inline int skill_load(const char *dir, Skill **ret, Diag *reterr) {
        return skill_load_from(&(const SkillSource){.dir = dir}, ret, reterr);
}
/* Loads a skill for `lethe validate`: all findings, no verdict. Unreadable parts are empty in *ret. Returns 0,
 * SKILL_E_MISSING (no folder), SKILL_E_BUNDLE, -errno. */
int skill_inspect(const char *dir, Skill **ret, Findings *findings, Diag *reterr);
/* Whether only root and this user can change the skill's folder, the files in the folder and the folders above (I-82).
 * Returns 0, SKILL_E_OTHERS with a message, -errno. */
int skill_check_owner(const Skill *s, Diag *reterr);
Skill *skill_use(Skill *s);
void skill_free(Skill *s);
static inline void skill_freep(Skill **s) {
        skill_free(*s);
}
#define _cleanup_skill_ _cleanup_(skill_freep)
