/* Runs: supervisor, CLI. lethe.json: the requests of a skill (schema/manifest.md, schema/lethe.schema.json). */
#pragma once

#include "manifest/bundle.h"
#include "manifest/manifest-types.h"

void manifest_deinit(Manifest *m);
/* The manifest of a skill without lethe.json. */
Manifest manifest_none(void);
/* Reads the text of a lethe.json. Each fault is a finding at FINDING_ERROR, and all faults are found. A slot schema
 * that names a file is read from the bundle behind dirfd (bundle NULL: a fault); no other file is read. Returns 0 or
 * -ENOMEM; *ret is set only when there is no fault. */
int manifest_parse(const char *text, size_t n, int dirfd, const Bundle *bundle_or_null, Manifest *ret,
                   Findings *findings);
