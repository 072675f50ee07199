#include "manifest/vocabulary.h"

#include "base/size.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define SEC UINT64_C(1000000)
#define DAY (86400 * SEC)

/* Below the least value no program can start, or the kernel reads the value as "no limit" (a tmpfs of 0 bytes). */
const BudgetField budget_fields[BUDGET_FIELDS] = {
        {"memory", "memory", UNIT_BYTES, offsetof(Budget, memory_bytes), 1 * MIB, 128 * MIB, 1024 * GIB},
        {"wall", "timeout", UNIT_USEC, offsetof(Budget, wall_usec), 1000, 30 * SEC, DAY, true},
        {"cpu", "cpu-time", UNIT_USEC, offsetof(Budget, cpu_usec), 1000, 30 * SEC, DAY, true},
        {"processes", "pids-limit", UNIT_COUNT, offsetof(Budget, processes), 1, 64, 32768},
        {"open_files", "nofile", UNIT_COUNT, offsetof(Budget, open_files), 8, 256, 65536},
        {"file_size", "file-size", UNIT_BYTES, offsetof(Budget, file_bytes), 1, 64 * MIB, 1024 * GIB},
        {"scratch", "scratch", UNIT_BYTES, offsetof(Budget, scratch_bytes), 4 * KIB, 64 * MIB, 1024 * GIB},
        {"output", "output-limit", UNIT_BYTES, offsetof(Budget, output_bytes), 1, 16 * MIB, 64 * GIB, true},
        {"idle", "idle", UNIT_USEC, offsetof(Budget, idle_usec), 100000, BUDGET_NONE, DAY, true},
        {"cpus", "cpus", UNIT_MILLI, offsetof(Budget, cpus_milli), 10, BUDGET_NONE, 1024000, true},
};

const char *const tier_words[] = {"landlock", "namespaces", NULL};

const char *tier_name(Tier t) {
        return tier_words[t == TIER_LANDLOCK ? 0 : 1];
}

const char *const network_words[] = {"none", "loopback", "connect", "host", NULL};

int network_parse(const char *word) {
        return strcmp(word, "private") == 0 ? NETWORK_LOOPBACK : word_index(network_words, word);
}

const char *const key_scope_words[] = {"invocation", "invocation-tree", NULL};
const char *const embodiment_words[] = {"arena", "process", "container", NULL};
const char *const commit_words[] = {"any", "success", NULL};

const char *discipline_name(Discipline d) {
        static const char *const names[] = {
                [DISCIPLINE_ZERO] = "zero", [DISCIPLINE_MULTIPASS] = "multipass", [DISCIPLINE_NONE] = "none"};

        return names[d];
}

int discipline_parse(const char *text, Discipline *ret, unsigned *ret_passes, Diag *reterr) {
        static const char with_passes[] = "multipass:";
        uint64_t n = PASSES_STANDARD;
        bool good = true;

        if (strcmp(text, "zero") == 0) {
                *ret = DISCIPLINE_ZERO;
                n = 1;
        } else if (strcmp(text, "none") == 0) {
                *ret = DISCIPLINE_NONE;
                n = 0;
        } else if (strcmp(text, "multipass") == 0) {
                *ret = DISCIPLINE_MULTIPASS;
        } else if (strncmp(text, with_passes, strlen(with_passes)) == 0 && text[strlen(with_passes)] != '0' &&
                   count_parse(text + strlen(with_passes), &n) == 0 && n >= 1 && n <= PASSES_MOST) {
                *ret = DISCIPLINE_MULTIPASS;
        } else
                good = false;
        *ret_passes = (unsigned)n;
        return good ? 0
                    : diag(reterr, TERMS_E_BAD,
                           "\"%s\": must be zero, multipass, multipass:N with N from 1 to %d, or none",
                           DIAG_QUOTED(text), PASSES_MOST);
}

const char *discipline_format(Discipline d, unsigned passes, char out[static DISCIPLINE_TEXT_MAX]) {
        if (d == DISCIPLINE_MULTIPASS)
                snprintf(out, DISCIPLINE_TEXT_MAX, "%s:%u", discipline_name(d), passes);
        else
                strcpy(out, discipline_name(d));
        return out;
}

unsigned discipline_strength(Discipline d, unsigned passes) {
        return d == DISCIPLINE_NONE ? 0 : d == DISCIPLINE_ZERO ? 1 : 1 + passes;
}

Discipline discipline_of_strength(uint64_t strength, unsigned *ret_passes) {
        *ret_passes = (unsigned)(strength > 1 ? strength - 1 : strength);
        return strength == 0 ? DISCIPLINE_NONE : strength == 1 ? DISCIPLINE_ZERO : DISCIPLINE_MULTIPASS;
}

const char *lineage_name(LineageDetail l) {
        static const char *const names[] = {
                [LINEAGE_EVENTS] = "events", [LINEAGE_STATS] = "stats", [LINEAGE_HANDLES] = "handles"};

        return names[l];
}

Budget budget_most(void) {
        Budget b = {0};

        for (size_t i = 0; i < BUDGET_FIELDS; i++)
                *budget_at(&b, &budget_fields[i]) = budget_fields[i].may_be_none ? BUDGET_NONE : budget_fields[i].most;
        return b;
}

const char *budget_key(const BudgetField *f, char out[static BUDGET_KEY_MAX]) {
        static const char *const units[] = {[UNIT_BYTES] = "_bytes", [UNIT_USEC] = "_usec", [UNIT_COUNT] = "",
                                            [UNIT_MILLI] = "_milli"};

        snprintf(out, BUDGET_KEY_MAX, "%s%s", f->name, units[f->unit]);
        return out;
}

const char *budget_format(const BudgetField *f, uint64_t v, char out[static BUDGET_TEXT_MAX]) {
        char text[SIZE_TEXT_MAX];

        if (f->may_be_none && v == BUDGET_NONE)
                strcpy(out, "none");
        else if (f->unit == UNIT_COUNT)
                snprintf(out, BUDGET_TEXT_MAX, "%" PRIu64, v);
        else if (f->unit == UNIT_MILLI)
                snprintf(out, BUDGET_TEXT_MAX, "%.10g", (double)v / 1000);
        else
                strcpy(out, f->unit == UNIT_BYTES ? size_format(v, text) : duration_format(v, text));
        return out;
}

static const char *const budget_unit_hints[] = {[UNIT_BYTES] = "a size such as 64k, 128m or 1g",
                                               [UNIT_USEC] = "a time such as 250ms, 30s or 5m",
                                               [UNIT_COUNT] = "a whole number",
                                               [UNIT_MILLI] = "a number such as 2 or 0.5, with at most three decimals"};

static int budget_in_bounds(const BudgetField *f, uint64_t v, const char *shown, uint64_t *ret, Diag *reterr) {
        char least[BUDGET_TEXT_MAX], most[BUDGET_TEXT_MAX];

        if (v < f->least || v > f->most)
                return diag(reterr, TERMS_E_BAD, "%s %s: must be from %s to %s", f->name, shown,
                            budget_format(f, f->least, least), budget_format(f, f->most, most));
        *ret = v;
        return 0;
}

/* "1.25" is 1250. Returns as count_parse(). */
static int budget_parse_milli(const char *text, uint64_t *ret) {
        const char *dot = strchr(text, '.');
        uint64_t whole = 0, part = 0;
        char digits[24];
        int r;

        if (!dot)
                dot = text + strlen(text);
        if ((size_t)(dot - text) >= sizeof(digits))
                return -ERANGE;
        snprintf(digits, sizeof(digits), "%.*s", (int)(dot - text), text);
        r = dot > text || !*dot ? count_parse(digits, &whole) : 0;
        if (r == 0 && *dot) {
                const size_t n = strlen(dot + 1);

                if (n < 1 || n > 3 || strspn(dot + 1, "0123456789") != n)
                        return -EINVAL;
                snprintf(digits, sizeof(digits), "%s%.*s", dot + 1, (int)(3 - n), "00");
                part = strtoul(digits, NULL, 10);
        }
        if (r == 0 && whole > UINT64_MAX / 1000 - 1)
                return -ERANGE;
        *ret = whole * 1000 + part;
        return r;
}

int budget_parse(const BudgetField *f, const char *text, uint64_t *ret, Diag *reterr) {
        const char *shown = DIAG_QUOTED(text);
        uint64_t v = 0;
        int r = f->unit == UNIT_BYTES  ? size_parse(text, &v)
                : f->unit == UNIT_USEC ? duration_parse(text, &v)
                : f->unit == UNIT_MILLI ? budget_parse_milli(text, &v)
                                       : count_parse(text, &v);

        if (f->may_be_none && strcmp(text, "none") == 0) {
                *ret = BUDGET_NONE;
                return 0;
        }
        if (r == -ERANGE)
                v = UINT64_MAX; /* too large to be counted: budget_in_bounds() names the bound */
        else if (r < 0)
                return diag(reterr, TERMS_E_BAD, "%s \"%s\": must be %s%s", f->name, shown, budget_unit_hints[f->unit],
                            f->may_be_none ? ", or none" : "");
        return budget_in_bounds(f, v, shown, ret, reterr);
}

int budget_parse_json(const BudgetField *f, const json_t *value, uint64_t *ret, Diag *reterr) {
        char shown[32];
        json_int_t v;

        if (json_is_string(value) && f->unit != UNIT_COUNT) {
                if (!json_text(value))
                        return diag(reterr, TERMS_E_BAD, "%s: a NUL in a value", f->name);
                return budget_parse(f, json_text(value), ret, reterr);
        }
        if (f->unit == UNIT_MILLI && json_is_number(value)) {
                snprintf(shown, sizeof(shown), "%.10g", json_number_value(value));
                return budget_parse(f, shown, ret, reterr);
        }
        if (!json_is_integer(value))
                return diag(reterr, TERMS_E_BAD, "%s: must be %s%s", f->name, budget_unit_hints[f->unit],
                            f->unit == UNIT_COUNT || f->unit == UNIT_MILLI ? ""
                            : f->unit == UNIT_BYTES ? " in quotes, or a whole number of bytes"
                                                    : " in quotes, or a whole number of seconds");
        v = json_integer_value(value);
        snprintf(shown, sizeof(shown), "%" JSON_INTEGER_FORMAT, v);
        if (v < 0)
                v = 0;
        if (f->unit == UNIT_USEC)
                v = v > INT64_MAX / 1000000 ? INT64_MAX : v * 1000000;
        return budget_in_bounds(f, (uint64_t)v, shown, ret, reterr);
}

void file_grants_free(FileGrant *g, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(g[i].source);
                free(g[i].target);
                free(g[i].of);
        }
        free(g);
}

void net_grants_free(NetGrant *g, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(g[i].text);
        free(g);
}

int net_parse(const char *text, NetGrant *ret, Diag *reterr) {
        const char *colon = strrchr(text, ':'), *from = text, *end = colon;
        const char *shown = DIAG_QUOTED(text);
        char host[INET6_ADDRSTRLEN] = "";
        NetGrant g = {.family = AF_INET};
        uint64_t port;

        if (!colon)
                return diag(reterr, TERMS_E_BAD,
                            "\"%s\": must be ADDRESS:PORT, for example 127.0.0.1:8080 or [::1]:443", shown);
        if (*text == '[') {
                if (colon == text || colon[-1] != ']')
                        return diag(reterr, TERMS_E_BAD, "\"%s\": an IPv6 address is written [ADDRESS]:PORT", shown);
                g.family = AF_INET6;
                from++;
                end--;
        }
        if ((size_t)(end - from) >= sizeof(host))
                return diag(reterr, TERMS_E_BAD, "\"%s\": the address is too long", shown);
        memcpy(host, from, (size_t)(end - from));
        if (inet_pton(g.family, host, g.addr) != 1)
                return diag(reterr, TERMS_E_BAD,
                            "\"%s\": must be a numeric address; names are not looked up, because a name may mean "
                            "another machine tomorrow",
                            shown);
        if (count_parse(colon + 1, &port) < 0 || port < 1 || port > 65535 || (colon[1] == '0'))
                return diag(reterr, TERMS_E_BAD, "\"%s\": the port must be from 1 to 65535", shown);
        g.port = (uint16_t)port;
        g.text = strdup(text);
        if (!g.text)
                return -ENOMEM;
        *ret = g;
        return 0;
}

bool net_same(const NetGrant *a, const NetGrant *b) {
        return a->family == b->family && a->port == b->port &&
               memcmp(a->addr, b->addr, a->family == AF_INET ? 4 : 16) == 0;
}
