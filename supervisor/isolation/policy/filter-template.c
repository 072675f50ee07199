/* The filter of a template, which all regions that it makes have below their own. What it refuses is answered in one of two ways:
 *
 *   in the template   ENOSYS: SECCOMP_RET_TRACE without a tracer that asked for it
 *   in a region       as the region's own filter says: a notification goes before SECCOMP_RET_TRACE, so that the denial is recorded
 *
 * So it must allow whatever a region's filter allows with some grant, and what a worker's steps need below a template. */
#include "policy/filter-private.h"

#include <errno.h>

/* Of the steps, and of no region: namespaces, mounts, the file that carries the words, rules of Landlock. */
static const char *const of_the_steps[] = {"clone3", "fsopen", "fsconfig", "fsmount", "open_tree", "move_mount", "mount_setattr", "openat2", "memfd_create",
                                           "landlock_add_rule"};

static const char *const of_regions[] = {
#define ALLOW(call) #call,
#define PATH(call, path, at, writes) #call,
#define META(call, path, at) #call,
#define DENY(call, rule, error)
#include "policy/filter-calls.def"
#undef ALLOW
#undef PATH
#undef META
#undef DENY
};

/* A call that this architecture or this libseccomp does not have stays refused. */
static int template_allow(scmp_filter_ctx ctx, const char *call) {
        int nr = seccomp_syscall_resolve_name(call);

        return nr < 0 ? 0 : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 0);
}

static int template_rules(scmp_filter_ctx ctx, const void *arg) {
        int e = 0;

        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(of_the_steps); i++)
                e = template_allow(ctx, of_the_steps[i]);
        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(of_regions); i++)
                e = template_allow(ctx, of_regions[i]);
        for (size_t i = 0; e == 0 && i < n_filter_rows; i++)
                e = template_allow(ctx, filter_rows[i].call);
        for (size_t i = 0; e == 0 && i < n_filter_numbers; i++)
                e = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, filter_numbers[i].nr, 0);
        return e;
}

int filter_of_template(struct sock_filter **ret, size_t *ret_n) {
        return filter_compile_rules(SCMP_ACT_TRACE(0), template_rules, ret, ret_n);
}
