/* The small languages of a manifest and the command line. First byte: which; the rest: the text. What is made plain stays as it is, and what
 * is written for a person reads as what it was. */
#include "base/clock.h"
#include "base/diag.h"
#include "base/size.h"
#include "manifest/vocabulary.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

static void check_path(const char *text) {
        _cleanup_free_ char *one = NULL, *two = NULL;
        Diag why = {0};
        int r = path_normalise(text, &one, &why);

        fuzz_check(r == 0 || (r == TERMS_E_BAD && *why.text), "%d", r);
        if (r != 0)
                return;
        fuzz_check(*one == '/' && !strstr(one, "//") && !strstr(one, "/../") && !strstr(one, "/./"), "%s", one);
        fuzz_check(path_normalise(one, &two, NULL) == 0 && strcmp(one, two) == 0, "%s became %s", one, two);
        fuzz_check(path_is_under(one, one) && path_is_under(one, "/"), "%s", one);
}

static void check_budget(const BudgetField *f, const char *text) {
        char shown[BUDGET_TEXT_MAX];
        uint64_t v = 0;
        Diag why = {0};
        int r = budget_parse(f, text, &v, &why);

        fuzz_check(r == 0 || (r == TERMS_E_BAD && *why.text), "%d", r);
        if (r != 0)
                return;
        fuzz_check((v == BUDGET_NONE && f->may_be_none) || (v >= f->least && v <= f->most), "%s: %llu", f->name, (unsigned long long)v);
        budget_format(f, v, shown);
        fuzz_check(*shown && strlen(shown) < sizeof(shown));
}

static void check_net(const char *text) {
        NetGrant g = {0}, twin = {0};
        Diag why = {0};
        int r = net_parse(text, &g, &why);

        fuzz_check(r == 0 || r < 0 || *why.text, "%d", r);
        if (r != 0)
                return;
        fuzz_check(g.port > 0 && strcmp(g.text, text) == 0);
        fuzz_check(net_parse(text, &twin, NULL) == 0 && net_same(&g, &twin));
        free(g.text);
        free(twin.text);
}

static void check_numbers(const char *text) {
        uint64_t v, again;
        char shown[CLOCK_TEXT_MAX];

        if (clock_parse(text, &v) == 0)
                fuzz_check(strcmp(clock_format(v, shown), text) == 0, "%s", text);
        if (size_parse(text, &v) == 0)
                fuzz_check(v < UINT64_C(1) << 53, "%s", text);
        if (duration_parse(text, &v) == 0)
                fuzz_check(v < UINT64_C(1) << 53, "%s", text);
        if (count_parse(text, &v) == 0)
                fuzz_check(size_parse(text, &again) == 0 && v == again, "%s", text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_free_ char *text = NULL, *quoted = malloc(64);

        if (n < 1 || n > 8192)
                return 0;
        text = strndup((const char *)data + 1, n - 1);
        fuzz_check(text && quoted);
        fuzz_check(strlen(diag_quote((const char *)data + 1, n - 1, quoted, 64)) < 64);
        switch (data[0] % 4) {
        case 0:
                check_path(text);
                break;
        case 1:
                check_net(text);
                break;
        case 2:
                check_numbers(text);
                break;
        default:
                check_budget(&budget_fields[data[0] / 4 % BUDGET_FIELDS], text);
        }
        return 0;
}
