/* Runs: supervisor, CLI. The registry of skills: the registrations under a name, as events skill.registered. A changed
 * skill or manifest gets a new event; the content of an event never changes (I-28). */
#pragma once

#include "base/json.h"
#include "base/util.h"
#include "store/store.h"

#define SKILL_NAME_MAX 64
#define SKILL_DIGEST_MAX 72 /* "sha256:", 64 hex, NUL */

typedef struct SkillRecord {
        const char *name;     /* skill_name_valid() */
        const char *folder;   /* absolute path on the host */
        const char *digest;   /* "sha256:…" over the list of files */
        const char *manifest; /* digest of lethe.json, NULL for no manifest */
        const json_t *files;  /* array; goes to the event's body */
} SkillRecord;

/* Registers in the caller's write transaction. An unchanged folder and digest appends no event: *ret_new is false,
 * *ret_seq the existing event. Returns 0 or -errno. */
int engine_skill_register(Txn *t, const char *who, const SkillRecord *r, uint64_t *ret_seq, bool *ret_new);

typedef struct SkillRow {
        uint64_t seq;
        json_t *entry; /* owned; lends the texts below */
        const char *name, *folder, *digest;
        const char *manifest; /* or NULL */
        const char *time;     /* RFC 3339 */
        json_t *files;        /* as registered; owned */
} SkillRow;
void skill_row_deinit(SkillRow *r);
void skill_rows_free(SkillRow *rows, size_t n);
#define _cleanup_skill_row_ _cleanup_(skill_row_deinit)

/* Returns 0, -ENOENT for an unknown name, -EUCLEAN, -errno. */
int engine_skill_get(Txn *t, const char *name, SkillRow *ret);
/* All, by name. */
int engine_skill_list(Txn *t, SkillRow **ret, size_t *ret_n);
