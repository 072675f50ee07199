/* Runs: CLI, supervisor. SKILL|DIR of the command line: which folder that is, and whether it still is what was registered. */
#pragma once

#include "engine/skill.h"
#include "manifest/skill-kept.h"

enum {
        REGISTRY_E_UNKNOWN = 1, /* neither a registered name nor a folder: 127 */
        REGISTRY_E_CHANGED,     /* the folder is no longer what was registered: the message names the first file; 125 */
        REGISTRY_E_SKILL,       /* the skill cannot be loaded: 125 */
};

typedef struct RegistryUse {
        const char *store_dir; /* the skill is to run: its copy is there, or is made there; NULL: it is only looked at */
        SkillsKept *kept;      /* or NULL */
        bool foreign;          /* a folder that another user can change may be run; a registered skill never */
} RegistryUse;

/* Text with a '/' (also "." and "..") is a folder; else a registered name; else a folder of that name. t NULL: no store is there yet.
 * registered: whatever it looks like, it is the name of a registered skill or nothing. Returns 0, REGISTRY_E_*, -errno. */
int registry_load(Txn *t_or_null, const RegistryUse *use, const char *skill, bool registered, Skill **ret, Diag *reterr);
/* Loads the folder of a registered skill and holds it against its record. A folder that differs is not copied. */
int registry_load_row(const SkillRow *row, const RegistryUse *use, Skill **ret, Diag *reterr);
/* Whether a skill of this digest is registered by that name, without waiting for a writer; `otherwise` when that cannot be read now. */
bool registry_has(Store *store, const char *name, const char *digest, bool otherwise);
