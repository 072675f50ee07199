#include "cognition/session.h"

#include "cognition/ccs-text.h"
#include "cognition/recall.h"
#include "engine/scope.h"

#include <errno.h>
#include <string.h>

void session_deinit(CognitionSession *s) {
        record_deinit(&s->rec);
        ccs_deinit(&s->state);
        json_decref(s->compressor);
}

int session_find(Txn *t, const char *name, uint64_t *ret_scope, Record *ret, Diag *reterr) {
        bool right = strncmp(name, "ccs-", 4) == 0 && region_id_valid(name + 4);
        RecordKey key;
        int r = right ? scope_get(t, name, ret_scope) : -ENOENT;

        if (r == 0) {
                key = record_key_of(*ret_scope, KIND_CCS, SESSION_RECORD);
                r = record_get(t, &key, ret);
        }
        return r == -ENOENT ? diag(reterr, ENGINE_E_NO_SESSION,
                                   "there is no cognitive session %s: `lethe ccs begin` makes one, `lethe ccs list` lists "
                                   "all", DIAG_QUOTED(name))
                            : r;
}

int session_state_of(const json_t *body, Ccs *ret) {
        const json_t *text = json_object_get(json_object_get(body, "payload"), "text");
        int r = json_is_string(text) ? ccs_parse(json_bytes(text), json_string_length(text), ret, NULL) : -EUCLEAN;

        return r > 0 ? -EUCLEAN : r;
}

int session_open(Txn *t, const char *name, CognitionSession *ret, Diag *reterr) {
        _cleanup_session_ CognitionSession s = {.name = name};
        _cleanup_json_ json_t *first = NULL, *body = NULL;
        const json_t *bound;
        int r = session_find(t, name, &s.scope, &s.rec, reterr);

        if (r != 0)
                return r;
        r = record_body(t, s.rec.created, &first) ?: record_body(t, s.rec.content, &body);
        if (r == 0)
                r = session_state_of(body, &s.state);
        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        bound = json_object_get(first, "bound");
        s.bound = (CcsBound){.bytes = json_number(bound, "bytes"), .tokens = json_number(bound, "tokens")};
        if (s.bound.bytes == 0 || s.bound.tokens == 0 || s.rec.version == 0)
                return -EUCLEAN;
        snprintf(s.recall, sizeof(s.recall), "%s", json_str(first, "recall"));
        snprintf(s.of, sizeof(s.of), "%s", json_str(first, "of"));
        s.k = json_number(first, "k") ?: RECALL_K;
        s.k = MIN(s.k, (size_t)RECALL_K_MAX);
        s.compressor = json_incref(json_object_get(first, "compressor"));
        s.turn = s.rec.version - 1;
        *ret = s;
        s = SESSION_NULL;
        return 0;
}

int session_has(Txn *t, const CognitionSession *s, const char *id) {
        RecordKey key = record_key_of(s->scope, KIND_EVIDENCE, id);
        _cleanup_record_ Record rec = RECORD_NULL;
        int r = record_get(t, &key, &rec);

        return r == -ENOENT ? 0 : r == 0 ? 1 : r;
}
