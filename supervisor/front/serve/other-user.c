/* Runs: lethe-serve. The processes behind the connections: pid and uid, as reported by the kernel (SO_PEERCRED).
 *
 * Requests of users other than the daemon's own and root, if `clients` of the policy allows the
 * user: for registered skills, with arguments of the client and standard streams over the connection. The daemon uses
 * its rights for no name from such a client: no folder, program, file, variable, store, anchor or policy; and uses no
 * descriptor from the client. The client sees and ends jobs of its user, and does not govern the daemon. */
#include "serve/serve.h"

#include "base/owner.h"

#include <signal.h>
#include <string.h>

#define NOT_YOURS SERVE_E_NOT_ALLOWED

bool peer_is(const Peer *p, const struct ucred *cred) {
        return p->uid == cred->uid && (p->foreign || p->pid == cred->pid);
}

bool peer_is_foreign(const struct ucred *cred) {
        return cred->uid != 0 && cred->uid != geteuid();
}

/* kill(2) compares users as the kernel knows them: allowed for processes of the daemon's own user and, with CAP_KILL,
 * for processes of users mapped into the namespace. */
bool peer_is_known(const struct ucred *cred) {
        return !owner_is_anybody(cred->uid) || (cred->pid > 0 && kill(cred->pid, 0) == 0);
}

Peer *peer_use(Server *s, const struct ucred *cred) {
        Peer *p;

        LIST_FOREACH(p, &s->peers, all)
                if (peer_is(p, cred))
                        break;
        if (!p) {
                p = calloc(1, sizeof(*p));
                if (!p)
                        return NULL;
                *p = (Peer){.pid = cred->pid, .uid = cred->uid, .foreign = peer_is_foreign(cred)};
                TAILQ_INIT(&p->jobs);
                LIST_INSERT_HEAD(&s->peers, p, all);
        }
        p->users++;
        return p;
}

void peer_drop(Server *s, Peer *p) {
        if (--p->users > 0)
                return;
        LIST_REMOVE(p, all);
        free(p);
}

int other_user_may_call(const Client *c, const char *method, Diag *reterr) {
        static const char *const those[] = {"run", "cancel", "input", "kill", "ps", "ping", "session.open", "session.carry", "session.close"};

        if (!c->peer->foreign)
                return 0;
        if (!policy_client(c->server->policy->policy, c->peer->uid, NULL))
                return diag(reterr, NOT_YOURS, "the daemon's policy does not name user %u any more",
                            (unsigned)c->peer->uid);
        if (name_index(those, ARRAY_SIZE(those), method) < ARRAY_SIZE(those))
                return 0;
        return diag(reterr, NOT_YOURS, "%s is for the daemon's own user and root", method);
}

int other_user_still_may(const Policy *policy, uid_t uid, const json_t *params, Diag *reterr) {
        const char *skill = json_text(json_object_get(params, "skill"));

        if (!skill && json_object_get(params, "session"))
                return 0; /* judged with the session's skill and user */
        if (policy_client(policy, uid, skill))
                return 0;
        return diag(reterr, NOT_YOURS, "skill %s: the policy does not let user %u have it run", skill, (unsigned)uid);
}

int other_user_may_run(const Client *c, const json_t *params, Diag *reterr) {
        static const char *const looked_up[] = {"store", "anchor", "policy"};
        const char *skill = json_text(json_object_get(params, "skill"));
        const json_t *options = json_object_get(params, "options");

        if (!c->peer->foreign)
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(looked_up); i++)
                if (json_object_get(params, looked_up[i]))
                        return diag(reterr, NOT_YOURS,
                                    "%s: another user than the daemon's own names none; `ping` shows the daemon's",
                                    looked_up[i]);
        if (json_object_get(params, "stdio"))
                return diag(reterr, NOT_YOURS,
                            "stdio: another user than the daemon's own passes no descriptors; \"stream\" passes "
                            "standard streams over the connection");
        if (!skill && !json_object_get(params, "session"))
                return diag(reterr, NOT_YOURS,
                            "exec: another user than the daemon's own may have registered skills run, and no program");
        if (skill && !skill_name_valid(skill))
                return diag(reterr, NOT_YOURS,
                            "skill \"%s\": another user than the daemon's own names a registered skill, and no folder",
                            DIAG_QUOTED(skill));
        if (other_user_still_may(c->server->policy->policy, c->peer->uid, params, reterr) != 0)
                return NOT_YOURS;
        if (json_is_true(json_object_get(params, "detach")))
                return diag(reterr, NOT_YOURS, "detach: a run of another user than the daemon's own ends with its connection");
        if (json_is_true(json_object_get(params, "promote")))
                return diag(reterr, NOT_YOURS,
                            "promote: only the daemon's own user and root decide about shared belief");
        for (size_t i = 0; i < json_array_size(options); i++) {
                const char *name = json_text(json_array_get(json_array_get(options, i), 0));

                if (!request_option_is_plain(name))
                        return diag(reterr, NOT_YOURS,
                                    "option %s: another user than the daemon's own may set budgets, entry and "
                                    "discipline", DIAG_QUOTED(name));
        }
        return 0;
}

bool other_user_may_see(const Client *c, const Job *j) {
        return !c->peer->foreign || c->peer == j->peer;
}
