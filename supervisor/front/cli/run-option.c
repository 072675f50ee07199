#include "cli/run-option.h"

#include "base/id.h"
#include "base/io.h"
#include "base/owner.h"
#include "manifest/vocabulary.h"
#include "policy/request.h"
#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENV_FILE_MAX (1024 * 1024)
#define PROFILE_MAX (64 * 1024)
#define PROFILE_DEPTH 4
#define PROFILE_LIST_MAX 256

/* clang-format off */
static const struct {
        const char *option, *words;
} others[] = {
#define OTHER(option, words) {option, words},
#include "cli/other-tools.def"
#undef OTHER
};
/* clang-format on */

const char *run_option_of_others(const char *option) {
        const char *beginning = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
                const size_t n = strlen(others[i].option) - 1;

                if (strcmp(others[i].option, option) == 0)
                        return others[i].words;
                if (!beginning && others[i].option[n] == '*' && strncmp(others[i].option, option, n) == 0)
                        beginning = others[i].words;
        }
        return beginning;
}

const char *run_option_of_letter(int letter, const char **ret_option) {
        static const struct {
                char letter;
                const char *option;
        } letters[] = {{'P', "publish-all"}, {'u', "user"}, {'l', "label"},
                       {'a', "attach"}, {'c', "cpu-shares"}, {'s', "settings"}};

        for (size_t i = 0; i < ARRAY_SIZE(letters); i++)
                if (letters[i].letter == letter)
                        return run_option_of_others(*ret_option = letters[i].option);
        return NULL;
}

static int run_option_line(const char *file, size_t number, char *line, RunOptionTake *take, void *userdata,
                           Diag *reterr) {
        const size_t n = strcspn(line, "=");
        int r;

        if (!*line || *line == '#')
                return 0;
        if (!line[n] && !getenv(line))
                return diag(reterr, RUN_OPTION_E_FILE, "--env-file %s: line %zu: \"%s\" is not set here; write NAME=VALUE",
                            DIAG_QUOTED(file), number, DIAG_QUOTED(line));
        r = take(userdata, "env", line, reterr);
        if (r > 0)
                diag_prefix(reterr, "--env-file %s: line %zu", DIAG_QUOTED(file), number);
        return r;
}

int run_option_env_file(const char *file, RunOptionTake *take, void *userdata, Diag *reterr) {
        _cleanup_free_ char *text = NULL;
        size_t n, number = 0;
        int r = io_read_file(AT_FDCWD, file, ENV_FILE_MAX, &text, &n);
        char *next;

        if (r == -EFBIG || r == -E2BIG)
                return diag(reterr, RUN_OPTION_E_FILE, "--env-file %s: larger than %d bytes", DIAG_QUOTED(file), ENV_FILE_MAX);
        if (r < 0)
                return diag(reterr, RUN_OPTION_E_FILE, "--env-file %s: %s", DIAG_QUOTED(file), strerror(-r));
        if (memchr(text, 0, n))
                r = diag(reterr, RUN_OPTION_E_FILE, "--env-file %s: a NUL in the file", DIAG_QUOTED(file));
        for (char *line = text; r == 0 && line; line = next) {
                next = strchr(line, '\n');
                if (next)
                        *next++ = 0;
                line[strcspn(line, "\r")] = 0;
                r = run_option_line(file, ++number, line, take, userdata, reterr);
        }
        explicit_bzero(text, n); /* values may be secrets */
        return r;
}

unsigned run_option_away(const char *option, const char *word, size_t n_word) {
        const size_t n = strlen(option);
        uint8_t away[RUN_OPTION_MAX + 1][RUN_OPTION_MAX + 1];

        if (n > RUN_OPTION_MAX || n_word > RUN_OPTION_MAX)
                return UINT_MAX;
        for (size_t i = 0; i <= n; i++)
                for (size_t k = 0; k <= n_word; k++) {
                        const bool other = i > 0 && k > 0 && option[i - 1] != word[k - 1];
                        unsigned least = i == 0 ? (unsigned)k : k == 0 ? (unsigned)i
                                                                       : away[i - 1][k - 1] + other;

                        if (i > 0 && k > 0)
                                least = MIN(least, MIN(away[i - 1][k], away[i][k - 1]) + 1U);
                        if (i > 1 && k > 1 && option[i - 1] == word[k - 2] && option[i - 2] == word[k - 1])
                                least = MIN(least, away[i - 2][k - 2] + 1U);
                        away[i][k] = (uint8_t)least;
                }
        return away[n][n_word];
}

static char *run_option_profile_path(const char *name) {
        const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

        if (base && *base == '/')
                return text_printf("%s/lethe/profiles/%s.json", base, name);
        return home && *home == '/' ? text_printf("%s/.config/lethe/profiles/%s.json", home, name) : NULL;
}

typedef struct Profile {
        const char *path;
        bool without_here;
        RunOptionTake *take;
        void *userdata;
        Diag *reterr;
} Profile;

/* Options that say what a region may have; the others are of a single run. */
static bool profile_may_have(const char *option) {
        static const char *const words[] = {"volume", "env", "workdir", "here", "network", "connect", "tier", "proc", "terminals",
                                            "discipline", "entry", "allow", "publish"};

        for (size_t i = 0; i < BUDGET_FIELDS; i++)
                if (strcmp(option, budget_fields[i].option) == 0)
                        return true;
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (strcmp(option, words[i]) == 0)
                        return true;
        return false;
}

static bool profile_may_list(const char *option) {
        static const char *const words[] = {"volume", "env", "connect", "allow", "publish"};

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (strcmp(option, words[i]) == 0)
                        return true;
        return false;
}

static int profile_take(const Profile *p, const char *option, const json_t *value) {
        const bool list = json_is_array(value), flag = request_option_is_flag(option);
        int r = 0;

        if (!profile_may_have(option))
                return diag(p->reterr, RUN_OPTION_E_FILE, "%s#/options/%s: no option that a profile may have", p->path,
                            DIAG_QUOTED(option));
        if (flag ? !json_is_true(value) : !list && !json_text(value))
                return diag(p->reterr, RUN_OPTION_E_FILE, "%s#/options/%s: must be %s", p->path, DIAG_QUOTED(option),
                            flag ? "true" : "a text without NUL, or an array of such texts");
        if (list && (json_array_size(value) > PROFILE_LIST_MAX ||
                     !profile_may_list(option)))
                return diag(p->reterr, RUN_OPTION_E_FILE,
                            "%s#/options/%s: volume, env, connect, allow and publish alone may be an array, of at most %d texts", p->path,
                            DIAG_QUOTED(option), PROFILE_LIST_MAX);
        if (strcmp(option, "here") == 0 && p->without_here)
                return 0;
        for (size_t i = 0; r == 0 && i < (list ? json_array_size(value) : 1); i++) {
                const json_t *one = list ? json_array_get(value, i) : value;

                if (!flag && !json_text(one))
                        return diag(p->reterr, RUN_OPTION_E_FILE, "%s#/options/%s/%zu: must be a text without NUL", p->path,
                                    DIAG_QUOTED(option), i);
                r = p->take(p->userdata, option, flag ? NULL : json_text(one), p->reterr);
                if (r > 0)
                        diag_prefix(p->reterr, "%s#/options/%s", p->path, DIAG_QUOTED(option));
        }
        return r;
}

static int profile_read(const Profile *p, json_t **ret) {
        _cleanup_free_ char *text = NULL;
        Diag why = {0};
        size_t n;
        int r = io_read_file(AT_FDCWD, p->path, PROFILE_MAX, &text, &n);

        if (r < 0)
                return diag(p->reterr, RUN_OPTION_E_FILE, "--profile: %s: %s%s", p->path, strerror(-r),
                            r == -ENOENT ? "; fix: a profile is a file of that folder, see PROFILES in lethe-run(1)" : "");
        if (owner_check(p->path, geteuid(), &why) != 0)
                return diag(p->reterr, RUN_OPTION_E_FILE, "--profile: %s is not this user's alone: %s", p->path, why.text);
        if (json_parse(text, n, PROFILE_MAX, PROFILE_DEPTH, ret, &why) != 0)
                return diag(p->reterr, RUN_OPTION_E_FILE, "--profile: %s: %s", p->path, why.text);
        return 0;
}

int run_option_profile(const char *name, bool without_here, RunOptionTake *take, void *userdata, json_t **ret_shown,
                       Diag *reterr) {
        _cleanup_free_ char *path = NULL;
        _cleanup_json_ json_t *o = NULL;
        const char *key;
        json_t *value;
        int r;

        if (!scope_name_valid(name))
                return diag(reterr, RUN_OPTION_E_FILE,
                            "--profile \"%s\": a name has 1 to %d characters of a-z, 0-9, \".\", \"_\" and \"-\", a letter "
                            "or digit first",
                            DIAG_QUOTED(name), SCOPE_NAME_BYTES);
        if (!(path = run_option_profile_path(name)))
                return diag(reterr, RUN_OPTION_E_FILE, "--profile %s: neither XDG_CONFIG_HOME nor HOME is set", name);
        const Profile p = {path, without_here, take, userdata, reterr};
        r = profile_read(&p, &o);
        if (r != 0)
                return r;
        if (!json_is_object(o))
                return diag(reterr, RUN_OPTION_E_FILE, "--profile: %s: must be an object", path);
        if (json_integer_value(json_object_get(o, "version")) != 1)
                return diag(reterr, RUN_OPTION_E_FILE, "%s#/version: must be 1", path);
        if (!json_is_object(json_object_get(o, "options")))
                return diag(reterr, RUN_OPTION_E_FILE, "%s#/options: must be an object of options", path);
        json_object_foreach(o, key, value)
                if (strcmp(key, "version") != 0 && strcmp(key, "options") != 0)
                        return diag(reterr, RUN_OPTION_E_FILE, "%s#/%s: no such field: version and options are known", path,
                                    DIAG_QUOTED(key));
        json_object_foreach(json_object_get(o, "options"), key, value)
                if ((r = profile_take(&p, key, value)) != 0)
                        return r;
        *ret_shown = json_pack("{s:s, s:s, s:O}", "name", name, "file", path, "options", json_object_get(o, "options"));
        return *ret_shown ? 0 : -ENOMEM;
}
