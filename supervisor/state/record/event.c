#include "record/event.h"

#include "base/clock.h"
#include "base/hash.h"
#include "record/rows.h"
#include "record/wake.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

/* Stores the payload under seq and returns its commitment. The hash covers a nonce, too, and so reveals nothing about
 * an erased payload. */
static int event_body_put(Txn *t, uint64_t seq, const void *p, size_t n, json_t **ret) {
        _cleanup_free_ uint8_t *v = malloc(BODY_NONCE_BYTES + n);
        uint8_t key[8], hash[HASH_BYTES];
        _cleanup_json_ json_t *c = NULL;
        char hex[HASH_HEX_MAX];
        int r;

        if (!v)
                return -ENOMEM;
        if (getrandom(v, BODY_NONCE_BYTES, 0) != BODY_NONCE_BYTES)
                return -EIO;
        memcpy(v + BODY_NONCE_BYTES, p, n);
        hash_bytes(v, BODY_NONCE_BYTES + n, hash);
        r = table_add(t, TABLE_BODY, seq_key(seq, key), BYTES(v, BODY_NONCE_BYTES + n));
        if (r < 0)
                return r == -EEXIST ? -EUCLEAN : r;
        c = json_object();
        if (!c || (json_put(c, "sha256", json_string_nocheck(hex_encode(hash, sizeof(hash), hex))) |
                   json_put(c, "bytes", json_u64(n))) != 0)
                return -ENOMEM;
        *ret = TAKE_PTR(c);
        return 0;
}

/* The members of every entry. */
static int event_stamp(json_t *o, const Event *e, uint64_t now, uint64_t last) {
        char time[CLOCK_TEXT_MAX];
        int r = json_put(o, "type", json_string(e->type)) |
                json_put(o, "time", json_string_nocheck(clock_format(MAX(now, last), time)));

        if (e->region)
                r |= json_put(o, "region", json_string(e->region));
        if (e->who)
                r |= json_put(o, "who", json_string(e->who));
        /* The clock was set back. The order of the entries is the truth; the entry records the clock's difference. */
        if (now < last)
                r |= json_object_set_new(o, "clock_behind_usec", json_u64(last - now));
        return r ? -ENOMEM : 0;
}

static int event_json_put(Txn *t, uint64_t seq, const json_t *json, json_t **ret) {
        _cleanup_free_ char *text = NULL;
        size_t n;

        return json_canonical(json, &text, &n) ?: event_body_put(t, seq, text, n, ret);
}

int event_record(Txn *t, const Event *e, uint64_t *ret_seq, json_t **ret_entry) {
        _cleanup_json_ json_t *fields = e->fields, *commitment = NULL, *whole = NULL,
                              *o = e->payload ? json_incref(fields) : json_copied(fields);
        static const char *const execution[] = {"object", "trace", "below", "kept"};
        _cleanup_free_ char *entry = NULL;
        uint64_t seq, last, now = clock_real_usec();
        size_t n;
        int r = o ? ledger_state(t, &seq, &last) ?: event_stamp(o, e, now, last) : -ENOMEM;

        if (r < 0)
                return r;
        if (e->payload)
                r = event_body_put(t, seq, e->payload, e->n_payload, &commitment);
        else if (e->json)
                r = event_json_put(t, seq, e->json, &commitment);
        else if (e->commitment)
                commitment = json_incref(e->commitment);
        if (r == 0 && commitment && json_object_set(o, "body", commitment) < 0)
                r = -ENOMEM;
        if (r == 0)
                r = json_canonical(o, &entry, &n);
        if (r == 0 && n > LEDGER_ENTRY_MAX && !commitment) {
                _cleanup_json_ json_t *small = json_object();

                /* without the body the entry still says to which execution it belongs (engine/execution.h) */
                r = small ? event_stamp(small, e, now, last) ?: JSON_ROW_KEEP(small, fields, execution)
                                                             ?: event_json_put(t, seq, fields, &commitment) : -ENOMEM;
                if (r == 0 && (json_object_set(small, "body", commitment) < 0 ||
                               json_object_set_new(small, "fields", json_string("body")) < 0))
                        r = -ENOMEM;
                free(TAKE_PTR(entry));
                if (r == 0)
                        r = json_canonical(small, &entry, &n);
                whole = o; /* objects wait for any member */
                o = TAKE_PTR(small);
        }
        if (r == 0)
                r = ledger_append(t, entry, n, now, &seq) ?: wake_on_event(t, seq, e->type, whole ?: o);
        if (r < 0)
                return r;
        if (ret_seq)
                *ret_seq = seq;
        if (ret_entry)
                *ret_entry = TAKE_PTR(o);
        return 0;
}

int event_get(Txn *t, uint64_t seq, json_t **ret) {
        Bytes v;

        return ledger_get(t, seq, &v) ?: json_row_parse(v, LEDGER_ENTRY_MAX, ret);
}

static int event_time(Txn *t, uint64_t seq, uint64_t *ret_usec) {
        _cleanup_json_ json_t *entry = NULL;
        int r = event_get(t, seq, &entry);

        return r < 0 ? (r == -ENOENT ? -EUCLEAN : r)
                     : clock_parse(json_str(entry, "time"), ret_usec) < 0 ? -EUCLEAN : 0;
}

int event_since(Txn *t, uint64_t size, uint64_t usec, uint64_t *ret) {
        uint64_t low = 0, high = size;

        while (low < high) {
                uint64_t middle = low + (high - low) / 2, at;
                int r = event_time(t, middle, &at);

                if (r < 0)
                        return r;
                if (at < usec)
                        low = middle + 1;
                else
                        high = middle;
        }
        *ret = low;
        return 0;
}
