/* Runs: tests. A folder with a skill and data, and the grant that manifest, command line and policy make for it. */
#pragma once

#include "base/io.h"
#include "policy/grant.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static TempDir temp = TEMP_DIR_NULL;

static inline void put(const char *path, const char *text, mode_t mode) {
        char whole[PATH_MAX];

        snprintf(whole, sizeof(whole), "%.2000s/%.2000s", temp.path, path);
        *strrchr(whole, '/') = 0;
        cr_assert_eq(io_mkdir_parents(whole, 0755), 0);
        cr_assert_eq(io_write_file(temp.fd, path, text, strlen(text), mode, false), 0, "%s", path);
        cr_assert_eq(fchmodat(temp.fd, path, mode, 0), 0);
}

/* Replaces every @ by the temporary folder. */
static inline char *expand(const char *text) {
        static char out[8][16384];
        static unsigned turn;
        char *o = out[turn++ % 8], *start = o;

        for (; *text; text++)
                if (*text == '@')
                        o += sprintf(o, "%s", temp.path);
                else
                        *o++ = *text;
        *o = 0;
        return start;
}

static inline void setup(void) {
        cr_assert_eq(temp_dir_make(&temp), 0);
        put("skill/SKILL.md", "---\nname: skill\ndescription: x\n---\n", 0644);
        put("skill/run.sh", "#!/bin/sh\n", 0755);
        put("skill/bin/tool", "#!/bin/sh\n", 0755);
        put("skill/data.txt", "x", 0644);
        put("data/in/file", "x", 0644);
        put("data/out/file", "x", 0644);
        put("other/file", "x", 0644);
        cr_assert_eq(symlinkat("../other", temp.fd, "data/link"), 0);
}

static inline void teardown(void) {
        temp_dir_remove(&temp);
}

typedef struct Case {
        const char *what, *manifest, *policy;
        const char *options[8]; /* name, value pairs */
        int code;
        const char *expect; /* what the recorded grant, or the refusal, must contain; every | starts another piece */
        const char *exec;
} Case;

#define M(x) "{\"version\":1,\"entry\":{\"main\":[\"run.sh\"]}" x "}"
#define P(x) "{\"version\":1" x "}"
#define NOT_GRANTED "\"files\":[],"

/* Makes the grant of a case. Returns its code. */
static inline int make(const Case *c, Grant *g, Diag *d) {
        _cleanup_skill_ Skill *s = NULL;
        _cleanup_policy_ Policy *p = NULL;
        _cleanup_request_ RunRequest q = {0};
        char skill[PATH_MAX];
        const char *policy = expand(c->policy ?: P(""));
        int r;

        snprintf(skill, sizeof(skill), "%.4000s/skill", temp.path);
        if (c->manifest)
                put("skill/lethe.json", expand(c->manifest), 0644);
        else
                unlinkat(temp.fd, "skill/lethe.json", 0);
        cr_assert_eq(policy_parse(policy, strlen(policy), "policy.json", &p, d), 0, "%s: %s", c->what, d->text);
        for (size_t i = 0; c->options[i]; i += 2) {
                r = request_option(&q, c->options[i], c->options[i + 1] ? expand(c->options[i + 1]) : NULL, d);
                cr_assert_eq(r, 0, "%s: %s", c->what, d->text);
        }
        if (c->exec) {
                r = request_exec(&q, expand(c->exec), d);
                cr_assert_eq(r, 0, "%s: %s", c->what, d->text);
                return policy_grant(NULL, &q, p, g, d);
        }
        r = skill_load(skill, &s, d);
        cr_assert_eq(r, 0, "%s: %s", c->what, d->text);
        return policy_grant(s, &q, p, g, d);
}
