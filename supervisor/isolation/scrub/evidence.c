/* Runs: supervisor. */
#include "scrub/evidence.h"

#include "scrub/release_hook/hook.h"

#include <string.h>

static const char *const missed_names[] = GUARD_MISSED_NAMES;
static_assert(ARRAY_SIZE(missed_names) == GUARD_MISSED_COUNT, "a name for each reason");

static void evidence_add_class(TeardownEvidence *e, const char *name) {
        size_t n = 0;

        while (e->not_covered[n])
                n++;
        assert(n + 1 < EVIDENCE_CLASSES_MAX);
        e->not_covered[n] = name;
}

/* The classes of storage with secrets left after an invocation, as found in dumps of physical memory. */
static void evidence_judge_early(TeardownEvidence *e) {
        if (!e->early && (!e->watched || e->freed.missed > e->freed.kept)) {
                evidence_add_class(e, "freed_memory"); /* at run time: munmap, brk, madvise, execve */
                evidence_add_class(e, "freed_files");  /* unlinked or cut short at run time */
        }
        if (e->freed.kept > 0)
                evidence_add_class(e, "exec_arguments"); /* of images left by execve: still to be read */
        if (e->freed.unheld > 0)
                evidence_add_class(e, "thread_races"); /* a second task may have written again */
}

static void evidence_judge_classes(TeardownEvidence *e, bool writable_mounts) {
        static const char *const held[] = {
                "anonymous_memory", /* heap, stacks, data, copied pages of the program, arguments, environment */
                "shared_memory",    /* MAP_SHARED mappings */
                "scratch_files",
                "registers",
        };
        static const char *const kernel[] = {
                "pipe_buffers",     /* standard streams and the skill's pipe */
                "socket_buffers",
                "file_names",       /* directory entries, short symbolic links, attributes of the scratch */
                "kernel_stacks",    /* saved registers and floating point state, copies of system call arguments */
                /* further objects of the kernel: queued signals, timers, filters, locks, names of threads and areas */
                "kernel_objects",
        };
        bool known = e->method && strcmp(e->method, "exit_stop") == 0 && e->guard.state == GUARD_STATE_EMPTY;

        if (strcmp(e->grade, "nothing_held") == 0)
                return;
        for (size_t i = 0; !known && i < ARRAY_SIZE(held); i++)
                evidence_add_class(e, held[i]);
        if (known && e->lengths_unknown)
                evidence_add_class(e, "shared_memory");
        if (!e->kernel.init_on_free) {
                evidence_judge_early(e);
                for (size_t i = 0; i < ARRAY_SIZE(kernel); i++)
                        evidence_add_class(e, kernel[i]);
        }
        /* Arguments, environment, standard input, receipt and captured output are overwritten after the answer. */
        if (!e->kernel.init_on_free)
                evidence_add_class(e, "caller_request");
        if (e->supervisor_died && !e->kernel.init_on_free)
                /* sections, content of the skill's pipe and the standard streams, the launch spec */
                evidence_add_class(e, "supervisor_memory");
        if (e->kernel.swap)
                evidence_add_class(e, "swap");
        if (e->scratch.on_disk)
                /* tier landlock: blocks that the file system or the device wrote elsewhere before */
                evidence_add_class(e, "scratch_disk");
        if (writable_mounts)
                evidence_add_class(e, "writable_mounts"); /* the operator's files: meant to stay */
}

static uint64_t evidence_vault_missed(const TeardownEvidence *e) {
        uint64_t proved = MIN(e->vault.bytes_overwritten, e->vault.bytes_verified);

        return e->vault.bytes_held > proved ? e->vault.bytes_held - proved : 0;
}

void evidence_judge(TeardownEvidence *e, bool writable_mounts) {
        const GuardEvidence *g = &e->guard;
        uint64_t missed = e->scratch.bytes_missed + e->bytes_unmapped + evidence_vault_missed(e) + g->processes_missed +
                          g->registers_missed;
        bool watched = g->state != GUARD_STATE_NEW;

        for (size_t i = 0; i < GUARD_MISSED_COUNT; i++)
                missed += g->bytes_missed[i];
        e->bytes_held = g->bytes_held + e->bytes_unmapped + e->scratch.bytes_held + e->vault.bytes_held;
        e->bytes_overwritten = g->bytes_overwritten + e->scratch.bytes_overwritten + e->vault.bytes_overwritten;
        e->bytes_verified = g->bytes_verified + e->scratch.bytes_overwritten + e->vault.bytes_verified;
        e->method = e->discipline == DISCIPLINE_NONE || !watched ? "none" : "exit_stop";
        if (e->nothing_held)
                e->grade = "nothing_held";
        else if (e->discipline == DISCIPLINE_NONE || !watched ||
                 (g->state != GUARD_STATE_EMPTY && g->bytes_overwritten == 0))
                e->grade = "unscrubbed";
        else if (g->state != GUARD_STATE_EMPTY || e->scratch.failed || e->lengths_unknown || missed > 0 ||
                 e->bytes_verified < MAX(e->bytes_overwritten, e->bytes_held))
                e->grade = "partial";
        else
                e->grade = e->kernel.init_on_free ? "cleared_kernel" : e->early ? "cleared_early" : "cleared";
        memset(e->not_covered, 0, sizeof(e->not_covered));
        evidence_judge_classes(e, writable_mounts);
}

static uint64_t evidence_unmapped_bytes(const Region *r, const GuardEvidence *g) {
        SharedEnded ended[GUARD_OBJECTS_MAX];
        size_t n = MIN(g->objects, (uint32_t)GUARD_OBJECTS_MAX);

        for (size_t i = 0; i < n; i++)
                ended[i] = (SharedEnded){g->object[i].device, g->object[i].inode, g->object[i].bytes};
        return region_shared_beyond(&r->budget.shared, ended, n, g->more_objects, g->more_object_bytes);
}

void evidence_collect(const Region *r, const ScratchWiped *scratch, const VaultWiped *vault, TeardownEvidence *ret) {
        bool writable = false;

        *ret = (TeardownEvidence){
                .discipline = r->grant->discipline,
                .passes = r->grant->passes,
                .by = r->grant->discipline == DISCIPLINE_NONE ? "nobody" : "supervisor",
                .nothing_held = r->go_usec == 0,
                .scratch = *scratch,
                .vault = *vault,
                .watched = r->grant->discipline == DISCIPLINE_MULTIPASS && r->go_usec > 0,
                .freed = r->notify.freed,
                .bound_usec = MAX(r->grant->cancel_bound_usec, r->budget.cancel_bound_usec) -
                              MIN(r->asked.usec, r->grant->grace_usec),
        };
        guard_evidence(&r->guard, &ret->guard);
        ret->bytes_unmapped = evidence_unmapped_bytes(r, &ret->guard);
        ret->early = ret->watched && ret->freed.missed == 0 && ret->freed.unheld == 0 &&
                     ret->guard.exec_images + ret->freed.exec_failed <= ret->freed.images;
        kernel_facts(&ret->kernel);
        for (size_t i = 0; i < r->grant->n_files; i++)
                writable |= r->grant->files[i].write;
        evidence_judge(ret, writable);
        if ((r->grant->terminal || r->grant->terminals) && !ret->kernel.init_on_free && strcmp(ret->grade, "nothing_held") != 0)
                evidence_add_class(ret, "terminal_buffers"); /* lines typed and printed, of the pseudo terminals */
        if (writable && r->grant->network != NETWORK_NONE && strcmp(ret->grade, "nothing_held") != 0)
                /* a program of the host may have connected to a socket there; whatever it took lives as it likes */
                evidence_add_class(ret, "sent_descriptors");
        if (ret->discipline == DISCIPLINE_NONE) /* no page was counted: the peak is the upper bound */
                ret->bytes_held = MAX(r->budget.peak_memory_bytes, ret->bytes_held);
}

void evidence_left(const GuardEvidence *guard, Discipline d, TeardownEvidence *ret) {
        *ret = (TeardownEvidence){.discipline = d, .by = guard ? "guard" : "nobody", .supervisor_died = true};
        if (guard) {
                ret->guard = *guard;
                ret->passes = guard->passes;
                ret->lengths_unknown = guard->objects > 0; /* only the supervisor knew the lengths */
                if (guard->facts & GUARD_FACT_LENT) { /* at least a page: the sizes of the lent files are unknown */
                        ret->guard.bytes_missed[GUARD_MISSED_FILE] += 4096;
                        ret->guard.bytes_held += 4096;
                }
        }
        kernel_facts(&ret->kernel);
        evidence_judge(ret, false);
}

void evidence_of_session(Discipline d, unsigned passes, const VaultWiped *vault, bool resumed, TeardownEvidence *ret) {
        *ret = (TeardownEvidence){.discipline = d, .passes = passes, .by = "supervisor", .vault = *vault,
                                  .early = true, .supervisor_died = resumed};
        ret->guard.state = GUARD_STATE_EMPTY; /* no process of the region: nothing else was held */
        ret->scratch.failed = resumed;        /* a part was not overwritten: the grade is "partial" */
        kernel_facts(&ret->kernel);
        evidence_judge(ret, false);
}

/* Sets a member, unless the number is 0. */
static int evidence_set(json_t *o, const char *name, uint64_t n) {
        return n == 0 ? 0 : json_object_set_new(o, name, json_integer((json_int_t)n));
}

static json_t *evidence_missed_json(const TeardownEvidence *e) {
        json_t *o = json_object();
        int r = o ? 0 : -1;

        for (size_t i = 0; r == 0 && i < GUARD_MISSED_COUNT; i++)
                r = evidence_set(o, missed_names[i],
                                 e->guard.bytes_missed[i] + (i == GUARD_MISSED_FILE ? e->scratch.bytes_unseen : 0));
        if (r == 0 && e->scratch.bytes_missed > e->scratch.bytes_unseen)
                r = evidence_set(o, "scratch", e->scratch.bytes_missed - e->scratch.bytes_unseen);
        if (r < 0 || evidence_set(o, "unmapped", e->bytes_unmapped) < 0 ||
            evidence_set(o, "sections", evidence_vault_missed(e)) < 0) {
                json_decref(o);
                return NULL;
        }
        return o;
}

static json_t *evidence_counts_json(const TeardownEvidence *e) {
        const GuardEvidence *g = &e->guard;

        return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "processes", (json_int_t)g->processes,
                         "processes_missed", (json_int_t)g->processes_missed, "threads", (json_int_t)g->threads,
                         "registers_missed", (json_int_t)g->registers_missed, "exec_images", (json_int_t)g->exec_images,
                         "shared_bytes", (json_int_t)g->shared_bytes, "deleted_files", (json_int_t)g->files,
                         "scratch_files", (json_int_t)g->scratch_files + (json_int_t)e->scratch.files, "warm_bytes",
                         (json_int_t)g->warm_bytes);
}

json_t *evidence_to_json(const TeardownEvidence *e) {
        json_t *list = json_array(), *missed = evidence_missed_json(e), *counts = evidence_counts_json(e),
               *early = e->watched ? hook_to_json(&e->freed) : json_null();

        for (size_t i = 0; list && e->not_covered[i]; i++)
                if (json_array_append_new(list, json_string(e->not_covered[i])) < 0) {
                        json_decref(list);
                        list = NULL;
                }
        return json_pack(
                "{s:s, s:i, s:s, s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:{s:b, s:b, s:b, s:s}, s:[], s:I, s:{s:I, s:I, s:I, s:I, s:b}, s:I, s:I, s:I, s:I}",
                "discipline", discipline_name(e->discipline), "passes", (int)e->passes, "method", e->method, "by",
                e->by, "grade", e->grade, "bytes_held", (json_int_t)e->bytes_held, "bytes_overwritten",
                (json_int_t)e->bytes_overwritten, "bytes_verified", (json_int_t)e->bytes_verified, "bytes_missed",
                missed, "counts", counts, "early", early, "not_covered", list, "kernel", "init_on_free",
                e->kernel.init_on_free, "swap", e->kernel.swap, "frames_compared",
                (e->guard.facts & GUARD_FACT_FRAMES) != 0, "core_dumps", "off", "callbacks", "handles_unbound",
                (json_int_t)e->vault.handles_unbound, "sections", "count", (json_int_t)e->vault.sections, "bytes_held",
                (json_int_t)e->vault.bytes_held, "bytes_overwritten", (json_int_t)e->vault.bytes_overwritten,
                "bytes_verified", (json_int_t)e->vault.bytes_verified, "locked", e->vault.resident, "scrub_usec",
                (json_int_t)e->guard.scrub_usec, "usec", (json_int_t)e->usec, "store_wait_usec",
                (json_int_t)e->store_wait_usec, "bound_usec", (json_int_t)e->bound_usec);
}
