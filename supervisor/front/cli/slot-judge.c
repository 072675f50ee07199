#include "cli/slot-judge.h"

#include "engine/judge.h"
#include "invoke/advise.h"
#include "invoke/run.h"
#include "recover/recover.h"

#include <errno.h>
#include <string.h>

typedef struct JudgeCall {
        ActionArgs *a;
        Store *store;
        Advise advise;
        JudgeQuestion question;
        char *line;    /* owned */
        json_t *skill; /* of the judge's receipt; owned */
        Judgement found;
} JudgeCall;

static void judge_call_deinit(JudgeCall *c) {
        free(c->line);
        json_decref(c->skill);
        request_deinit(&c->advise.ask.request);
        store_stop_at(-1);
        closep(&c->advise.signals);
}

static int judge_read_question(JudgeCall *c) {
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {0};
        int r = store_begin(c->store, false, &t, &d);

        if (r != 0)
                return with_store_failed(c->a->verb, c->store, r, &d);
        r = judge_question(t, c->a->argv[0], &c->question, &c->line, &d);
        return r == 0 ? EXIT_OK : action_failed(c->a, c->store, r, &d);
}

/* The judge's region, and the answer or a fault. */
static int judge_ask(JudgeCall *c, Diag *ret_why) {
        _cleanup_free_ char *answer = NULL;
        Judgement *j = &c->found;
        int r = advise_ask(&c->advise, c->line, &answer, ret_why);

        if (r == -ECANCELED)
                return cli_refuse(c->a->verb, 143, "cancelled", "ended by a signal; the round stays open");
        if (r < 0 || r == BELIEF_E_ADVISOR_REFUSED)
                return cli_refuse(c->a->verb, EXIT_NOT, "judge", "--judge %s: %s; the round stays open",
                                  c->a->o.value['J'], r > 0 ? ret_why->text : strerror(-r));
        *j = (Judgement){.skill = cli_text(c->skill, "name") ?: c->a->o.value['J'],
                         .digest = cli_text(c->skill, "digest"),
                         .region = c->advise.region,
                         .fault = r > 0 ? belief_code_name(r) : NULL};
        r = r ?: judge_answer(&c->question, answer, &j->choice, ret_why);
        if (r < 0)
                return cli_fail(c->a->verb, EXIT_NOT, "%s", strerror(-r));
        if (r == JUDGE_E_ANSWER && !j->fault)
                j->fault = JUDGE_BAD_ANSWER;
        return EXIT_OK;
}

static int judge_record(JudgeCall *c, uint64_t *ret_seq, json_t **ret) {
        Diag d = {0}, d_commit = {0};
        Txn *t;
        int r = store_begin(c->store, true, &t, &d), e;

        if (r != 0)
                return with_store_failed(c->a->verb, c->store, r, &d);
        r = engine_slot_judge(t, action_who(), c->a->argv[0], &c->question, &c->found, ret_seq, ret, &d);
        if (r < 0) {
                store_abort(t);
                return action_failed(c->a, c->store, r, &d);
        }
        e = store_commit(t, &d_commit);
        return e != 0   ? with_store_failed(c->a->verb, c->store, e, &d_commit)
               : r == 0 ? EXIT_OK
                        : action_failed(c->a, c->store, r, &d);
}

int slot_judge(ActionArgs *a, uint64_t *ret_seq, json_t **ret, Diag *ret_why) {
        _cleanup_policy_ Policy *policy = NULL;
        _cleanup_store_ Store *s = NULL;
        _cleanup_(judge_call_deinit) JudgeCall c = {
                .a = a, .advise = {.signals = -1, .recover = recover_all, .reads_only = true}};
        Diag d = {0};
        int r = a->o.value['T'] ? request_option(&c.advise.ask.request, "timeout", a->o.value['T'], &d) : 0;

        if (r != 0)
                return cli_usage(a->verb, "%s", r > 0 ? d.text : strerror(-r));
        r = policy_load(a->o.value['P'], &policy, &d);
        if (r != 0)
                return cli_refuse(a->verb, EXIT_NOT, "policy", "%s", r > 0 ? d.text : strerror(-r));
        if ((c.advise.signals = run_take_signals()) < 0)
                return cli_fail(a->verb, EXIT_NOT, "signals: %s", strerror(-c.advise.signals));
        r = with_store(a->verb, &a->o, STORE_SUPERVISE, &s);
        if (r != EXIT_OK)
                return r;
        c.store = c.advise.store = s;
        c.advise.policy = policy;
        c.advise.ask.skill = a->o.value['J'];
        c.advise.ret_skill = &c.skill;
        r = advise_check(&c.advise, &d);
        if (r != 0)
                return cli_refuse(a->verb, EXIT_NOT, "judge", "--judge: %s", r > 0 ? d.text : strerror(-r));
        return judge_read_question(&c) ?: judge_ask(&c, ret_why) ?: judge_record(&c, ret_seq, ret);
}
