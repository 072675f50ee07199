#include "base/json.h"

#include "base/size.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The deepest nesting of brackets outside strings; a scan of its own, because jansson's limit is fixed at 2048. */
static unsigned nesting(const char *s, size_t n) {
        unsigned depth = 0, most = 0;
        bool in_string = false;

        for (size_t i = 0; i < n; i++) {
                if (in_string) {
                        if (s[i] == '\\')
                                i++;
                        else if (s[i] == '"')
                                in_string = false;
                } else if (s[i] == '"')
                        in_string = true;
                else if (s[i] == '[' || s[i] == '{')
                        most = MAX(most, ++depth);
                else if ((s[i] == ']' || s[i] == '}') && depth > 0)
                        depth--;
        }
        return most;
}

int json_parse(const char *text, size_t n, size_t max_bytes, unsigned max_depth, json_t **ret, Diag *reterr) {
        json_error_t err;
        const char *nul;
        json_t *j;
        unsigned depth;

        if (n > max_bytes)
                return diag(reterr, JSON_E_SIZE, "%zu bytes of JSON: at most %zu are allowed", n, max_bytes);
        nul = n > 0 ? memchr(text, 0, n) : NULL;
        if (nul) { /* jansson skips a NUL that follows a number */
                const char *line = text;
                int lines = 1;

                for (const char *p = text; p < nul; p++)
                        if (*p == '\n') {
                                line = p + 1;
                                lines++;
                        }
                return diag(reterr, JSON_E_SYNTAX, "line %d, column %zu: a NUL byte", lines, (size_t)(nul - line) + 1);
        }
        depth = nesting(text, n);
        if (depth > max_depth)
                return diag(reterr, JSON_E_DEPTH, "JSON nested %u deep: at most %u levels are allowed", depth, max_depth);
        j = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &err);
        if (!j) {
                enum json_error_code code = json_error_code(&err);
                char shown[400];

                if (code == json_error_out_of_memory)
                        return -ENOMEM;
                diag_show(err.text, strlen(err.text), shown, sizeof(shown));
                return diag(reterr, code == json_error_duplicate_key ? JSON_E_DUPLICATE : JSON_E_SYNTAX,
                            "line %d, column %d: %s", err.line, err.column, shown);
        }
        *ret = j;
        return 0;
}

json_t *json_u64(uint64_t v) {
        char text[24];

        if (v <= (uint64_t)JSON_INTEGER_MOST)
                return json_integer((json_int_t)v);
        snprintf(text, sizeof(text), "%" PRIu64, v);
        return json_string(text);
}

int json_get_u64(const json_t *v, uint64_t *ret) {
        const char *s;
        uint64_t u;
        char *end;

        if (json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) <= JSON_INTEGER_MOST) {
                *ret = (uint64_t)json_integer_value(v);
                return 0;
        }
        s = json_string_value(v);
        if (!s || *s < '1' || *s > '9')
                return -EINVAL;
        errno = 0;
        u = strtoull(s, &end, 10);
        if (errno || end != s + json_string_length(v) || u <= (uint64_t)JSON_INTEGER_MOST)
                return -EINVAL;
        *ret = u;
        return 0;
}

/* Small pieces of values that were freed and overwritten, by size: a value is hundreds of them, and the heap keeps seven of a size at hand. Each thread has
 * its own, and gives them back at its end. */
#define KEPT_SIZES 8 /* of 24, 40 … 136 usable bytes, which malloc() makes of a request */
#define KEPT_MOST 64 /* of each */
typedef struct Kept {
        struct Piece {
                struct Piece *next;
        } *first[KEPT_SIZES];
        unsigned n[KEPT_SIZES];
        bool known; /* who ends the thread knows of it */
} Kept;
static _Thread_local Kept kept;
static pthread_key_t kept_key;
static bool keeps;

static size_t usable_of(size_t i) {
        return 24 + 16 * i;
}

static void give_back(void *arg) {
        Kept *k = arg;

        for (size_t i = 0; i < KEPT_SIZES; i++)
                while (k->first[i]) {
                        struct Piece *p = k->first[i];

                        k->first[i] = p->next;
                        free(p);
                }
        *k = (Kept){0};
}

static void *kept_malloc(size_t n) {
        size_t i = n <= usable_of(0) ? 0 : (n - usable_of(0) + 15) / 16;
        Kept *k = &kept;
        struct Piece *p;

        if (i >= KEPT_SIZES || !k->first[i])
                return malloc(n);
        p = k->first[i];
        k->first[i] = p->next;
        k->n[i]--;
        return p;
}

/* As explicit_bzero(), which is called for pieces that are not small. malloc()'s sizes are of whole words. */
static void wipe(void *p, size_t n) {
        uint64_t *at = p;

        if (n > usable_of(KEPT_SIZES - 1) || n % sizeof(*at)) {
                explicit_bzero(p, n);
                return;
        }
        for (size_t i = 0; i < n / sizeof(*at); i++)
                at[i] = 0;
        __asm__ volatile("" : : "r"(p) : "memory");
}

static void wipe_free(void *p) {
        size_t usable, i;
        Kept *k = &kept;

        if (!p)
                return;
        usable = malloc_usable_size(p);
        wipe(p, usable);
        i = (usable - usable_of(0)) / 16;
        if (!keeps || usable < usable_of(0) || i >= KEPT_SIZES || usable != usable_of(i) || k->n[i] == KEPT_MOST ||
            (!k->known && pthread_setspecific(kept_key, k) != 0)) {
                free(p);
                return;
        }
        k->known = true;
        ((struct Piece *)p)->next = k->first[i];
        k->first[i] = p;
        k->n[i]++;
}

void json_wipe_freed(void) {
#ifndef __SANITIZE_ADDRESS__ /* which is to see who uses what was freed */
        keeps = keeps || pthread_key_create(&kept_key, give_back) == 0;
#endif
        json_set_alloc_funcs(kept_malloc, wipe_free);
}
