/* Runs: lethe-serve. The processes behind the connections: pid and uid, as reported by the kernel (SO_PEERCRED). */
#include "serve/serve.h"

#include "base/owner.h"

#include <signal.h>

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
