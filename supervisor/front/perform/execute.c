/* Runs: supervisor. The execution of an object (O-21): the step's skill as an invocation, under the grant that
 * manifest, policy and trust scope leave. The outcome stands in the transaction of the region's end. */
#include "perform/perform.h"

#include "engine/execution.h"
#include "invoke/run.h"
#include "object/intent.h"
#include "object/select.h"
#include "perform/outcome.h"

#include "base/clock.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define EXECUTE_RULE "the trust scope of the object does not name it"

typedef struct Execution {
        Store *store; /* borrowed, like all but answer and outcome */
        const char *object, *trace, *skill;
        const json_t *perform;    /* of object_cycle() */
        json_t *scope;            /* the trust scope within the constraints; owned */
        uint64_t began_usec;      /* CLOCK_MONOTONIC */
        json_t *answer, *outcome; /* of object_outcome(), and the descriptor; owned */
} Execution;

static void execution_deinit(Execution *x) {
        json_decref(x->answer);
        json_decref(x->outcome);
        json_decref(x->scope);
}

/* Standard input, output and error of the region: the intent's input, and nobody who reads, or the operator. */
typedef struct ExecuteStreams {
        int fd[3];
        int own[2]; /* to be closed */
} ExecuteStreams;

static void execute_streams_deinit(ExecuteStreams *s) {
        closep(&s->own[0]);
        closep(&s->own[1]);
}

static int execute_make_streams(const json_t *input, bool verbose, ExecuteStreams *s) {
        int r = 0;

        s->own[1] = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (s->own[1] < 0)
                return -errno;
        if (json_string_length(input) > 0) {
                s->own[0] = memfd_create("lethe-input", MFD_CLOEXEC);
                if (s->own[0] < 0)
                        return -errno;
                r = io_write_full(s->own[0], json_bytes(input), json_string_length(input));
                if (r == 0 && lseek(s->own[0], 0, SEEK_SET) < 0)
                        r = -errno;
        }
        s->fd[0] = s->own[0] >= 0 ? s->own[0] : s->own[1];
        s->fd[1] = s->fd[2] = verbose ? STDERR_FILENO : s->own[1];
        return r;
}

/* A negative outcome is tried again, when this node or another can: its changes would be there twice. */
static bool execute_keeps(const json_t *result) {
        return outcome_check_result(result, NULL) == 0 && strcmp(json_str(result, "outcome"), "negative") != 0;
}

static int execute_append(Execution *x, Txn *t, const char *region, json_t *outcome, const json_t *next, Diag *reterr) {
        int r = outcome ? object_outcome(t, x->object, x->trace, region, outcome, next, &x->answer, reterr) : -ENOMEM;

        if (r != 0)
                json_decref(outcome);
        else
                x->outcome = outcome;
        return r;
}

/* As RunObject.ended(). An execution that is over, because the object was ended meanwhile, takes no outcome, and the
 * engine has discarded what the region proposed. */
static int execute_ended(void *userdata, Txn *t, const json_t *ending, uint64_t usec, const json_t *result,
                         const char *discards, Diag *reterr) {
        _cleanup_json_ json_t *next = NULL;
        Execution *x = userdata;
        json_t *outcome;
        int r;

        if (strcmp(discards, EXECUTION_OVER) == 0)
                return 0;
        r = outcome_of_region(ending, usec, result, discards, &outcome, &next);
        return r < 0 ? r : execute_append(x, t, x->trace, outcome, next, reterr);
}

/* An outcome without a region's end. */
static int execute_append_alone(Execution *x, json_t *outcome, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        int r = store_begin(x->store, true, &t, reterr);

        if (r != 0) {
                json_decref(outcome);
                return r > 0 ? PERFORM_E_STORE + r : r;
        }
        r = execute_append(x, t, NULL, outcome, NULL, reterr);
        if (r != 0)
                return r;
        r = store_commit(TAKE_PTR(t), reterr);
        return r > 0 ? PERFORM_E_STORE + r : r;
}

/* After the invocation. *ret_open: the execution has no outcome; *ret_region: a region was recorded. */
static int execute_look(const Execution *x, bool *ret_open, bool *ret_region, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        ExecutionRow row = {0};
        int r = store_begin(x->store, false, &t, reterr);

        if (r != 0)
                return r > 0 ? PERFORM_E_STORE + r : r;
        r = execution_get(t, x->object, x->trace, &row);
        *ret_open = r == 0;
        *ret_region = *row.region;
        return r == -ENOENT ? 0 : r;
}

/* No region was recorded: the receipt says why. */
static int execute_without_region(Execution *x, const json_t *receipt, Diag *reterr) {
        json_t *outcome = NULL, *next = NULL;
        int r = outcome_of_region(receipt, clock_mono_usec() - x->began_usec, NULL, "", &outcome, &next);

        return r < 0 ? r : execute_append_alone(x, outcome, reterr);
}

static int execute_settle(Execution *x, const json_t *receipt, Diag *reterr) {
        bool open, region;
        int r = execute_look(x, &open, &region, reterr);

        if (r != 0)
                return r;
        if (open && region)
                return diag(reterr, -EIO,
                            "object %s: the end of the execution with trace %s is not recorded, because the store "
                            "could record no more; the next cycle finds the execution interrupted",
                            x->object, x->trace);
        if (open)
                return execute_without_region(x, receipt, reterr);
        if (!x->answer)
                return diag(reterr, ENGINE_E_CONFLICT,
                            "object %s was ended during the execution with trace %s: nothing that "
                            "the execution proposed is kept",
                            x->object, x->trace);
        return 0;
}

static void execute_bound(Grant *g, uint64_t timeout_usec) {
        if (timeout_usec > 0)
                g->budget.wall_usec = MIN(g->budget.wall_usec, timeout_usec);
}

static char **execute_args(const json_t *list) {
        char **args = calloc(json_array_size(list) + 1, sizeof(*args));

        for (size_t i = 0; args && i < json_array_size(list); i++)
                args[i] = (char *)(json_text(json_array_get(list, i)) ?: ""); /* borrowed */
        return args;
}

/* Lists of names, or "*": those in both. */
static json_t *execute_both(json_t *a, const json_t *b) {
        json_t *both, *name;
        size_t i;

        if (json_text_is(a, "*"))
                return json_incref((json_t *)b);
        if (!(both = json_array()))
                return NULL;
        json_array_foreach(a, i, name)
                if (intent_scope_has(b, name) && json_array_append(both, name) < 0) {
                        json_decref(both);
                        return NULL;
                }
        return both;
}

/* The intent's constraints make the trust scope smaller (O-22, O-23). */
static int execute_scope(Execution *x) {
        static const struct {
                const char *constraint, *member;
        } lists[] = {{"slots_write", "writes"}, {"skills", "skills"}};
        const json_t *constraint;
        size_t i;

        x->scope = json_copied(json_object_get(x->perform, "scope"));
        json_array_foreach(json_object_get(x->perform, "constraints"), i, constraint)
                for (size_t k = 0; x->scope && k < ARRAY_SIZE(lists); k++) {
                        const json_t *list = json_object_get(constraint, lists[k].constraint);

                        if (list &&
                            json_object_set_new(x->scope, lists[k].member,
                                                execute_both(json_object_get(x->scope, lists[k].member), list)) < 0)
                                return -ENOMEM;
                }
        return x->scope ? 0 : -ENOMEM;
}

/* The grant within the trust scope. False: refused. */
static bool execute_grant(Execution *x, const RunOptions *run, char **args, Grant *ret, Refusal *r) {
        SkillRequest ask = {.skill = x->skill,
                            .registered = true,
                            .request = {.args = args,
                                        .entry = (char *)json_text(json_object_get(x->perform, "entry")),
                                        .store_dir = store_dir(x->store)}};
        int e;

        if (!intent_scope_has(json_object_get(x->scope, "skills"), json_object_get(x->perform, "skill"))) {
                r->by_policy = true;
                diag(&r->why, 0, "skill %s is beyond the trust scope of the object, or a constraint of its intent",
                     x->skill);
                return false;
        }
        if (!resolve_request(&ask, x->store, run->policy, !run->verbose, ret, r))
                return false;
        execute_bound(ret, json_number(x->perform, "timeout_usec"));
        e = grant_narrow(ret, x->scope, EXECUTE_RULE, &r->why);
        r->by_policy = e == GRANT_E_GATE;
        if (e < 0)
                diag(&r->why, 0, "%s", strerror(-e));
        return e == 0;
}

/* run itself, and no copy: its hook `judging` sets the policy in it. */
static int execute_region(Execution *x, RunOptions *run, const Grant *g, int signals, json_t **ret_receipt) {
        _cleanup_(execute_streams_deinit) ExecuteStreams s = {.own = {-1, -1}};
        const RunObject object = {.object = x->object,
                                  .trace = x->trace,
                                  .scope = x->scope,
                                  .keeps = execute_keeps,
                                  .ended = execute_ended,
                                  .userdata = x};
        const RunOptions had = *run;
        int r = execute_make_streams(json_object_get(x->perform, "input"), run->verbose, &s);

        if (r < 0)
                return r;
        run->object = &object;
        run->streams = s.fd;
        run->receipt = NULL;
        run->ret_receipt = ret_receipt;
        run->quiet = !run->verbose;
        run_invocation(run, x->store, store_dir(x->store), g, signals);
        run->object = had.object;
        run->streams = had.streams;
        run->receipt = had.receipt;
        run->ret_receipt = had.ret_receipt;
        run->quiet = had.quiet;
        return 0;
}

int perform_begun(RunOptions *run, Store *s, const json_t *begun, int signals, json_t **ret, Diag *reterr) {
        const json_t *perform = json_object_get(begun, "perform");
        _cleanup_(execution_deinit) Execution x = {.store = s,
                                                   .object = json_str(begun, "object"),
                                                   .trace = json_str(perform, "trace"),
                                                   .skill = json_str(perform, "skill"),
                                                   .perform = perform,
                                                   .began_usec = clock_mono_usec()};
        _cleanup_free_ char **args = execute_args(json_object_get(perform, "args"));
        _cleanup_json_ json_t *receipt = NULL;
        _cleanup_grant_ Grant grant = {0};
        Refusal refusal = {0};
        int r;

        if (!args || execute_scope(&x) < 0)
                return -ENOMEM;
        if (execute_grant(&x, run, args, &grant, &refusal))
                r = execute_region(&x, run, &grant, signals, &receipt) ?: execute_settle(&x, receipt, reterr);
        else
                r = execute_append_alone(&x, outcome_of_refusal(x.skill, &refusal), reterr);
        if (r != 0)
                return r;
        if (json_object_set_new(x.answer, "action", json_string(object_action_name(ACTION_EXECUTION))) < 0 ||
            json_object_set(x.answer, "outcome", x.outcome) < 0 ||
            json_object_set_new(x.answer, "trace", json_string(x.trace)) < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(x.answer);
        return 0;
}
