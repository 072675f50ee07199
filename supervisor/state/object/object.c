#include "object/object.h"

#include "base/clock.h"
#include "object/append.h"
#include "object/intent.h"
#include "object/report.h"
#include "record/object-row.h"
#include "store/hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* {"scope","policy","by","node","created","parent","meta"?} of intent.h. */
static json_t *object_context(Txn *t, const ObjectNew *n, json_t *scope) {
        json_t *parent = n->parent ? json_pack("{s:s, s:o}", "object", n->parent, "serial", json_u64(n->serial))
                                   : json_null();

        return json_pack("{s:O, s:s, s:s, s:s, s:o, s:o, s:O*}", "scope", scope, "policy", n->policy ?: "", "by",
                         n->who, "node", store_origin(txn_store(t)), "created", json_u64(n->now_usec), "parent",
                         parent, "meta", (json_t *)n->meta);
}

static int object_check_room(Txn *t, const ObjectNew *n, Diag *reterr) {
        uint64_t alive;
        int r = n->max_objects > 0 ? object_row_alive(t, &alive) : 0;

        return r == 0 && n->max_objects > 0 && alive >= n->max_objects
                       ? diag(reterr, ENGINE_E_TOO_MANY,
                              "%" PRIu64 " objects are not terminated: policy allows %" PRIu64
                              " (max_objects): end one of them with `lethe object end`", alive, n->max_objects)
                       : r;
}

static int object_check_new(Txn *t, const ObjectNew *n, const char *id, Diag *reterr) {
        _cleanup_json_ json_t *row = NULL;
        int r;

        if (n->meta && !json_is_object(n->meta))
                return diag(reterr, ENGINE_E_BAD_INTENT, "meta: must be an object");
        if (!region_id_valid(id) || (n->parent && !region_id_valid(n->parent)))
                return diag(reterr, ENGINE_E_BAD_NAME,
                            "\"%s\" is not the id of an object: 26 characters of 0-9 and a-z",
                            DIAG_QUOTED(region_id_valid(id) ? n->parent : id));
        r = object_row_get(t, id, &row);
        if (r == 0)
                return diag(reterr, ENGINE_E_EXISTS, "object %s exists already: an id is of one object for ever", id);
        return r == -ENOENT ? object_check_room(t, n, reterr) : r;
}

int object_create(Txn *t, const ObjectNew *n, char ret_id[static REGION_ID_MAX], uint64_t *ret_seq, Diag *reterr) {
        _cleanup_json_ json_t *intent = NULL, *scope = NULL, *context = NULL, *policy = NULL;
        _cleanup_appending_ Appending a = {.t = t, .who = n->who, .now_usec = n->now_usec};
        char id[REGION_ID_MAX], trace[REGION_ID_MAX];
        int r = n->id ? 0 : region_id_new(n->now_usec, id);

        if (n->id)
                snprintf(id, sizeof(id), "%s", n->id);
        r = r ?: region_id_new(n->now_usec, trace) ?: object_check_new(t, n, n->id ?: id, reterr);
        if (r != 0)
                return r;
        r = intent_complete(n->intent, id, &intent, reterr)
                ?: intent_scope_complete(n->scope, intent, &scope, reterr)
                ?: intent_within(intent, scope, reterr);
        if (r == 0 && n->outer)
                r = intent_scope_within(scope, n->outer, reterr);
        if (r == 0)
                context = object_context(t, n, scope);
        if (r == 0 && n->policy)
                policy = json_pack("{s:s, s:s}", "ref", n->policy, "verdict", "allowed");
        if (r == 0 && (!context || (n->policy && !policy)))
                r = -ENOMEM;
        if (r != 0)
                return object_code(r);
        a.trace = n->trace ?: trace;
        a.policy = policy;
        r = object_code(append_instantiated(&a, id, intent, context, reterr));
        if (r != 0)
                return r;
        strcpy(ret_id, id);
        if (ret_seq)
                *ret_seq = a.row.last;
        return 0;
}

/* {"object","state","entry": n of the last entry}. */
static int object_answer(const Appending *a, json_t **ret) {
        *ret = json_pack("{s:s, s:s, s:o}", "object", a->memory.object, "state", object_state_name(a->memory.state),
                         "entry", json_u64(a->memory.n - 1));
        return *ret ? 0 : -ENOMEM;
}

static int object_check_open(const Appending *a, const char *what, Diag *reterr) {
        return a->memory.state == OBJECT_TERMINATED
                       ? diag(reterr, ENGINE_E_TERMINATED,
                              "object %s is terminated: it takes no %s; it stays readable: `lethe object history %s`",
                              a->memory.object, what, a->memory.object)
                       : object_eligible(&a->row, reterr);
}

static int object_check_word(const char *what, const char *word, Diag *reterr) {
        size_t n = strlen(word);

        if (n > OBJECT_WORD_MAX)
                return diag(reterr, ENGINE_E_TOO_LARGE, "%s: %zu bytes: at most %d are allowed", what, n,
                            OBJECT_WORD_MAX);
        return utf8_valid(word, n, NULL) ? 0 : diag(reterr, ENGINE_E_BAD_UTF8, "%s is not valid UTF-8", what);
}

/* An object to append to, on request of a person. */
static int object_open(Txn *t, const char *id, const char *who, const char *what, char trace[static REGION_ID_MAX],
                       Appending *ret, Diag *reterr) {
        int r = append_open(t, id, ret, reterr) ?: object_check_open(ret, what, reterr);

        ret->who = who;
        ret->now_usec = clock_real_usec();
        ret->trace = trace;
        return r ?: region_id_new(ret->now_usec, trace);
}

int object_input(Txn *t, const char *id, const char *who, const char *from, const json_t *input, json_t **ret,
                 Diag *reterr) {
        _cleanup_appending_ Appending a = APPENDING_NULL;
        _cleanup_json_ json_t *data = NULL;
        char trace[REGION_ID_MAX];
        int r = object_check_word("from", from, reterr) ?: object_open(t, id, who, "input", trace, &a, reterr);

        if (r != 0)
                return r;
        data = json_pack("{s:s, s:O}", "from", from, "input", (json_t *)input);
        r = data ? 0 : -ENOMEM;
        return r ?: object_code(append_entry(&a, ENTRY_INPUT, NULL, data, NULL, reterr)) ?: object_answer(&a, ret);
}

/* Between a state and the end there may be an evaluation (O-18). */
int object_end(Txn *t, const char *id, const char *who, const char *reason, json_t **ret, Diag *reterr) {
        _cleanup_appending_ Appending a = APPENDING_NULL;
        _cleanup_json_ json_t *data = NULL;
        char trace[REGION_ID_MAX];
        int r = object_check_word("the reason", reason, reterr) ?: object_open(t, id, who, "end", trace, &a, reterr);

        if (r != 0)
                return r;
        data = json_pack("{s:s, s:s}", "reason", reason, "by", who);
        r = data ? 0 : -ENOMEM;
        if (r == 0 && !object_state_can_move(a.memory.state, OBJECT_TERMINATED))
                r = object_code(append_entry(&a, ENTRY_EVALUATION, NULL, NULL, NULL, reterr));
        return r ?: object_code(append_entry(&a, ENTRY_TERMINATED, NULL, data, NULL, reterr))
                 ?: report_to_parent(&a, reterr)
                 ?: object_answer(&a, ret);
}
