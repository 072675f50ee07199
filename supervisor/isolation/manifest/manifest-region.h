/* Runs: supervisor, CLI. lethe.json: the fields about the life and the end of a region, and schemas. */
#pragma once

#include "manifest/manifest.h"

#define MANIFEST_TEXT_MAX 4096 /* bytes of an argument, a value of the environment, the name of a file */

/* The skill's folder, from which a schema file is read. */
typedef struct SkillFolder {
        int fd;
        const Bundle *bundle; /* NULL: no folder, and a schema that names a file is a fault */
} SkillFolder;

#define MANIFEST_NAME_RULE "1 to 64 lower-case letters, digits, \"-\" and \"_\", a letter first"
bool manifest_name_valid(const char *s);
/* The schema v, or the schema in the file that v names, in Lethe's subset. New reference or NULL with a fault. */
json_t *manifest_schema(Doc *d, const Node *v, const SkillFolder *folder);

/* "cognition" of "session": {"role"?,"compressor"?,"k"}, new reference, or NULL with a fault. */
json_t *manifest_cognition(Doc *d, const Node *v, const SkillFolder *folder);

/* "mcp": as Manifest.mcp. */
void manifest_read_mcp(Doc *d, const Node *v, json_t **ret);

/* Reads the fields about the life and end of a region: teardown, lineage, key_scope, sections, session, resources, release,
 * sub_skills, notes, canon, memory, gates. To be called after the entries and reads are read. */
void manifest_read_region(Doc *d, const Node *j, const SkillFolder *folder, Manifest *m);
