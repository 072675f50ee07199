/* Runs: lethe-serve, the thread of a job. The loop around the skill of a session (C-41): what the turn observes, and the
 * state that an advisor proposes. The state is committed with the record of the turn's region (invoke/record.c). */
#include "serve/session.h"

#include "invoke/compressor.h"
#include "request/resolve-request.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* x_t: the arguments of the turn, with a blank between. */
static json_t *session_input(const Job *j) {
        const json_t *args = json_object_get(j->params, "args");
        _cleanup_buf_ Buf text = {0};

        for (size_t i = 0; i < json_array_size(args); i++)
                if ((i > 0 && buf_add_str(&text, " ") < 0) ||
                    buf_add_str(&text, json_text(json_array_get(args, i)) ?: "") < 0)
                        return NULL;
        return json_pack("{s:s%}", "input", text.n ? text.data : "", text.n);
}

/* So that `kill` of the compressor's region finds the turn. */
static void session_compressor_begun(void *userdata, const char *region) {
        Job *j = userdata;

        pthread_mutex_lock(&j->lock);
        snprintf(j->compressor, sizeof(j->compressor), "%s", region);
        pthread_mutex_unlock(&j->lock);
}

static int session_ask_compressor(Job *j, const RunOptions *o, Diag *reterr) {
        Advise advise = {.store = j->server->store, .policy = o->policy, .spawner = o->spawner, .signals = j->cancel,
                         .ordered = o->ordered, .begun = session_compressor_begun, .ordered_data = j,
                         .ask.request.client = j->peer->foreign ? j->peer->uid : 0};
        const CognitionTurnOf of = {.session = j->session->cognition, .input = j->observed, .of = j->session->id};
        bool asked, of_store;

        j->proposal = calloc(1, sizeof(*j->proposal));
        return j->proposal ? compressor_ask(&advise, &of, j->proposal, &asked, &of_store, reterr) : -ENOMEM;
}

bool session_observe(Job *j, const RunOptions *o, Refusal *r) {
        const Session *x = j->session;
        int e;

        if (!x || !*x->cognition)
                return true;
        j->observed = session_input(j);
        e = !j->observed ? -ENOMEM : x->advised ? session_ask_compressor(j, o, &r->why) : 0;
        j->in_session.cognition = x->cognition;
        j->in_session.observed = j->observed;
        j->in_session.proposal = j->proposal;
        if (e == 0)
                return true;
        r->code = e == -ECANCELED ? 128 + SIGTERM : 125;
        if (!*r->why.text)
                diag(&r->why, 0, "%s", e == -ECANCELED ? "cancelled while the compressor was asked" : store_strerror(e));
        return false;
}
