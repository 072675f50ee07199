/* Runs: tests. unprojected STORE ID: the open issue ID of the default scope is resolved by an event that has not been projected, as after a fault that is
 * over. */
#include "record/event.h"
#include "record/record.h"
#include "engine/scope.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
        _cleanup_json_ json_t *fields = NULL;
        _cleanup_record_ Record rec = RECORD_NULL;
        _cleanup_store_ Store *s = NULL;
        char row[200];
        uint64_t scope = 0, seq = 0;
        uint8_t key[8];
        RecordKey k;
        Diag d = {0};
        Txn *t;
        int r = argc == 3 ? store_open(argv[1], STORE_WRITE, &s, &d) : -1;

        if (r != 0 || store_begin(s, true, &t, &d) != 0 || scope_get(t, SCOPE_DEFAULT, &scope) < 0)
                return 1;
        k = record_key_of(scope, KIND_ISSUE, argv[2]);
        if (record_get(t, &k, &rec) < 0)
                return 1;
        fields = json_pack("{s:I, s:s, s:s, s:I, s:s}", "scope", (json_int_t)scope, "kind", "issues", "id", k.id, "version", (json_int_t)rec.version + 1, "state",
                           "resolved");
        r = event_append(t, &(Event){.type = "canon.resolve", .who = "uid:1000", .fields = TAKE_PTR(fields)}, &seq);
        snprintf(row, sizeof(row), "{\"id\":\"%s\",\"kind\":\"issues\",\"reason\":\"it was tried\",\"scope\":%d,\"type\":\"canon.resolve\"}", k.id, (int)scope);
        be64_put(key, seq);
        if (r == 0)
                r = table_put(t, TABLE_UNAPPLIED, BYTES(key, 8), BYTES_STR(row));
        return r != 0 || store_commit(t, &d) != 0;
}
