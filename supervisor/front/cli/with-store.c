#include "cli/with-store.h"

#include "request/paths.h"
#include "engine/fold.h"
#include "engine/mutate.h"
#include "ledger/anchor.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

bool store_option(StoreOptions *o, int option, const char *arg) {
        switch (option) {
        case 's':
                o->store = arg;
                return true;
        case 'a':
                anchor_set_path(arg);
                return true;
        case 'j':
                o->json = true;
                cli_wants_json();
                return true;
        default:
                return false;
        }
}

int store_option_wrong(char **argv) {
        /* Of several letters behind one '-' getopt has not gone on to the next argument before the last of them. */
        const char *wrong = argv[optind - 1], *at = argv[optind];

        if (optopt > 0 && optopt < 0x80 && at && at[0] == '-' && at[1] != '-' && strchr(at + 1, optopt) &&
            !(wrong[0] == '-' && wrong[1] == optopt && !wrong[2]))
                wrong = at;
        return cli_usage(argv[0], "'%s' is not one of its options, or lacks its value", wrong);
}

int with_store_there(const char *verb, const char *path) {
        _cleanup_free_ char *data = NULL;

        if (asprintf(&data, "%s/data.mdb", path) < 0) {
                data = NULL;
                return cli_fail(verb, EXIT_NOT, "out of memory");
        }
        if (access(data, F_OK) == 0 || errno != ENOENT)
                return EXIT_OK;
        return access(path, F_OK) == 0 ? cli_refuse(verb, EXIT_NOT, "no_store", "%s is not a store: it has no data.mdb", path)
                                       : cli_refuse(verb, EXIT_NOT, "no_store", "store %s: there is none", path);
}

int with_store_code(int r) {
        return r == STORE_E_FULL || r == -ENOSPC || r == -EDQUOT ? EXIT_FULL : EXIT_NOT;
}

static bool with_store_judged;

bool with_store_is_verdict(int r) {
        return r > 0 && r != STORE_E_LOCKED && r != STORE_E_FULL && r != STORE_E_READ_ONLY;
}

bool with_store_was_verdict(void) {
        return with_store_judged;
}

int with_store(const char *verb, const StoreOptions *o, StoreMode mode, Store **ret) {
        _cleanup_free_ char *path = NULL;
        Diag d = {0};
        int r;

        path = path_of_store(o->store, &d);
        if (!path)
                return cli_usage(verb, "%s", *d.text ? d.text : "out of memory");
        if (o->must_exist && mode != STORE_READ && (r = with_store_there(verb, path)) != EXIT_OK)
                return r;
        store_set_fault_exit(EXIT_NOT, EXIT_FULL);
        r = store_open(path, mode, ret, &d);
        if (r == 0 && mode != STORE_READ)
                r = engine_index_renew_now(*ret, &d);
        if (r == 0 && mode != STORE_READ)
                r = engine_retry_dead_letters_at_start(*ret, &d);
        if (r == 0)
                return EXIT_OK;
        with_store_judged = with_store_is_verdict(r);
        return cli_refuse(verb, with_store_code(r), r == STORE_E_MISSING ? "no_store" : "store", "%s", *d.text ? d.text : store_strerror(r));
}

int with_store_write(const char *verb, const StoreOptions *o, StoreFn fn, void *user, int *ret_refused, Diag *reterr) {
        _cleanup_store_ Store *s = NULL;
        Diag d = {0};
        Txn *t;
        int r = with_store(verb, o, STORE_WRITE, &s), c;

        *ret_refused = 0;
        if (r != EXIT_OK)
                return r;
        r = store_begin(s, true, &t, &d);
        if (r != 0)
                return with_store_failed(verb, s, r, &d);
        r = fn(t, user, reterr);
        if (r < 0) {
                store_abort(t);
                return with_store_failed(verb, s, r, reterr);
        }
        c = store_commit(t, &d);
        if (c != 0)
                return with_store_failed(verb, s, c, &d);
        *ret_refused = r;
        return EXIT_OK;
}

int with_store_failed(const char *verb, const Store *s, int r, const Diag *d) {
        if (r > 0)
                return cli_refuse(verb, with_store_code(r), "store", "%s", d->text);
        return cli_refuse(verb, with_store_code(r), "store", "store %s: %s", store_dir(s), store_strerror(r));
}

/* Whether a terminal obeys the character, or it turns the direction of text: then its code point and its length, 1 to 3 bytes. */
static bool commands(const unsigned char *s, size_t left, unsigned *ret, size_t *ret_n) {
        unsigned c = s[0];

        *ret_n = 1;
        *ret = c;
        if (c < 0x20 || c == 0x7F)
                return true;
        if (c == 0xC2 && left >= 2 && s[1] < 0xA0) {
                *ret_n = 2;
                *ret = s[1];
                return true;
        }
        if (c == 0xD8 && left >= 2 && s[1] == 0x9C) {
                *ret_n = 2;
                *ret = 0x061C;
                return true;
        }
        if (c != 0xE2 || left < 3)
                return false;
        c = 0x2000U | (unsigned)(s[1] & 0x3F) << 6 | (s[2] & 0x3F);
        *ret_n = 3;
        *ret = c;
        return (c >= 0x200E && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

void print_safe(FILE *out, const char *text, size_t n) {
        const unsigned char *s = (const unsigned char *)text;
        size_t from = 0;

        for (size_t i = 0; i < n; i++) {
                size_t k;
                unsigned c;

                if (!commands(s + i, n - i, &c, &k))
                        continue;
                fwrite(s + from, 1, i - from, out);
                fprintf(out, "\\u%04x", c);
                i += k - 1;
                from = i + 1;
        }
        fwrite(s + from, 1, n - from, out);
}

int print_json(FILE *out, const json_t *v) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r = v ? json_canonical(v, &text, &n) : -ENOMEM;

        if (r < 0)
                return r;
        print_safe(out, text, n);
        fputc('\n', out);
        if (out == stdout)
                cli_answered();
        return 0;
}
