/* Runs: supervisor, CLI. SKILL.md: YAML front matter as the public Agent Skills specification has it (agentskills.io/specification).
 * Hostile YAML is refused before it can cost anything: no anchors, aliases, tags, second document, or deep nesting. */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "base/util.h"
#include "manifest/finding.h"

#define SKILL_MD_MAX (1024 * 1024)      /* bytes of the whole file */
#define SKILL_MD_MATTER_MAX (64 * 1024) /* bytes of the front matter */
#define SKILL_MD_DEPTH_MAX 8

typedef struct SkillMd {
        char *name;          /* owned, all of them; NULL when not there */
        char *description;
        char *license;
        char *compatibility;
        json_t *metadata;      /* object of strings, or NULL */
        char **allowed_tools;  /* as listed; never policy */
} SkillMd;

/* Whether a run can live with a name that is against the specification. One with other letters can look like another skill's (homoglyphs), one with / or a dot
 * in front like a path: neither is for a record, or for a rule of policy that goes by names. */
bool skill_md_name_runs(const char *name);
#define SKILL_MD_NAME_RULE "only the letters a-z and A-Z, digits, hyphens, underscores, blanks and dots may be in it, and no dot in front"

void skill_md_deinit(SkillMd *m);
/* Reads the text of a SKILL.md. Every departure from the specification is a finding: FINDING_ERROR where nothing can be made of the
 * file, FINDING_STRICT where a run can live with it. `folder` is the folder's own name, NULL when unknown. Returns 0 or -ENOMEM. */
int skill_md_parse(const char *text, size_t n, const char *folder_or_null, SkillMd *ret, Findings *findings);
