/* Runs: supervisor, CLI. Names of things. Region ids: 26 characters of Crockford's base32 in lower case, 48 bits of
 * time in ms and 80 random bits (the layout of a ULID), so that ids sort by time and never repeat (I-53). */
#pragma once

#include "base/util.h"

#define HOST_ID_MAX 72
/* "sha256:" and the hash of "lethe host" and the machine id (machine-id(5) asks not to show the id itself): the same in
 * all records of a machine, useless elsewhere. NULL on a machine without a machine id. Returns out. */
const char *host_id(char out[static HOST_ID_MAX]);

#define REGION_ID_LEN 26
#define REGION_ID_MAX 27
typedef char RegionId[REGION_ID_MAX];

/* Returns 0 or -errno of getrandom. */
int region_id_new(uint64_t real_usec, char ret[static REGION_ID_MAX]);
/* The first character is 0 to 7: 26 characters have 130 bits, an id has 128. Tables rely on it: names such as "state"
 * sort behind all ids. */
bool region_id_valid(const char *id);
/* The time in a valid id, in steps of a millisecond. */
uint64_t region_id_usec(const char *id);

/* Slots: [a-z][a-z0-9._/-]*, at most SLOT_NAME_MAX bytes. Both wings and the command line need the rule. */
bool slot_name_valid(const char *name);
/* Agent Skills: at most 64 lower-case letters, digits and single hyphens inside. */
bool skill_name_valid(const char *name);
/* Scopes of records, and agents: "[a-z0-9][a-z0-9._-]{0,63}". */
bool scope_name_valid(const char *name);
