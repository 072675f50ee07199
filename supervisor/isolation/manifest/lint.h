/* Runs: CLI. What `lethe validate` says beyond the rules of the files: things that will not work as they stand, and what a skill asks for. */
#pragma once

#include "base/json.h"
#include "manifest/finding.h"
#include "manifest/skill.h"

/* Programs that are missing or cannot be executed, arguments that will not be found, files that this host lacks. Returns 0 or -ENOMEM. */
int skill_lint(const Skill *s, Findings *findings);

/* How much of the host and of the shared state a skill asks for: {"score": 0..100, "level": "low"|"medium"|"high", "parts": [{"points",
 * "what"}]}. A sum of what is asked, not of what is granted; schema/manifest.md has the weights. New reference or NULL. */
json_t *skill_exposure(const Skill *s);
