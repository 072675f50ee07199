#include "engine/skill.h"

#include "engine/fold-slot.h"
#include "record/rows.h"

#include <errno.h>
#include <string.h>

#define TYPE "skill.registered"
#define BODY_MAX (16 * 1024 * 1024) /* SKILL_FILES_MAX files with long paths */

void skill_row_deinit(SkillRow *r) {
        json_decref(r->entry);
        json_decref(r->files);
        *r = (SkillRow){0};
}

void skill_rows_free(SkillRow *rows, size_t n) {
        for (size_t i = 0; i < n; i++)
                skill_row_deinit(&rows[i]);
        free(rows);
}

static int skill_row_read(Txn *t, Bytes v, SkillRow *ret) {
        _cleanup_skill_row_ SkillRow row = {0};
        const json_t *skill, *manifest;
        Bytes body;
        int r;

        if (v.n != 8)
                return -EUCLEAN;
        row.seq = be64_get(v.p);
        r = event_get(t, row.seq, &row.entry)
                ?: body_get(t, row.seq, NULL, &body)
                ?: json_parse(body.p, body.n, BODY_MAX, JSON_DEPTH_DEFAULT, &row.files, NULL);
        if (r != 0)
                return r > 0 || r == -ENOENT ? -EUCLEAN : r;
        skill = json_object_get(row.entry, "skill");
        manifest = json_object_get(row.entry, "manifest");
        row.name = json_text(json_object_get(skill, "name"));
        row.digest = json_text(json_object_get(skill, "digest"));
        row.folder = json_text(json_object_get(row.entry, "folder"));
        row.time = json_text(json_object_get(row.entry, "time"));
        row.manifest = json_text(manifest);
        if (!row.name || !row.digest || !row.folder || !row.time || (!row.manifest && !json_is_null(manifest)))
                return -EUCLEAN;
        *ret = row;
        row = (SkillRow){0};
        return 0;
}

int engine_skill_get(Txn *t, const char *name, SkillRow *ret) {
        Bytes v;

        if (!*name || strlen(name) > SKILL_NAME_MAX)
                return -ENOENT;
        return table_get(t, TABLE_SKILL, BYTES_STR(name), &v) ?: skill_row_read(t, v, ret);
}

int engine_skill_list(Txn *t, SkillRow **ret, size_t *ret_n) {
        _cleanup_cursor_ Cursor *c = NULL;
        SkillRow *rows = NULL;
        size_t n = 0;
        Bytes k, v;
        int r = cursor_open(t, TABLE_SKILL, BYTES(NULL, 0), &c);

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                r = GROW(rows, n) ? skill_row_read(t, v, &rows[n]) : -ENOMEM;
                n += r == 0;
        }
        if (r == -ENOENT) {
                *ret = rows;
                *ret_n = n;
                return 0;
        }
        skill_rows_free(rows, n);
        return r;
}

int engine_skill_register(Txn *t, const char *who, const SkillRecord *s, uint64_t *ret_seq, bool *ret_new) {
        _cleanup_skill_row_ SkillRow old = {0};
        json_t *fields, *replaced = NULL;
        int r = engine_skill_get(t, s->name, &old);

        if (r < 0 && r != -ENOENT)
                return r;
        if (r == 0 && strcmp(old.folder, s->folder) == 0 && strcmp(old.digest, s->digest) == 0) {
                *ret_seq = old.seq;
                *ret_new = false;
                return 0;
        }
        if (r == 0 &&
            !(replaced = json_pack("{s:o, s:s, s:b}", "seq", json_u64(old.seq), "digest", old.digest,
                                   "manifest_changed", strcmp(old.manifest ?: "", s->manifest ?: "") != 0)))
                return -ENOMEM;
        fields = json_pack("{s:{s:s, s:s}, s:s, s:s?, s:I, s:o*}", "skill", "name", s->name, "digest", s->digest,
                           "folder", s->folder, "manifest", s->manifest, "files",
                           (json_int_t)json_array_size(s->files), "replaces", replaced);
        r = fold_slot_append(t, &(Event){.type = TYPE, .who = who, .fields = fields, .json = s->files}, ret_seq);
        if (r == 0)
                *ret_new = true;
        return r;
}
