/* Runs: supervisor. */
#include "invoke/receipt.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/watchdog.h"
#include "store/store.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static json_t *receipt_number_or_null(bool there, uint64_t v) {
        return there ? json_u64(v) : json_null();
}

json_t *receipt_usage(const Region *r) {
        uint64_t wall = r->go_usec && r->ended_usec > r->go_usec ? r->ended_usec - r->go_usec : 0;

        return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o*}", "peak_memory_bytes", json_u64(r->budget.peak_memory_bytes),
                         "cpu_usec", json_u64(r->budget.cpu_usec), "wall_usec", json_u64(wall), "output_bytes",
                         json_u64(r->io.output_used), "scratch_bytes", json_u64(r->budget.scratch_bytes),
                         "cpu_throttled_usec", r->cgroup.quota ? json_u64(r->budget.throttled_usec) : NULL);
}

json_t *receipt_user(const Region *r) {
        return r->host_user ? json_pack("{s:o, s:s}", "uid", json_u64(r->host_uid), "of", r->host_user) : json_null();
}

int receipt_breach(const Region *r, json_t *o) {
        const Breach *b = &r->breach;
        const struct {
                const char *name;
                uint64_t value;
                bool there;
        } numbers[] = {{"limit", b->limit, true},
                       {"used", b->used, b->used != BREACH_UNMEASURED},
                       {"lent", b->lent, b->lent > 0},
                       {"asked", b->asked, b->asked > 0},
                       {"refused", b->refused, b->refused > 0}};

        for (size_t i = 0; b->resource && i < ARRAY_SIZE(numbers); i++)
                if (numbers[i].there && json_object_set_new(o, numbers[i].name, json_u64(numbers[i].value)) < 0)
                        return -ENOMEM;
        for (size_t i = 0; b->resource && i < BUDGET_FIELDS; i++)
                if (strcmp(budget_fields[i].name, b->resource) == 0 &&
                    json_object_set_new(o, "limit_by", json_string(limit_by_name(r->grant->limit_by[i]))) < 0)
                        return -ENOMEM;
        return 0;
}

json_t *receipt_ending(const Region *r) {
        bool exited = r->outcome == OUTCOME_EXITED;
        bool signal = (r->outcome == OUTCOME_SIGNALED || r->outcome == OUTCOME_CANCELLED) && r->status > 0;
        _cleanup_json_ json_t *o =
                json_pack("{s:s, s:o, s:o, s:s?}", "outcome", outcome_name(r->outcome), "exit_code",
                          receipt_number_or_null(exited, (uint64_t)r->status), "signal",
                          receipt_number_or_null(signal, (uint64_t)r->status), "limiting_resource", r->breach.resource);

        if (!o || receipt_breach(r, o) < 0 ||
            (r->outside && json_object_set_new(o, "cause", json_string("outside")) < 0) ||
            (r->asked.outcome != OUTCOME_NONE &&
             json_object_set_new(o, "grace", json_pack("{s:o, s:b}", "usec", json_u64(r->asked.usec), "itself",
                                                       r->asked.itself)) < 0))
                return NULL;
        if (*r->here && json_object_set_new(o, "here", json_string(r->here)) < 0)
                return NULL;
        /* A reason may quote a path with arbitrary bytes. */
        if (*r->reason && json_object_set_new(o, "reason", json_string(r->reason)) < 0 &&
            json_object_set_new(o, "reason", json_string(DIAG_QUOTED(r->reason))) < 0)
                return NULL;
        return TAKE_PTR(o);
}

/* The name of a refused program or skill may have arbitrary bytes. */
static json_t *skill_json(const char *name, const char *digest) {
        json_t *o = json_pack("{s:s?, s:s?}", "name", name, "digest", digest);

        return o ?: json_pack("{s:s, s:s?}", "name", DIAG_QUOTED(name), "digest", digest);
}

static json_t *no_teardown(void) {
        TeardownEvidence e = {.discipline = DISCIPLINE_NONE, .by = "nobody", .nothing_held = true, .vault.resident = true};

        evidence_judge(&e, false);
        return evidence_to_json(&e);
}

json_t *receipt_teardown(const TeardownEvidence *evidence, const json_t *callbacks) {
        _cleanup_json_ json_t *o = evidence_to_json(evidence);

        if (o && callbacks && json_object_set(o, "callbacks", (json_t *)callbacks) < 0)
                return NULL;
        return TAKE_PTR(o);
}

json_t *receipt_of_region(const Region *r, const TeardownEvidence *evidence, const json_t *result, const json_t *notes,
                          const json_t *memory) {
        _cleanup_json_ json_t *o = NULL;
        /* a region without a go byte was being spawned until its end */
        uint64_t now = clock_mono_usec(), run_from = r->go_usec ?: r->ended_usec;
        bool recorded = r->state == REGION_RECORDED;

        o = json_pack("{s:i, s:s?, s:o, s:s?, s:o, s:o?, s:o?, s:{s:o, s:o, s:o}, s:{s:I, s:I, s:I, s:I}}", "version",
                      RECEIPT_VERSION, "region", r->recorded_start ? r->id : NULL, "skill",
                      skill_json(r->grant->skill_name, r->grant->skill_digest), "tier",
                      r->tier ? tier_name(r->tier) : NULL, "usage", receipt_usage(r), "denials",
                      denials_to_json(&r->denials, SIZE_MAX), "teardown",
                      evidence ? receipt_teardown(evidence, r->callbacks) : no_teardown(), "ledger", "allocated",
                      receipt_number_or_null(r->recorded_start, r->seq_allocated), "released",
                      receipt_number_or_null(recorded, r->seq_released), "ended",
                      receipt_number_or_null(recorded, r->seq_ended), "timings_usec", "spawn",
                      (json_int_t)(run_from > r->declared_usec ? run_from - r->declared_usec : 0), "run",
                      (json_int_t)(r->ended_usec > run_from ? r->ended_usec - run_from : 0), "teardown",
                      (json_int_t)(evidence ? evidence->usec : 0), "total", (json_int_t)(now - r->declared_usec));
        if (!o || json_object_update_new(o, receipt_ending(r)) < 0 ||
            json_object_set_new(o, "start", json_string(r->start)) < 0 ||
            json_object_set_new(o, "host_user", receipt_user(r)) < 0 ||
            (r->proxy.wanted && json_object_set_new(o, "network", region_proxy_json(&r->proxy)) < 0) ||
            (r->begun_ahead && json_object_set_new(o, "started_ahead", json_string(r->grant->interpreter)) < 0) ||
            (r->session && (json_object_set_new(o, "session", json_string(r->session)) < 0 ||
                            json_object_set_new(o, "turn", json_u64(r->turn)) < 0)) ||
            (*r->discarded && json_object_set_new(o, "discarded", json_string(r->discarded)) < 0) ||
            (notes && json_object_set(o, "notes", (json_t *)notes) < 0) ||
            (memory && json_object_set(o, "memory", (json_t *)memory) < 0) ||
            /* An output like standard output: handed over here, kept nowhere (I-2). */
            (result && json_object_set(o, "result", (json_t *)result) < 0))
                return NULL;
        return TAKE_PTR(o);
}

json_t *receipt_of_refusal(const char *name, const char *digest, Outcome outcome, const char *reason) {
        json_t *o = json_pack("{s:i, s:n, s:o, s:s, s:n, s:n, s:n, s:n, s:{s:i, s:i, s:i}, s:[], s:o, s:{s:n, s:n, "
                              "s:n}, s:{s:i, s:i, s:i, s:i}}",
                              "version", RECEIPT_VERSION, "region", "skill", skill_json(name, digest), "outcome",
                              outcome_name(outcome), "exit_code", "signal", "limiting_resource", "tier", "usage",
                              "peak_memory_bytes", 0, "cpu_usec", 0, "wall_usec", 0, "denials", "teardown",
                              no_teardown(), "ledger", "allocated", "released", "ended", "timings_usec", "spawn", 0,
                              "run", 0, "teardown", 0, "total", 0);

        if (o && reason && json_object_set_new(o, "reason", json_string(reason)) < 0)
                json_object_set_new(o, "reason", json_string(DIAG_QUOTED(reason)));
        return o;
}

int receipt_check(const char *path, Diag *reterr) {
        _cleanup_free_ char *dir = strdup(path);
        Diag why = {};
        char *slash;
        struct stat st;

        if (!dir)
                return -ENOMEM;
        if (!*path || strcmp(path, "-") == 0)
                return diag(reterr, -EINVAL, "--receipt names a file: standard output is the skill's");
        _cleanup_watchdog_ WatchdogWait w = watchdog_wait("the receipt", path);
        if (store_check_output(path, &why) < 0)
                return diag(reterr, -EPERM, "receipt %s", why.text);
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
                return diag(reterr, -EISDIR, "receipt %s: is a folder", path);
        if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) /* a device or a pipe is not replaced */
                return access(path, W_OK) < 0 ? diag(reterr, -errno, "receipt %s: %s", path, strerror(errno)) : 0;
        slash = strrchr(dir, '/');
        if (slash)
                slash[slash == dir] = 0;
        if (access(slash ? dir : ".", W_OK | X_OK) < 0)
                return diag(reterr, -errno, "receipt %s: folder %s: %s", path, slash ? dir : ".", strerror(errno));
        return 0;
}

int receipt_write(const char *path, const json_t *receipt, Diag *reterr) {
        char *text = receipt ? json_dumps(receipt, JSON_INDENT(2)) : NULL;
        _cleanup_free_ char *line = NULL;
        int n = text ? asprintf(&line, "%s\n", text) : -1, e;

        free(text);
        if (n < 0) {
                line = NULL;
                return diag(reterr, -ENOMEM, "receipt %s cannot be written: %s", path, strerror(ENOMEM));
        }
        _cleanup_watchdog_ WatchdogWait w = watchdog_wait("the receipt", path);
        e = io_write_named(path, line, (size_t)n, 0644);
        return e < 0 ? diag(reterr, e, "receipt %s cannot be written: %s", path, strerror(-e)) : 0;
}
