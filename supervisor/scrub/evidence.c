/* Runs: supervisor. */
#include "scrub/evidence.h"

/* The classes of storage that an invocation leaves secrets in, as they were found by dumping physical memory after one. */
static const char *const classes[] = {
        "anonymous_memory",  /* heap, stacks, data of every process, also what was unmapped while it ran */
        "shared_memory",     /* MAP_SHARED mappings */
        "scratch_files",     /* tmpfs pages, or blocks of the host's disk in tier landlock */
        "program_image",     /* arguments, environment, copied pages of the program */
        "pipe_buffers",      /* standard streams and the skill's pipe */
        "socket_buffers",
        "file_names",        /* directory entries of the scratch */
        "kernel_stacks",     /* saved registers, copies of system call arguments */
};

static void classes_fill(Evidence *e) {
        for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
                e->not_covered[i] = classes[i];
}

void evidence_collect(const Region *r, Evidence *ret) {
        size_t n = ARRAY_SIZE(classes);

        *ret = (Evidence){
                .discipline = "none",
                .grade = "unscrubbed",
                .bytes_held = r->budget.peak_memory_bytes,
                .bound_usec = r->grant->cancel_bound_usec,
        };
        /* Without a memory control group, the scratch is not in the peak of the processes when it was never looked at together. */
        if (!r->cgroup.memory)
                ret->bytes_held = MAX(ret->bytes_held, r->budget.scratch_bytes);
        classes_fill(ret);
        for (size_t i = 0; i < r->grant->n_files; i++)
                if (r->grant->files[i].write) {
                        ret->not_covered[n++] = "writable_mounts"; /* the operator's files: meant to stay */
                        break;
                }
        assert(n < EVIDENCE_CLASSES_MAX);
}

void evidence_unwatched(Evidence *ret) {
        *ret = (Evidence){.discipline = "none", .grade = "unscrubbed"};
        classes_fill(ret);
}

json_t *evidence_to_json(const Evidence *e) {
        _cleanup_json_ json_t *list = json_array();

        for (size_t i = 0; list && e->not_covered[i]; i++)
                if (json_array_append_new(list, json_string(e->not_covered[i])) < 0)
                        return NULL;
        if (!list)
                return NULL;
        return json_pack("{s:s, s:s, s:I, s:I, s:I, s:i, s:O, s:[], s:I, s:I, s:{s:I, s:I, s:I, s:I, s:b}}", "discipline", e->discipline, "grade", e->grade,
                         "bytes_held", (json_int_t)e->bytes_held, "bytes_overwritten", (json_int_t)e->bytes_overwritten, "bytes_verified",
                         (json_int_t)e->bytes_verified, "passes", (int)e->passes, "not_covered", list, "callbacks", "handles_unbound",
                         (json_int_t)e->vault.handles_unbound, "usec", (json_int_t)e->usec, "sections", "count", (json_int_t)e->vault.sections,
                         "bytes_held", (json_int_t)e->vault.bytes_held, "bytes_overwritten", (json_int_t)e->vault.bytes_overwritten,
                         "bytes_verified", (json_int_t)e->vault.bytes_verified, "locked", e->vault.resident);
}
