/* Runs: tests. The grade never says more than the counters do. */
#include "scrub/evidence.h"

#include <criterion/criterion.h>
#include <string.h>

/* A region of which everything that was held was overwritten and read back. */
static TeardownEvidence all_done(void) {
        return (TeardownEvidence){.discipline = DISCIPLINE_ZERO, .passes = 1, .by = "supervisor",
                          .guard = {.state = GUARD_STATE_EMPTY, .processes = 2, .threads = 3, .bytes_held = 8192, .bytes_overwritten = 8192,
                                    .bytes_verified = 8192},
                          .scratch = {.files = 1, .bytes_held = 4096, .bytes_overwritten = 4096}};
}

static bool names(const TeardownEvidence *e, const char *class) {
        for (size_t i = 0; e->not_covered[i]; i++)
                if (strcmp(e->not_covered[i], class) == 0)
                        return true;
        return false;
}

typedef struct Case {
        const char *name;
        void (*change)(TeardownEvidence *e);
        const char *grade;
} Case;

#define CHANGE(name, ...)                                                                                              \
        static void name(TeardownEvidence *e) {                                                                                \
                __VA_ARGS__;                                                                                           \
        }
CHANGE(nothing, (void)e)
CHANGE(kernel_clears, e->kernel.init_on_free = true)
CHANGE(early, e->early = true)
CHANGE(both, e->early = true; e->kernel.init_on_free = true)
CHANGE(discipline_none, e->discipline = DISCIPLINE_NONE; e->guard = (GuardEvidence){0})
CHANGE(guard_died_at_once, e->guard = (GuardEvidence){.state = GUARD_STATE_ATTACHED})
CHANGE(guard_died_in_between, e->guard.state = GUARD_STATE_ATTACHED)
CHANGE(guard_died_frozen, e->guard.state = GUARD_STATE_FROZEN; e->kernel.init_on_free = true)
CHANGE(shared, e->guard.bytes_missed[GUARD_MISSED_SHARED] = 4096)
CHANGE(denied, e->guard.bytes_missed[GUARD_MISSED_DENIED] = 4096)
CHANGE(verify, e->guard.bytes_missed[GUARD_MISSED_VERIFY] = 4096)
CHANGE(moved, e->guard.bytes_missed[GUARD_MISSED_MOVED] = 4096)
CHANGE(swapped, e->guard.bytes_missed[GUARD_MISSED_SWAPPED] = 4096)
CHANGE(file, e->guard.bytes_missed[GUARD_MISSED_FILE] = 4096)
CHANGE(missed_process, e->guard.processes_missed = 1)
CHANGE(missed_registers, e->guard.registers_missed = 1)
CHANGE(not_read_back, e->guard.bytes_verified = 4096)
CHANGE(held_more, e->guard.bytes_held += 4096)
CHANGE(scratch_missed, e->scratch.bytes_missed = 4096)
CHANGE(scratch_failed, e->scratch.failed = true)
CHANGE(unmapped, e->bytes_unmapped = 4096)
CHANGE(lengths_unknown, e->lengths_unknown = true)
CHANGE(section_missed, e->vault.bytes_held = 4096)
CHANGE(section_not_read_back, e->vault.bytes_held = e->vault.bytes_overwritten = 4096)
CHANGE(missed_and_kernel, e->guard.bytes_missed[GUARD_MISSED_SHARED] = 4096; e->kernel.init_on_free = true)
CHANGE(never_ran, e->nothing_held = true; e->guard = (GuardEvidence){0})

static const Case cases[] = {
        {"all done", nothing, "cleared"},
        {"the kernel clears", kernel_clears, "cleared_kernel"},
        {"early", early, "cleared_early"},
        {"more was held than is accounted for", held_more, "partial"},
        {"early, and the kernel clears", both, "cleared_kernel"},
        {"discipline none", discipline_none, "unscrubbed"},
        {"the guard died before it did anything", guard_died_at_once, "unscrubbed"},
        {"the guard died in between", guard_died_in_between, "partial"},
        {"the guard died with all of it frozen", guard_died_frozen, "partial"},
        {"a page that another process has", shared, "partial"},
        {"a page that could not be written", denied, "partial"},
        {"a page that was not read back as written", verify, "partial"},
        {"a page in another frame", moved, "partial"},
        {"a page in swap", swapped, "partial"},
        {"a deleted file", file, "partial"},
        {"a process that was not seen to end", missed_process, "partial"},
        {"registers", missed_registers, "partial"},
        {"fewer bytes read back than written", not_read_back, "partial"},
        {"a file of the scratch", scratch_missed, "partial"},
        {"a scratch that could not be walked", scratch_failed, "partial"},
        {"a shared object that is mapped in part", unmapped, "partial"},
        {"shared objects of unknown length", lengths_unknown, "partial"},
        {"a section", section_missed, "partial"},
        {"a section that was not read back", section_not_read_back, "partial"},
        {"a page missed, and the kernel clears", missed_and_kernel, "partial"},
        {"no program was started", never_ran, "nothing_held"},
};

Test(evidence, the_grade_follows_from_the_counters) { // I-16
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                TeardownEvidence e = all_done();

                cases[i].change(&e);
                evidence_judge(&e, false);
                cr_expect_str_eq(e.grade, cases[i].grade, "%s: %s", cases[i].name, e.grade);
        }
}

Test(evidence, names_what_is_not_covered) { // I-16
        static const char *const held[] = {"anonymous_memory", "shared_memory", "scratch_files", "registers"};
        static const char *const kernel[] = {"pipe_buffers", "socket_buffers", "file_names", "kernel_stacks", "kernel_objects"};
        TeardownEvidence e = all_done();

        evidence_judge(&e, false);
        for (size_t i = 0; i < ARRAY_SIZE(held); i++)
                cr_expect(!names(&e, held[i]), "%s", held[i]);
        for (size_t i = 0; i < ARRAY_SIZE(kernel); i++)
                cr_expect(names(&e, kernel[i]), "%s", kernel[i]);
        cr_expect(names(&e, "freed_memory") && names(&e, "freed_files"));
        cr_expect(names(&e, "caller_request")); // I-70
        cr_expect(!names(&e, "supervisor_memory") && !names(&e, "swap") && !names(&e, "scratch_disk") && !names(&e, "writable_mounts"));

        e = all_done();
        e.early = e.kernel.swap = e.scratch.on_disk = true;
        evidence_judge(&e, true);
        cr_expect(!names(&e, "freed_memory") && !names(&e, "freed_files"));
        cr_expect(names(&e, "swap") && names(&e, "scratch_disk") && names(&e, "writable_mounts"));

        e = all_done();
        e.kernel.init_on_free = true;
        evidence_judge(&e, false);
        cr_expect(e.not_covered[0] == NULL, "%s", e.not_covered[0]);

        e = all_done();
        e.guard.state = GUARD_STATE_ATTACHED; /* the guard died: what it had not come to is as it was */
        evidence_judge(&e, false);
        for (size_t i = 0; i < ARRAY_SIZE(held); i++)
                cr_expect(names(&e, held[i]), "%s", held[i]);
}

Test(evidence, json_has_the_sums_and_the_reasons) { // I-16
        TeardownEvidence e = all_done();
        json_t *o;

        e.guard.bytes_missed[GUARD_MISSED_SHARED] = 4096;
        e.guard.bytes_held += 4096;
        e.scratch.bytes_missed = 8192;
        e.scratch.bytes_held += 8192;
        evidence_judge(&e, false);
        o = evidence_to_json(&e);
        cr_assert(o);
        cr_expect_str_eq(json_string_value(json_object_get(o, "discipline")), "zero");
        cr_expect_str_eq(json_string_value(json_object_get(o, "method")), "exit_stop");
        cr_expect_eq(json_integer_value(json_object_get(o, "bytes_held")), 24576);
        cr_expect_eq(json_integer_value(json_object_get(o, "bytes_overwritten")), 12288);
        cr_expect_eq(json_integer_value(json_object_get(o, "bytes_verified")), 12288);
        cr_expect_eq(json_integer_value(json_object_get(json_object_get(o, "bytes_missed"), "shared")), 4096);
        cr_expect_eq(json_integer_value(json_object_get(json_object_get(o, "bytes_missed"), "scratch")), 8192);
        cr_expect_eq(json_object_size(json_object_get(o, "bytes_missed")), 2);
        json_decref(o);
}

Test(evidence, of_a_dead_supervisor_says_what_its_guard_left) { // I-60
        const GuardEvidence left = {.version = GUARD_VERSION, .state = GUARD_STATE_EMPTY, .passes = 1, .processes = 1, .bytes_held = 4096,
                                    .bytes_overwritten = 4096, .bytes_verified = 4096, .facts = GUARD_FACT_ORPHANED};
        TeardownEvidence e;

        evidence_left(&left, DISCIPLINE_ZERO, &e);
        cr_expect(strncmp(e.grade, "cleared", 7) == 0 && strcmp(e.by, "guard") == 0, "%s %s", e.grade, e.by);
        cr_expect(names(&e, "supervisor_memory"));
        evidence_left(NULL, DISCIPLINE_ZERO, &e); /* the guard was killed, too */
        cr_expect(strcmp(e.grade, "unscrubbed") == 0 && strcmp(e.by, "nobody") == 0 && strcmp(e.method, "none") == 0, "%s %s", e.grade, e.by);
        cr_expect_eq(e.bytes_overwritten, 0);
        cr_expect(names(&e, "anonymous_memory"));
}
