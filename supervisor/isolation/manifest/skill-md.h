/* Runs: supervisor, CLI. SKILL.md: YAML front matter of the Agent Skills specification (agentskills.io/specification).
 * Hostile YAML is refused early: no anchors, aliases, tags, second document, or deep nesting. */
#pragma once

#include "manifest/finding.h"

#define SKILL_MD_MAX (1024 * 1024)      /* bytes of the whole file */
#define SKILL_MD_MATTER_MAX (64 * 1024) /* bytes of the front matter */
#define SKILL_MD_DEPTH_MAX 8

typedef struct SkillMd {
        char *name;          /* all owned; NULL: not given */
        char *description;
        char *license;
        char *compatibility;
        json_t *metadata;      /* object of strings, or NULL */
        char **allowed_tools;  /* as listed; never policy */
} SkillMd;

/* Whether a run is possible with a name outside of the specification. Other letters can look like another skill
 * (homoglyphs), a / or leading dot like a path: such names are refused, because records and policy go by names. */
bool skill_md_name_runs(const char *name);
#define SKILL_MD_NAME_RULE \
        "only the letters a-z and A-Z, digits, hyphens, underscores, blanks and dots may be in it, and no dot in front"

void skill_md_deinit(SkillMd *m);
/* Reads the text of a SKILL.md. Every departure from the specification is a finding: FINDING_ERROR when the file is
 * unusable, else FINDING_STRICT. `folder`: the folder's own name, NULL when unknown. Returns 0 or -ENOMEM. */
int skill_md_parse(const char *text, size_t n, const char *folder_or_null, SkillMd *ret, Findings *findings);
