#include "audit/fold-state.h"
#include "engine/skill.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* The registry of skills. Each registration names the registration that is replaced; each digest is the hash of the
 * skill's list of files; table skill has the newest registration of each name. */
typedef struct FoldedSkill {
        uint64_t seq;
        char digest[SKILL_DIGEST_MAX];
} FoldedSkill;

int skills_fold(Audit *a, const json_t *o) {
        const json_t *skill = json_object_get(o, "skill"), *replaces = json_object_get(o, "replaces");
        const char *name = json_text(json_object_get(skill, "name")),
                   *digest = json_text(json_object_get(skill, "digest"));
        const char *old = json_text(json_object_get(replaces, "digest"));
        char computed[SKILL_DIGEST_MAX] = "sha256:";
        uint8_t hash[HASH_BYTES];
        FoldedSkill *f;
        uint64_t seq;
        Bytes list;
        int r;

        if (!name || !*name || strlen(name) > SKILL_NAME_MAX || !digest || strlen(digest) >= SKILL_DIGEST_MAX ||
            !json_object_get(o, "body") || !json_text(json_object_get(o, "who")))
                return audit_differs(a, "an entry lacks a field or has it of a wrong kind", "none",
                                     "skill.name, skill.digest, body and who of skill.registered");
        r = body_get(a->txn, a->seq, NULL, &list);
        if (r < 0)
                return r;
        hash_bytes(list.p, list.n, hash);
        hex_encode(hash, sizeof(hash), computed + 7);
        if (strcmp(digest, computed) != 0)
                return audit_differs(a, "a skill's digest is not the hash of its list of files", digest, "%s",
                                     computed);
        f = map_get(&a->skills, name);
        if (f && (json_get_u64(json_object_get(replaces, "seq"), &seq) < 0 || seq != f->seq || !old ||
                  strcmp(old, f->digest) != 0))
                return audit_differs(a, "a repeated registration of a skill does not name the replaced one (I-28)",
                                     old ? old : "nothing", "%s", f->digest);
        if (!f && replaces)
                return audit_differs(a, "a registration replaces a skill that was never registered",
                                     old ? old : "something", "nothing");
        f = map_have(&a->skills, name, sizeof(*f));
        if (!f)
                return -ENOMEM;
        f->seq = a->seq;
        strcpy(f->digest, digest);
        return 0;
}

int skills_check(Audit *a) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint64_t n = 0;
        Bytes k, v;
        int r = cursor_open(a->txn, TABLE_SKILL, BYTES(NULL, 0), &c);

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                char name[SKILL_NAME_MAX + 1] = "";
                const FoldedSkill *f;

                if (k.n > SKILL_NAME_MAX || v.n != 8)
                        return -EUCLEAN;
                memcpy(name, k.p, k.n);
                f = map_get(&a->skills, name);
                if (!f || f->seq != be64_get(v.p))
                        return audit_store_differs(a, "table skill differs from the ledger",
                                                   audit_text("%" PRIu64, be64_get(v.p)).s,
                                                   "%s: registered at %" PRIu64, name, f ? f->seq : 0);
                n++;
        }
        if (r == -ENOENT && n != a->skills.n)
                return audit_store_differs(a, "table skill lacks rows of the ledger", audit_text("%" PRIu64, n).s,
                                           "%zu rows", a->skills.n);
        return r == -ENOENT ? 0 : r;
}
