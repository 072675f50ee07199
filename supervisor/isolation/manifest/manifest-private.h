/* Runs: supervisor, CLI. What the files that read lethe.json share. */
#pragma once

#include "manifest/doc.h"
#include "manifest/manifest.h"

#define MANIFEST_TEXT_MAX 4096 /* bytes of an argument, a value of the environment, the name of a file */

/* The skill's folder, in which a schema may stand in a file of its own. */
typedef struct Folder {
        int fd;
        const Bundle *bundle; /* NULL: there is none, and named files are faults */
} Folder;

#define MANIFEST_NAME_RULE "1 to 64 lower-case letters, digits, \"-\" and \"_\", a letter first"
bool manifest_name_valid(const char *s);
void manifest_add_text(Doc *d, char ***v, const char *s);
/* A schema as it stands there, or of the file that is named there, in the subset that Lethe knows. New reference or NULL with a fault. */
json_t *manifest_schema(Doc *d, const json_t *v, const char *pointer, const Folder *folder);

/* The fields about the life and end of a region: teardown, lineage, key_scope, sections, resources, release, sub_skills, notes, canon, memory, gates. After the
 * entries and reads. */
void manifest_read_region(Doc *d, const json_t *j, const Folder *folder, Manifest *m);
