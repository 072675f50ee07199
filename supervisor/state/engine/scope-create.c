#include "engine/scope.h"

#include "engine/project.h"
#include "record/event.h"

#include <errno.h>
#include <string.h>

int engine_scope_create(Txn *t, const char *who, const char *name, uint64_t *ret_scope, Diag *reterr) {
        _cleanup_json_ json_t *fields = NULL, *entry = NULL;
        uint64_t seq;
        int r = scope_find(t, name, &seq, reterr);

        if (r == 0)
                return diag(reterr, ENGINE_E_EXISTS, "scope %s exists already (seq %llu)", name,
                            (unsigned long long)seq);
        if (r != ENGINE_E_NO_SCOPE)
                return r;
        fields = json_pack("{s:s}", "name", name);
        if (!fields)
                return -ENOMEM;
        r = event_record(t, &(Event){.type = "scope.created", .who = who, .fields = fields}, &seq, &entry)
                ?: project_event(t, seq, entry, NULL, NULL);
        if (r == 0)
                *ret_scope = seq;
        return r;
}

int engine_scope_need(Txn *t, const char *who, const char *name, uint64_t *ret_scope, Diag *reterr) {
        int r = scope_find(t, name, ret_scope, reterr);

        return r == ENGINE_E_NO_SCOPE && strcmp(name, SCOPE_DEFAULT) == 0
                       ? engine_scope_create(t, who, name, ret_scope, reterr)
                       : r;
}
