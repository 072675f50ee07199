#include "manifest/vocabulary.h"

#include "schema/limits.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool name_is_lower(char c) {
        return c >= 'a' && c <= 'z';
}

static bool name_is_digit(char c) {
        return c >= '0' && c <= '9';
}

/* POSIX.1-2017 XBD 8.1: letters, digits and underscore, no digit first. */
bool env_name_valid(const char *name, size_t n) {
        if (n == 0 || n > 256 || name_is_digit(name[0]))
                return false;
        for (size_t i = 0; i < n; i++)
                if (!name_is_lower(name[i]) && !name_is_digit(name[i]) && name[i] != '_' &&
                    !(name[i] >= 'A' && name[i] <= 'Z'))
                        return false;
        return true;
}

int path_normalise(const char *path, char **ret, Diag *reterr) {
        size_t n = strlen(path), o = 0;
        _cleanup_free_ char *s = NULL;
        const char *shown = DIAG_QUOTED_N(path, n);

        if (path[0] != '/')
                return diag(reterr, TERMS_E_BAD, "\"%s\": must be an absolute path", shown);
        if (n >= PATH_MAX)
                return diag(reterr, TERMS_E_BAD, "\"%s\": longer than %d bytes", shown, PATH_MAX - 1);
        if (!utf8_valid(path, n, NULL))
                return diag(reterr, TERMS_E_BAD, "\"%s\": must be UTF-8", shown);
        s = malloc(n + 2);
        if (!s)
                return -ENOMEM;
        for (const char *p = path; *p;) {
                size_t len;

                while (*p == '/')
                        p++;
                len = strcspn(p, "/");
                if (len == 2 && p[0] == '.' && p[1] == '.')
                        return diag(reterr, TERMS_E_BAD, "\"%s\": must not have a \"..\" part", shown);
                if (len > 0 && !(len == 1 && p[0] == '.')) {
                        s[o++] = '/';
                        for (size_t i = 0; i < len; i++) {
                                if ((unsigned char)p[i] < 0x20 || p[i] == 0x7F)
                                        return diag(reterr, TERMS_E_BAD, "\"%s\": must not have a control character",
                                                    shown);
                                s[o++] = p[i];
                        }
                }
                p += len;
        }
        if (o == 0)
                s[o++] = '/';
        s[o] = 0;
        *ret = TAKE_PTR(s);
        return 0;
}

bool path_has_dots(const char *path) {
        for (const char *p = path; *p; p += strcspn(p, "/"), p += *p == '/')
                if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || p[2] == 0))
                        return true;
        return false;
}

bool path_is_program(const char *path) {
        struct stat st;

        return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111);
}

int path_search(const char *name, char **ret) {
        *ret = NULL;
        for (const char *p = REGION_PATH; *p && !*ret; p += strcspn(p, ":"), p += *p == ':') {
                _cleanup_free_ char *path = text_printf("%.*s/%s", (int)strcspn(p, ":"), p, name);

                if (!path)
                        return -ENOMEM;
                if (path_is_program(path))
                        *ret = TAKE_PTR(path);
        }
        return 0;
}

bool path_is_under(const char *path, const char *root) {
        size_t n = strlen(root);

        if (n == 1 && root[0] == '/')
                return path[0] == '/';
        return strncmp(path, root, n) == 0 && (path[n] == 0 || path[n] == '/');
}

static const char *const system_folders[] = {"/usr", "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

bool path_is_system(const char *path) {
        for (size_t i = 0; i < ARRAY_SIZE(system_folders); i++)
                if (path_is_under(path, system_folders[i]))
                        return true;
        return false;
}

int path_target_check(const char *target, bool own, Diag *reterr) {
        static const char *const whole[] = {REGION_SKILL_DIR, REGION_LETHE_DIR, "/proc", "/dev", "/sys"};
        static const char *const itself[] = {"/", REGION_WORK_DIR, REGION_TMP_DIR};
        const char *shown = DIAG_QUOTED(target);

        for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
                if (path_is_under(target, whole[i]))
                        return diag(reterr, TERMS_E_BAD,
                                    "\"%s\": nothing can be mounted over %s, which is Lethe's own in a region", shown,
                                    whole[i]);
        for (size_t i = 0; i < ARRAY_SIZE(itself); i++)
                if (strcmp(target, itself[i]) == 0)
                        return diag(reterr, TERMS_E_BAD,
                                    "\"%s\": cannot be mounted over as a whole; name a place below it or beside it",
                                    shown);
        for (size_t i = 0; i < ARRAY_SIZE(system_folders); i++) {
                if (strcmp(target, system_folders[i]) == 0)
                        return diag(reterr, TERMS_E_BAD,
                                    "\"%s\": a system folder cannot be mounted over; name a place outside of the "
                                    "system folders",
                                    shown);
                if (path_is_under(target, system_folders[i]) && !own)
                        return diag(reterr, TERMS_E_BAD,
                                    "\"%s\": nothing is mounted below the system folder %s, but a path of the host's "
                                    "that only root can write, read-only and at its own place; name a place outside "
                                    "of the system folders",
                                    shown, system_folders[i]);
        }
        return 0;
}

char *text_vprintf(const char *fmt, va_list ap) {
        char *s;

        return vasprintf(&s, fmt, ap) < 0 ? NULL : s;
}

char *text_printf(const char *fmt, ...) {
        va_list ap;
        char *s;

        va_start(ap, fmt);
        s = text_vprintf(fmt, ap);
        va_end(ap);
        return s;
}

int text_copy(char **ret, const char *text_or_null) {
        *ret = text_or_null ? strdup(text_or_null) : NULL;
        return *ret || !text_or_null ? 0 : -ENOMEM;
}

void strv_free(char **v) {
        for (size_t i = 0; v && v[i]; i++) {
                explicit_bzero(v[i], strlen(v[i])); /* arguments of a sub-skill are a region's data */
                free(v[i]);
        }
        free(v);
}

size_t strv_length(char *const *v) {
        size_t n = 0;

        while (v && v[n])
                n++;
        return n;
}

int strv_add(char ***v, const char *s) {
        size_t n = strv_length(*v);
        char **p = reallocarray(*v, n + 2, sizeof(*p));

        if (!p)
                return -ENOMEM;
        *v = p;
        p[n + 1] = NULL;
        p[n] = strdup(s);
        return p[n] ? 0 : -ENOMEM;
}

int strv_add_all(char ***v, char *const *more) {
        size_t n = strv_length(*v), n_more = strv_length(more);
        char **p = n_more > 0 ? reallocarray(*v, n + n_more + 1, sizeof(*p)) : NULL;

        if (n_more == 0)
                return 0;
        if (!p)
                return -ENOMEM;
        *v = p;
        p[n] = NULL;
        for (size_t i = 0; i < n_more; i++) {
                p[n + i + 1] = NULL;
                p[n + i] = strdup(more[i]);
                if (!p[n + i])
                        return -ENOMEM;
        }
        return 0;
}

int word_index(const char *const *words, const char *text) {
        for (int i = 0; words[i]; i++)
                if (strcmp(words[i], text) == 0)
                        return i;
        return -1;
}

bool strv_has(char *const *v, const char *s) {
        return v && word_index((const char *const *)v, s) >= 0;
}
