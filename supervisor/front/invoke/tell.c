/* Runs: supervisor. The end of an invocation in words: the line on standard error, and the sender of a final signal: a
 * person, the daemon, or systemd, and then systemd's reason. */
#include "base/buf.h"
#include "base/log.h"
#include "base/proc.h"
#include "request/paths.h"
#include "invoke/types.h"
#include "region/region-cgroup-home.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Requests of the manifest without a grant of the operator. Reductions by the command line, and cuts of a default, do
 * not count. Returns their number; the first in *ret. */
static size_t tell_unmet(const Grant *g, const char **ret) {
        size_t n = 0, i;
        json_t *o;

        json_array_foreach(g->reductions, i, o) {
                const char *field = json_text(json_object_get(o, "field")),
                           *rule = json_text(json_object_get(o, "rule"));
                /* A lower min_tier is no lack. */
                if (!field || *field != '/' || strcmp(field, "/min_tier") == 0 ||
                    json_is_true(json_object_get(o, "default")) || (rule && strncmp(rule, "command line", 12) == 0))
                        continue;
                if (n++ == 0)
                        *ret = field;
        }
        return n;
}

/* The way to a larger limit. An option cannot raise a limit of manifest or policy. */
static void tell_allows(const BudgetField *f, LimitBy by, Buf *b) {
        switch (by) {
        case LIMIT_BY_DEFAULT:
        case LIMIT_BY_OPTION:
                buf_printf(b, " (--%s allows more)", f->option);
                break;
        case LIMIT_BY_MANIFEST:
                buf_printf(b, " (budgets.%s of lethe.json allows no more)", f->name);
                break;
        case LIMIT_BY_POLICY:
                buf_printf(b, " (max.%s of the policy allows no more)", f->name);
                break;
        case LIMIT_BY_ABOVE:
                buf_add_str(b, " (of the budget of the region above)");
                break;
        }
}

/* The outcome for a person, and the way to a larger budget. */
static void tell_how(const Region *r, Buf *b) {
        const char *resource = r->breach.resource;

        if (r->outcome == OUTCOME_EXITED)
                buf_printf(b, "exited with code %d", r->status);
        else if (r->outcome == OUTCOME_SIGNALED)
                buf_printf(b, "was ended by signal %d (%s)", r->status, strsignal(r->status));
        else
                buf_printf(b, "%s", outcome_name(r->outcome));
        if (*r->reason)
                buf_printf(b, ": %s", r->reason);
        for (size_t i = 0; resource && i < BUDGET_FIELDS; i++)
                if (strcmp(budget_fields[i].name, resource) == 0)
                        tell_allows(&budget_fields[i], r->grant->limit_by[i], b);
        if (resource && strcmp(resource, "mappings") == 0)
                buf_add_str(b, " (pages, once for each process; a larger cancel_bound of lethe.json allows more)");
}

static void tell_more(const Run *run, Buf *b) {
        const RunOptions *o = run->options;
        _cleanup_free_ char *usual = o->elsewhere ? NULL : path_of_store(NULL, &(Diag){});

        buf_printf(b, " ('lethe why %s", *run->region.parent ? run->region.id : "--last");
        if (o->elsewhere ? o->names_store : !usual || !run->store.path || strcmp(usual, run->store.path) != 0)
                buf_printf(b, " --store %s", run->store.path ?: store_dir(run->store.db));
        buf_add_str(b, "' tells more)");
}

/* A program goes to localhost without a proxy, and finds the region's own loopback. */
static void tell_loopback(const Region *r, Buf *b) {
        const NetName *own = NULL;

        for (size_t i = 0; i < r->grant->n_allows && !own; i++)
                if (net_rule_is_loopback(&r->grant->allows[i].rule))
                        own = &r->grant->allows[i];
        if (own && r->denials.total == 0 && r->grant->n_publishes == 0)
                buf_printf(b, "; %s is the region's own: --connect 127.0.0.1:%u reaches a server of the host",
                           own->text, own->rule.first);
}

static void tell_line(const Run *run) {
        const Region *r = &run->region;
        _cleanup_buf_ Buf b = {0};
        const char *first = NULL;
        size_t n = tell_unmet(r->grant, &first);

        tell_how(r, &b);
        if (r->denials.total == 0)
                buf_add_str(&b, "; no denials");
        else
                buf_printf(&b, "; %" PRIu64 " denial%s", r->denials.total, r->denials.total == 1 ? "" : "s");
        if (strcmp(r->discarded, "not_success") == 0)
                buf_add_str(&b, "; nothing that it proposed is kept: its skill commits after exit code 0 alone");
        else if (*r->discarded)
                buf_printf(&b, "; nothing that it proposed is kept: %s", r->discarded);
        if (*r->here)
                buf_printf(&b, "; --here would give \"%s\" of this folder", r->here);
        tell_loopback(r, &b);
        if (n > 0)
                buf_printf(&b, "; lethe.json asks %s%s and did not get it", first, n > 1 ? " and more" : "");
        if (r->grant->client == 0) /* another user's client cannot read this store */
                tell_more(run, &b);
        log_note("region %s %s", r->id, b.data ?: "ended");
}

/* Programs are executed from copies in the store, and not on a noexec mount. */
static bool tell_noexec(const char *copy) {
        struct statvfs fs;

        return copy && statvfs(copy, &fs) == 0 && (fs.f_flag & ST_NOEXEC);
}

void run_not_executed(Region *r, int error) {
        const char *name = r->grant->argv[0];
        const int code = error == ENOENT || error == ENOTDIR || error == ELIBACC ? 127 : 126;

        if (error == ELIBACC)
                region_end(
                        r, OUTCOME_SETUP_FAILED, code,
                        "%s: the file is there, but the interpreter that it names (the first line of a script, or the loader of an ELF file) is not in the region",
                        name);
        else if (error == ENOENT && !strchr(name, '/'))
                region_end(r, OUTCOME_SETUP_FAILED, code,
                           "%s: neither a file of the skill's folder nor in the PATH of the region", name);
        else if (error == EACCES && (tell_noexec(r->grant->program_copy) || tell_noexec(r->grant->skill_dir)))
                region_end(
                        r, OUTCOME_SETUP_FAILED, code,
                        "%s: %s: the store, which has the copy that is executed, is on a file system that is mounted noexec; fix: --store, or LETHE_STORE, with another one",
                        name, strerror(error));
        else
                region_end(r, OUTCOME_SETUP_FAILED, code, "%s: %s", name, strerror(error));
}

void run_tell(const Run *run) {
        const RunOptions *o = run->options;
        const Region *r = &run->region;
        const char *first;
        bool well = r->outcome == OUTCOME_EXITED && r->status == 0;

        if (r->outcome == OUTCOME_SETUP_FAILED)
                log_error("%s", r->reason);
        else if (!r->recorded_start)
                log_error("refused: %s", r->reason);
        else if (o->quiet)
                return;
        /* Programs read the receipt. */
        else if (o->verbose || *r->reason || *r->discarded ||
                 (!o->err && !*r->parent && (!well || tell_unmet(r->grant, &first) > 0)))
                tell_line(run);
        if (r->layer_paths > 0 && r->recorded_start && !o->quiet)
                log_note("region %s changed %zu path%s in a layer: 'lethe diff %s' shows, 'lethe apply %s' makes it so", r->id,
                         r->layer_paths, r->layer_paths == 1 ? "" : "s", r->id, r->id);
}

/* The manager of the system, or of a user. */
static bool sender_is_systemd(uint32_t pid) {
        char path[64], name[32];

        snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
        return pid > 0 && proc_read(path, name, sizeof(name)) > 0 && strcmp(name, "systemd\n") == 0;
}

void run_sender(const struct signalfd_siginfo *si, char ret[static SENDER_MAX]) {
        const char *name = strsignal((int)si->ssi_signo);
        HomeUnit u;
        int n;

        if (si->ssi_pid == (uint32_t)getpid()) {
                snprintf(ret, SENDER_MAX, "lethe serve ends, and stopped what still ran (%s)", name);
                return;
        }
        if (!sender_is_systemd(si->ssi_pid)) {
                snprintf(ret, SENDER_MAX, "%s from process %u of uid %u", name, si->ssi_pid, si->ssi_uid);
                return;
        }
        home_unit(&u);
        n = snprintf(ret, SENDER_MAX, "systemd (process %u of uid %u) stopped %s (%s)", si->ssi_pid, si->ssi_uid,
                     *u.name ? u.name : "this process", name);
        if (u.oom_kills > 0 && u.limit != UINT64_MAX)
                snprintf(ret + n, SENDER_MAX - (size_t)n,
                         ", in which the out-of-memory killer had ended %" PRIu64
                         " processes; its memory.max is %" PRIu64,
                         u.oom_kills, u.limit);
        else if (u.oom_kills > 0)
                snprintf(ret + n, SENDER_MAX - (size_t)n,
                         ", in which the out-of-memory killer had ended %" PRIu64 " processes", u.oom_kills);
}
