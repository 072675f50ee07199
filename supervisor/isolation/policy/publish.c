#include "policy/publish.h"

#include <string.h>

static bool publish_is_listed(const Limits *l, const NetPublish *p) {
        for (size_t i = 0; i < l->n_publishes; i++)
                if (net_publish_covers(&l->publishes[i], p))
                        return true;
        return l->network_host;
}

int publish_merge(Merge *m, const Limits *l) {
        const RunRequest *q = m->request;
        char text[NET_PUBLISH_TEXT_MAX];

        for (size_t i = 0; i < q->n_publishes; i++) {
                const NetPublish *p = &q->publishes[i];

                if (l->network_said && !publish_is_listed(l, p))
                        return diag(m->reterr, GRANT_E_REFUSED, "--publish %s: %s/publish does not list the host's address and port",
                                    net_publish_format(p, text), WHERE(m, l, "network"));
                if (!l->network_said && !net_publish_is_usual(p))
                        return diag(m->reterr, GRANT_E_REFUSED,
                                    "--publish %s: without \"network\": {\"publish\": [...]} of a policy file, only addresses of "
                                    "loopback are published, at ports from 1024 on",
                                    net_publish_format(p, text));
        }
        memcpy(m->grant->publishes, q->publishes, sizeof(q->publishes));
        m->grant->n_publishes = q->n_publishes;
        if (q->n_publishes > 0)
                m->grant->network = NETWORK_LOOPBACK;
        return 0;
}
