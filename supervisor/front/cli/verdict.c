/* Runs: CLI. */
#include "cli/verdict.h"

#include "cli/with-store.h"

#include <inttypes.h>
#include <string.h>

uint64_t said_number(const json_t *o, const char *key) {
        uint64_t v = 0;

        json_get_u64(json_object_get(o, key), &v);
        return v;
}

const char *said_text(const json_t *o, const char *key) {
        const char *s = json_text(json_object_get(o, key));

        return s ? s : "?";
}

static void print_skill(const json_t *o) {
        const char *skill = said_text(o, "skill");

        printf(" region %s  skill ", said_text(o, "region"));
        print_safe(stdout, skill, strlen(skill));
}

void print_verdict(const json_t *v) {
        const json_t *list = json_object_get(v, "proposals");
        const char *who = json_text(json_object_get(v, "who"));

        printf("verdict %-6s seq %-8" PRIu64 " %s  %s, %zu proposal%s: ", said_text(json_object_get(v, "rule"), "rule"), said_number(v, "seq"), said_text(v, "time"),
               who ? who : "enough gathered", json_array_size(list), json_array_size(list) == 1 ? "" : "s");
        if (json_is_null(json_object_get(v, "winner")))
                printf("none taken, %s\n", said_text(v, "reason"));
        else
                printf("version %" PRIu64 "\n", said_number(v, "version") + 1);
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *p = json_array_get(list, i), *sure = json_object_get(p, "confidence");

                printf("        %-14s seq %-8" PRIu64, said_text(p, "verdict"), said_number(p, "seq"));
                print_skill(p);
                if (sure)
                        printf("  confidence %g", json_number_value(sure));
                putchar('\n');
        }
}

int print_waiting(const json_t *o) {
        const json_t *rule = json_object_get(o, "rule"), *list = json_object_get(o, "gathered");
        int r;

        printf("  rule     ");
        r = print_json(stdout, rule);
        printf("  gathered %zu of %" PRIu64 "\n", json_array_size(list), said_number(rule, "of"));
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *p = json_array_get(list, i);

                printf("        seq %-8" PRIu64 " %s ", said_number(p, "seq"), said_text(p, "time"));
                print_skill(p);
                putchar('\n');
        }
        return r;
}
