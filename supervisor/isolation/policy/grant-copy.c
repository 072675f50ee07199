/* Frees, copies and compares grants. A copy is for a region that is prepared before its invocation: only the rights. */
#include "policy/grant.h"
#include "policy/allow.h"
#include "policy/merge.h"
#include "policy/place.h"

#include <errno.h>
#include <string.h>

typedef struct GrantMember {
        enum { GRANT_VALUE, GRANT_TEXT, GRANT_LIST, GRANT_JSON } kind;
        size_t at, size; /* in Grant, bytes */
} GrantMember;

#define ROW(kind, member) {kind, offsetof(Grant, member), sizeof(((Grant *)NULL)->member)}
#define VALUE(member) ROW(GRANT_VALUE, member)
#define TEXT(member) ROW(GRANT_TEXT, member)
#define LIST(member) ROW(GRANT_LIST, member)
#define JSON(member) ROW(GRANT_JSON, member)

/* The rights, which equal grants have in common; further rights are arrays of structs. */
static const GrantMember grant_rights[] = {
        VALUE(client), VALUE(budget), VALUE(min_tier), VALUE(tier), VALUE(uids), VALUE(max_regions), VALUE(session_idle_usec),
        VALUE(layers),
        VALUE(max_of_skill), TEXT(skill_name), TEXT(skill_digest), TEXT(skill_dir), TEXT(skill_folder),
        TEXT(program), TEXT(program_copy), TEXT(program_link), TEXT(program_end), TEXT(workdir), TEXT(interpreter),
        VALUE(program_granted), VALUE(program_loose), LIST(preload), LIST(sub_skills), LIST(resources),
        VALUE(network), VALUE(network_closed), VALUE(publishes), VALUE(n_publishes), VALUE(proc), VALUE(terminal), VALUE(terminals), VALUE(on_denial),
        VALUE(report_paths),        VALUE(cancel_declared), VALUE(grace_usec), VALUE(cancel_ceiling_usec), VALUE(discipline), VALUE(passes),
        VALUE(lineage), VALUE(key_scope), VALUE(embodiment), VALUE(commit),
        JSON(sections), JSON(session), JSON(gates), JSON(slots), LIST(reads), LIST(writes), TEXT(notes), TEXT(canon),
        TEXT(kernels), VALUE(own_notes),
        JSON(routes), JSON(secrets),
};
/* The invocation's own data, and the history of the grant. */
static const GrantMember grant_untold[] = {
        LIST(argv), LIST(env), TEXT(name), TEXT(caller_dir), VALUE(trace), JSON(raised), JSON(reductions), JSON(beyond),
};

static void member_free(Grant *g, const GrantMember *m) {
        void *at = (char *)g + m->at;

        switch (m->kind) {
        case GRANT_TEXT:
                free(*(char **)at);
                break;
        case GRANT_LIST:
                strv_free(*(char ***)at);
                break;
        case GRANT_JSON:
                json_decref(*(json_t **)at);
                break;
        case GRANT_VALUE:
                break;
        }
}

static int member_copy(const Grant *g, const GrantMember *m, Grant *to) {
        const void *from = (const char *)g + m->at;
        void *at = (char *)to + m->at;

        switch (m->kind) {
        case GRANT_TEXT:
                return text_copy(at, *(char *const *)from);
        case GRANT_LIST:
                return strv_add_all(at, *(char **const *)from);
        case GRANT_JSON:
                *(json_t **)at = json_deep_copy(*(json_t *const *)from);
                return *(json_t **)at || !*(json_t *const *)from ? 0 : -ENOMEM;
        case GRANT_VALUE:
                memcpy(at, from, m->size);
        }
        return 0;
}

static bool same_text(const char *a, const char *b) {
        return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_list(char *const *a, char *const *b) {
        size_t n = strv_length(a);

        if (n != strv_length(b))
                return false;
        for (size_t i = 0; i < n; i++)
                if (strcmp(a[i], b[i]) != 0)
                        return false;
        return true;
}

static bool member_same(const Grant *a, const Grant *b, const GrantMember *m) {
        const void *x = (const char *)a + m->at, *y = (const char *)b + m->at;

        switch (m->kind) {
        case GRANT_TEXT:
                return same_text(*(char *const *)x, *(char *const *)y);
        case GRANT_LIST:
                return same_list(*(char **const *)x, *(char **const *)y);
        case GRANT_JSON:
                return *(json_t *const *)x == *(json_t *const *)y ||
                       json_equal(*(json_t *const *)x, *(json_t *const *)y);
        case GRANT_VALUE:
                break;
        }
        return memcmp(x, y, m->size) == 0;
}

void grant_deinit(Grant *g) {
        for (size_t i = 0; i < ARRAY_SIZE(grant_rights); i++)
                member_free(g, &grant_rights[i]);
        for (size_t i = 0; i < ARRAY_SIZE(grant_untold); i++)
                member_free(g, &grant_untold[i]);
        file_grants_free(g->files, g->n_files);
        net_grants_free(g->connects, g->n_connects);
        net_names_free(g->allows, g->n_allows);
        free(g->privates);
        memory_rights_free(g->memory, g->n_memory);
        for (size_t i = 0; i < g->n_releases; i++) {
                free(g->releases[i].entry);
                strv_free(g->releases[i].argv);
        }
        free(g->releases);
        *g = (Grant){0};
}

static int copy_releases(const Grant *g, Grant *to) {
        int r = 0;

        to->releases = calloc(g->n_releases + 1, sizeof(*to->releases));
        if (!to->releases)
                return -ENOMEM;
        for (; r == 0 && to->n_releases < g->n_releases; to->n_releases++) {
                const ReleaseGrant *from = &g->releases[to->n_releases];
                ReleaseGrant *release = &to->releases[to->n_releases];

                release->budget = from->budget;
                r = text_copy(&release->entry, from->entry) ?: strv_add_all(&release->argv, from->argv);
        }
        return r;
}

int grant_copy_untold(const Grant *g, Grant *ret) {
        _cleanup_grant_ Grant c = {.cancel_bound_usec = g->cancel_bound_usec, .teardown_usec = g->teardown_usec,
                                   .cancel_most_usec = g->cancel_most_usec, .mapping_nsec = g->mapping_nsec};
        int r = memory_rights_copy(g->memory, g->n_memory, &c.memory);

        c.n_memory = r == 0 ? g->n_memory : 0;
        memcpy(c.limit_by, g->limit_by, sizeof(c.limit_by));
        memcpy(c.listen, g->listen, sizeof(c.listen));
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(grant_rights); i++)
                r = member_copy(g, &grant_rights[i], &c);
        for (size_t i = 0; r == 0 && i < g->n_files; i++)
                r = place_add(&c, &g->files[i]);
        for (size_t i = 0; r == 0 && i < g->n_connects; i++)
                r = merge_add_connect(&c, &g->connects[i]);
        r = r ?: allow_copy(g, &c);
        r = r ?: copy_releases(g, &c);
        if (r < 0)
                return r;
        *ret = c;
        c = (Grant){0};
        return 0;
}

static bool same_reach(const Grant *a, const Grant *b) {
        if (a->n_files != b->n_files || a->n_connects != b->n_connects ||
            memcmp(a->listen, b->listen, sizeof(a->listen)) != 0 || !allow_same(a, b))
                return false;
        for (size_t i = 0; i < a->n_files; i++)
                if (!same_text(a->files[i].source, b->files[i].source) ||
                    !same_text(a->files[i].target, b->files[i].target) || !same_text(a->files[i].of, b->files[i].of) ||
                    a->files[i].write != b->files[i].write || a->files[i].overlay != b->files[i].overlay || a->files[i].mask != b->files[i].mask)
                        return false;
        for (size_t i = 0; i < a->n_connects; i++)
                if (!same_text(a->connects[i].text, b->connects[i].text))
                        return false;
        return true;
}

static bool same_releases(const Grant *a, const Grant *b) {
        if (a->n_releases != b->n_releases)
                return false;
        for (size_t i = 0; i < a->n_releases; i++)
                if (!same_text(a->releases[i].entry, b->releases[i].entry) ||
                    !same_list(a->releases[i].argv, b->releases[i].argv) ||
                    memcmp(&a->releases[i].budget, &b->releases[i].budget, sizeof(Budget)) != 0)
                        return false;
        return true;
}

bool grant_same(const Grant *a, const Grant *b) {
        for (size_t i = 0; i < ARRAY_SIZE(grant_rights); i++)
                if (!member_same(a, b, &grant_rights[i]))
                        return false;
        return same_reach(a, b) && same_releases(a, b) &&
               (!a->cancel_declared || a->cancel_bound_usec == b->cancel_bound_usec) &&
               memory_rights_same(a->memory, a->n_memory, b->memory, b->n_memory);
}
