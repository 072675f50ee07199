#include "engine/skill.h"

#include "engine/fold-slot.h"
#include "record/rows.h"

#include <errno.h>
#include <string.h>

#define TYPE "skill.registered"
#define BODY_MAX (16 * 1024 * 1024) /* SKILL_FILES_MAX files with long paths */

void skill_row_deinit(SkillRow *r) {
        free(r->name);
        free(r->folder);
        free(r->digest);
        free(r->manifest);
        free(r->time);
        json_decref(r->files);
        *r = (SkillRow){0};
}

static int skill_text(const json_t *o, const char *key, char **ret) {
        const char *s = json_text(json_object_get(o, key));

        if (!s)
                return -EUCLEAN;
        *ret = strdup(s);
        return *ret ? 0 : -ENOMEM;
}

static int skill_row_read(Txn *t, Bytes v, SkillRow *ret) {
        _cleanup_skill_row_ SkillRow row = {0};
        _cleanup_json_ json_t *entry = NULL;
        Bytes body;
        int r;

        if (v.n != 8)
                return -EUCLEAN;
        row.seq = be64_get(v.p);
        r = event_get(t, row.seq, &entry)
                ?: skill_text(json_object_get(entry, "skill"), "name", &row.name)
                ?: skill_text(json_object_get(entry, "skill"), "digest", &row.digest)
                ?: skill_text(entry, "folder", &row.folder)
                ?: skill_text(entry, "time", &row.time);
        if (r == 0 && !json_is_null(json_object_get(entry, "manifest")))
                r = skill_text(entry, "manifest", &row.manifest);
        if (r == 0)
                r = body_get(t, row.seq, NULL, &body)
                        ?: json_parse(body.p, body.n, BODY_MAX, JSON_DEPTH_DEFAULT, &row.files, NULL);
        if (r != 0)
                return r > 0 || r == -ENOENT ? -EUCLEAN : r;
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
        for (size_t i = 0; i < n; i++)
                skill_row_deinit(&rows[i]);
        free(rows);
        return r;
}

int engine_skill_register(Txn *t, const char *who, const SkillRecord *s, uint64_t *ret_seq, bool *ret_new) {
        _cleanup_skill_row_ SkillRow old = {0};
        _cleanup_json_ json_t *fields = NULL;
        _cleanup_free_ char *files = NULL;
        size_t n;
        int r = engine_skill_get(t, s->name, &old);

        if (r < 0 && r != -ENOENT)
                return r;
        if (r == 0 && strcmp(old.folder, s->folder) == 0 && strcmp(old.digest, s->digest) == 0) {
                *ret_seq = old.seq;
                *ret_new = false;
                return 0;
        }
        fields = json_pack("{s:{s:s, s:s}, s:s, s:s?, s:I}", "skill", "name", s->name, "digest", s->digest, "folder",
                           s->folder, "manifest", s->manifest, "files", (json_int_t)json_array_size(s->files));
        if (!fields)
                return -ENOMEM;
        if (r == 0 &&
            json_object_set_new(fields, "replaces",
                                json_pack("{s:o, s:s, s:b}", "seq", json_u64(old.seq), "digest", old.digest,
                                          "manifest_changed", strcmp(old.manifest ?: "", s->manifest ?: "") != 0)) < 0)
                return -ENOMEM;
        r = json_canonical(s->files, &files, &n)
                ?: fold_slot_append(
                       t, &(Event){.type = TYPE, .who = who, .fields = fields, .payload = files, .n_payload = n},
                       ret_seq);
        if (r < 0)
                return r;
        *ret_new = true;
        return 0;
}
