/* Runs: supervisor, CLI. The reading half of cognition.h. */
#include "cognition/cognition.h"

#include "cognition/session.h"
#include "engine/scope.h"
#include "record/event.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* All that an event of KIND_CCS says. */
static int cognition_said(Txn *t, const char *session, uint64_t seq, bool with_text, json_t **ret) {
        static const char *const of_entry[] = {"turn", "tokens", "schema", "degraded", "dropped", "undecided", "time", "who",
                                              "compressor"};
        static const char *const of_body[] = {"evidence", "acts", "bound", "recall", "of", "k", "compressor", "proposal"};
        _cleanup_json_ json_t *entry = NULL, *body = NULL, *o = json_pack("{s:s, s:o}", "session", session, "seq",
                                                                          json_u64(seq));
        int r = o ? event_get(t, seq, &entry) : -ENOMEM;

        if (r == 0)
                r = record_body(t, seq, &body);
        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        for (size_t i = 0; i < ARRAY_SIZE(of_entry); i++)
                if (json_object_get(entry, of_entry[i]))
                        r |= json_object_set(o, of_entry[i], json_object_get(entry, of_entry[i]));
        for (size_t i = 0; with_text && i < ARRAY_SIZE(of_body); i++)
                if (json_object_get(body, of_body[i]))
                        r |= json_object_set(o, of_body[i], json_object_get(body, of_body[i]));
        if (with_text)
                r |= json_object_set(o, "ccs", json_object_get(json_object_get(body, "payload"), "text"));
        if (r != 0)
                return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}

int cognition_show(Txn *t, const char *session, uint64_t turn, json_t **ret, Diag *reterr) {
        _cleanup_record_ Record rec = RECORD_NULL;
        _cleanup_change_walk_ ChangeWalk w = {0};
        uint64_t scope, seq = 0;
        Op op;
        int r = session_find(t, session, &scope, &rec, reterr);

        if (r != 0)
                return r;
        if (turn == COGNITION_NEWEST)
                return cognition_said(t, session, rec.content, true, ret);
        if (turn >= rec.version)
                return diag(reterr, ENGINE_E_NO_TURN, "session %s has no turn %" PRIu64 ": the newest is %" PRIu64, session,
                            turn, rec.version - 1);
        r = change_walk(t, &rec.key, &w);
        for (uint64_t i = 0; i <= turn && r == 0; i++)
                r = change_walk_next(&w, &seq, &op);
        return r < 0 ? (r == -ENOENT ? -EUCLEAN : r) : cognition_said(t, session, seq, true, ret);
}

int cognition_history(Txn *t, const char *session, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *list = json_array();
        _cleanup_record_ Record rec = RECORD_NULL;
        _cleanup_change_walk_ ChangeWalk w = {0};
        uint64_t scope, seq;
        Op op;
        int r = list ? session_find(t, session, &scope, &rec, reterr) : -ENOMEM;

        if (r == 0)
                r = change_walk(t, &rec.key, &w);
        while (r == 0 && (r = change_walk_next(&w, &seq, &op)) == 0) {
                json_t *one = NULL;

                r = cognition_said(t, session, seq, false, &one);
                if (r == 0 && json_array_append_new(list, one) < 0)
                        r = -ENOMEM;
        }
        if (r != -ENOENT)
                return r;
        *ret = TAKE_PTR(list);
        return 0;
}

int cognition_list(Txn *t, json_t **ret) {
        _cleanup_json_ json_t *all = NULL, *list = json_array();
        json_t *one;
        size_t i;
        int r = list ? scope_list(t, &all) : -ENOMEM;

        json_array_foreach(all, i, one) {
                _cleanup_record_ Record rec = RECORD_NULL;
                const char *name = json_str(one, "scope");
                uint64_t scope;

                r = session_find(t, name, &scope, &rec, NULL);
                if (r < 0)
                        return r;
                if (r > 0)
                        continue;
                if (json_array_append_new(list, json_pack("{s:s, s:o, s:O}", "session", name, "turn",
                                                          json_u64(rec.version - 1), "time",
                                                          json_object_get(one, "time"))) < 0)
                        return -ENOMEM;
        }
        if (r < 0)
                return r;
        *ret = TAKE_PTR(list);
        return 0;
}
