#include "request/resolve-request.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "engine/engine.h"
#include "request/rate.h"
#include "request/registry.h"
#include "request/secrets.h"

#include <errno.h>
#include <string.h>

enum { CODE_OURS = 125, CODE_NOT_EXECUTABLE = 126, CODE_NOT_FOUND = 127 };

const char *skill_request_name(const SkillRequest *a) {
        return a->skill ?: a->request.exec;
}

static bool request_refuse(Refusal *r, int code, int e) {
        r->code = code;
        if (!*r->why.text)
                diag(&r->why, 0, "%s", strerror(e < 0 ? -e : EIO));
        return false;
}

void skill_request_failed(int e, Refusal *r) {
        r->usage = e == REQUEST_E_BAD;
        request_refuse(r, e == REQUEST_E_NOT_FOUND        ? CODE_NOT_FOUND
                          : e == REQUEST_E_NOT_EXECUTABLE ? CODE_NOT_EXECUTABLE
                                                          : CODE_OURS, e);
}

static bool request_load_skill(const SkillRequest *a, Store *store, bool quiet, Skill **ret, Refusal *r) {
        const RegistryUse use = {.store_dir = a->request.store_dir, .kept = a->kept, .foreign = a->foreign};
        _cleanup_txn_ Txn *t = NULL;
        int e = store ? store_begin_at_once(store, &t, &r->why) : 0;

        if (e == 0)
                e = registry_load(t, &use, a->skill, a->registered, ret, &r->why);
        else if (e > 0)
                e = REGISTRY_E_SKILL;
        if (e != 0)
                return request_refuse(r, e == REGISTRY_E_UNKNOWN ? CODE_NOT_FOUND : CODE_OURS, e);
        for (char **w = (*ret)->warnings; w && *w && !quiet; w++)
                log_warning("%s", *w);
        return true;
}

int refusal_record(Store *store, const char *store_path, const Grant *g, const char *message, Diag *reterr) {
        _cleanup_store_ Store *own = NULL;
        _cleanup_txn_ Txn *t = NULL;
        char id[REGION_ID_MAX];
        int e = region_id_new(clock_real_usec(), id);

        if (e == 0 && !store) {
                e = store_open(store_path, STORE_WRITE, &own, reterr);
                store = own;
        }
        if (e == 0)
                e = store_begin(store, true, &t, reterr);
        if (e == 0)
                e = engine_region_refuse(t, id, g->skill_name, g->skill_digest, g->name, "policy", message)
                                ?: store_commit(TAKE_PTR(t), reterr);
        return e;
}

/* --dry-run records no refusal. A store that cannot record leaves the refusal as before. */
static void request_record_refusal(const SkillRequest *a, Store *store, const Skill *skill, const Diag *why) {
        /* A program is named by the last part of its path, as in region.allocated. */
        const Grant g = {.skill_name = skill                     ? skill->md.name
                                       : a->request.program.path ? strrchr(a->request.program.path, '/') + 1
                                                                 : (char *)skill_request_name(a),
                         .skill_digest = skill ? (char *)skill->bundle.digest : (char *)a->request.program.digest,
                         .name = a->request.name};
        Diag d = {};

        if (a->request.store_dir && refusal_record(store, a->request.store_dir, &g, why->text, &d) != 0)
                log_warning("the refusal is not recorded: %s", d.text);
}

/* Checks that the grant's teardown fits the bound. */
static int request_admit(const SkillRequest *a, Store *store, Grant *g, Diag *reterr) {
        WipeRate rate;
        int e;

        /* a skill: as lethe validate does */
        rate_get(store ? store_dir(store) : a->request.store_dir, a->alone && (a->skill || rate_is_needed(g)), &rate);
        e = admit(g, &rate, 0, reterr);
        if (e != 0) {
                grant_deinit(g);
                *g = (Grant){};
        }
        return e;
}

bool resolve_request(const SkillRequest *a, Store *store, const Policy *policy, bool quiet, Grant *ret, Refusal *r) {
        _cleanup_skill_ Skill *skill = NULL;
        int e;

        if (a->skill && !request_load_skill(a, store, quiet, &skill, r))
                return false;
        if (a->request.program.note && !quiet)
                log_warning("%s", a->request.program.note);
        e = policy_grant(skill, &a->request, policy, ret, &r->why) ?: request_admit(a, store, ret, &r->why);
        if (e == GRANT_E_BOUNDS)
                request_record_refusal(a, store, skill, &r->why);
        if (e == 0 && (e = secrets_settle(ret, &(SecretsOf){store, a->request.store_dir, policy}, &r->why)) != 0) {
                grant_deinit(ret);
                *ret = (Grant){};
        }
        r->usage = e == GRANT_E_USAGE;
        r->by_policy = e == GRANT_E_REFUSED || e == GRANT_E_BOUNDS;
        return e == 0 || request_refuse(r, e == GRANT_E_NOT_FOUND        ? CODE_NOT_FOUND
                                           : e == GRANT_E_NOT_EXECUTABLE ? CODE_NOT_EXECUTABLE
                                                                         : CODE_OURS, e);
}
