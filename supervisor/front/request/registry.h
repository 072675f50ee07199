/* Runs: CLI, supervisor. SKILL|DIR of the command line: finds the folder, and checks a registered skill. */
#pragma once

#include "engine/skill.h"
#include "manifest/skill-kept.h"

enum {
        REGISTRY_E_UNKNOWN = 1, /* neither a registered name nor a folder: 127 */
        REGISTRY_E_CHANGED,     /* the folder differs from the registration: the message names the first file; 125 */
        REGISTRY_E_SKILL,       /* the skill cannot be loaded: 125 */
};

typedef struct RegistryUse {
        const char *store_dir; /* where the copy of a skill to run is, or is made; NULL: the skill is only inspected */
        SkillsKept *kept;      /* may be NULL */
        bool foreign;          /* allow a folder that another user can change; never for a registered skill */
} RegistryUse;

/* Text with a '/' (also "." and "..") is a folder; else a registered name; else a folder of that name. t NULL: no store
 * exists yet. registered: the text is always a registered name. Returns 0, REGISTRY_E_*, -errno. */
int registry_load(Txn *t_or_null, const RegistryUse *use, const char *skill, bool registered, Skill **ret,
                  Diag *reterr);
/* Loads the folder of a registered skill and checks its digest. A folder that differs is not copied. */
int registry_load_row(const SkillRow *row, const RegistryUse *use, Skill **ret, Diag *reterr);
/* Is a skill of this digest registered by the name? Does not wait; `otherwise`: the store cannot be read now. */
bool registry_has(Store *store, const char *name, const char *digest, bool otherwise);
