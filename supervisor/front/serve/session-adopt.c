/* Runs: lethe-serve. From a request to the session. After the death of a host, sessions with "resume" get the daemon
 * that is asked first as their next host (I-85). */
#include "serve/session.h"

#include "base/id.h"
#include "base/lock.h"
#include "engine/session.h"
#include "recover/recover.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int session_adopt_row(Server *s, const char *id, const RegionRow *row, Session **ret, Diag *reterr) {
        const json_t *o = session_of_row(row);
        _cleanup_json_ json_t *values = NULL;
        _cleanup_txn_ Txn *t = NULL;
        const char *name;
        json_t *item;
        uint64_t uid = 0;
        Session *x;
        int e = 0;

        x = session_new(json_object_get(o, "sections"), reterr, &e);
        if (!x)
                return e;
        snprintf(x->id, sizeof(x->id), "%s", id);
        json_get_u64(json_object_get(o, "uid"), &uid);
        json_get_u64(json_object_get(o, "idle_usec"), &x->idle_usec);
        x->uid = (uid_t)uid;
        x->resumes = x->resumed = true;
        x->target = strdup(json_str(o, "target"));
        x->skill = strdup(json_str(json_object_get(row->detail, "skill"), "name"));
        x->digest = strdup(json_str(json_object_get(row->detail, "skill"), "digest"));
        x->passes = 1;
        discipline_parse(json_str(o, "discipline"), &x->discipline, &x->passes, &(Diag){}); /* without the member: once */
        snprintf(x->cognition, sizeof(x->cognition), "%s", json_str(json_object_get(o, "cognition"), "ccs"));
        x->advised = json_object_get(json_object_get(o, "cognition"), "compressor");
        e = !x->target || !x->skill || !x->digest ? -ENOMEM : 0;
        e = e ?: store_begin(s->store, true, &t, reterr)
                        ?: engine_session_values(t, id, &values, reterr)
                        ?: engine_session_adopt(t, id, row->supervisor_lock, reterr);
        json_object_foreach(values, name, item) {
                e = e ?: carry_put(x->carry, name, json_object_get(item, "value"),
                                   (uint64_t)json_integer_value(json_object_get(item, "version")), reterr);
        }
        if (e == 0)
                e = store_commit(TAKE_PTR(t), reterr);
        if (e != 0) {
                session_unref(s, x);
                return e;
        }
        session_enlist(s, x);
        *ret = x;
        return 0;
}

/* Whether the job's user may know of a session of the user and skill. Without the right there is no such session. */
static bool session_adopt_may(const Job *j, uid_t uid, const char *skill) {
        return !j->peer->foreign ||
               (uid == j->peer->uid && policy_client(j->policy->policy, j->peer->uid, skill ?: ""));
}

/* The row of an open session that the job's user may know of. Returns 0, SERVE_E_NO_SESSION, or as session_code(). */
static int session_adopt_look(Job *j, const char *id, RegionRow *ret, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        uint64_t uid = 0;
        int e = store_begin(j->server->store, false, &t, reterr);

        if (e != 0)
                return session_code(e, reterr);
        e = engine_region_get(t, id, ret);
        if (e == 0 && session_of_row(ret))
                json_get_u64(json_object_get(session_of_row(ret), "uid"), &uid);
        if (e == ENGINE_E_NO_REGION ||
            (e == 0 && (!session_of_row(ret) ||
                        !session_adopt_may(j, (uid_t)uid,
                                           json_text(json_object_get(json_object_get(ret->detail, "skill"), "name"))))))
                return diag(reterr, SERVE_E_NO_SESSION, "there is no open session %s", DIAG_QUOTED(id));
        return session_code(e, reterr);
}

/* For a session with "resume" after the death of the host: the daemon becomes the host. */
static int session_adopt(Job *j, const char *id, Session **ret, Diag *reterr) {
        Server *s = j->server;
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&s->adopt_lock);
        _cleanup_(region_row_deinit) RegionRow seen = {}, row = {};
        int e;

        *ret = session_hosted(s, id);
        if (*ret)
                return 0;
        e = session_adopt_look(j, id, &seen, reterr); /* before anything is done for the session */
        if (e == 0)
                e = session_code(recover_all(s->store, NULL, s->spawner, true, reterr), reterr);
        e = e ?: session_adopt_look(j, id, &row, reterr);
        if (e != 0)
                return e;
        if (row.supervisor_lock == store_own_lock(s->store)) /* session_end() without a commit */
                return diag(reterr, SERVE_E_NO_SESSION, "session %s has ended, and the store could not record the end: the "
                            "start of lethe after the death of this process, %d, records it", id, (int)getpid());
        if (!session_resumes(session_of_row(&row)) || !store_lock_is_free(s->store, row.supervisor_lock))
                return diag(reterr, SERVE_E_ELSEWHERE, "session %s is hosted by process %llu: ask there", id,
                            (unsigned long long)row.supervisor_pid);
        e = session_adopt_row(s, id, &row, ret, reterr);
        return e == ENGINE_E_CONFLICT ? SERVE_E_ELSEWHERE : session_code(e, reterr);
}

int session_of(Job *j, Session **ret, Diag *reterr) {
        const char *id = json_text(json_object_get(j->params, "session")),
                   *key = json_text(json_object_get(j->params, "key"));
        Session *x = region_id_valid(id) ? session_hosted(j->server, id) : NULL;
        int e = x ? 0 : session_adopt(j, id, &x, reterr);

        if (e != 0)
                return e;
        if (!session_adopt_may(j, x->uid, x->skill))
                e = diag(reterr, SERVE_E_NO_SESSION, "there is no open session %s", id);
        else if (key && !carry_key_is(x->carry, key))
                e = diag(reterr, SERVE_E_NOT_ALLOWED, "session %s: the key is not the session's", id);
        if (e != 0) {
                session_unref(j->server, x);
                return e;
        }
        *ret = x;
        return 0;
}
