/* Runs: CLI. The advice of `lethe validate` beyond the rules: entries that cannot work, and a skill's exposure. */
#pragma once

#include "manifest/skill.h"

/* Reports missing or non-executable programs, useless arguments, files missing on this host. Returns 0 or -ENOMEM. */
int skill_lint(const Skill *s, Findings *findings);

/* How much of the host and of the shared state a skill asks for: {"score": 0..100, "level": "low"|"medium"|"high",
 * "parts": [{"points", "what"}]}. Counts requests, not grants; schema/manifest.md has the weights. New reference or
 * NULL. */
json_t *skill_exposure(const Skill *s);
