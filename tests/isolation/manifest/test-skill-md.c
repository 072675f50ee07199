/* Runs: tests. SKILL.md: the public specification, row by row, and what hostile YAML must not do. */
#include "manifest/skill-md.h"
#include "manifest/vocabulary.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

typedef struct Row {
        const char *what, *text, *rule; /* rule NULL: nothing above a note is found */
        FindingLevel level;
        unsigned line;
} Row;

#define HEAD "---\nname: a-skill\n"
#define GOOD HEAD "description: Does a thing.\n"
#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const Row rows[] = {
        {"smallest", GOOD "---\n", NULL},
        {"body follows", GOOD "---\n# Title\n---\nmore\n", NULL},
        {"no newline at the end", GOOD "---", NULL},
        {"CRLF", "---\r\nname: a-skill\r\ndescription: x\r\n---\r\nbody\r\n", NULL},
        {"all fields", GOOD "license: MIT\ncompatibility: Needs git\nmetadata:\n  author: me\n  version: \"1.0\"\nallowed-tools: Read Bash(git:*)\n---\n", NULL},
        {"allowed-tools as a list", GOOD "allowed-tools: [Read, Write]\n---\n", NULL},
        {"allowed-tools as a block list", GOOD "allowed-tools:\n  - Read\n  - Bash\n---\n", NULL},
        {"folded description", HEAD "description: >-\n  one\n  two\n---\n", NULL},
        {"fence inside a value is none", HEAD "description: \"a --- b\"\n---\n", NULL},
        {"unquoted number in metadata", GOOD "metadata:\n  version: 1.0\n---\n", NULL},
        {"flow mapping", "---\n{name: a-skill, description: x}\n---\n", NULL},

        {"no name", "---\ndescription: x\n---\n", "name-required", FINDING_STRICT, 0},
        {"empty name", "---\nname:\ndescription: x\n---\n", "name-string", FINDING_STRICT, 2},
        {"name is a list", "---\nname: [a]\ndescription: x\n---\n", "name-string", FINDING_STRICT, 2},
        {"upper case", "---\nname: A-skill\ndescription: x\n---\n", "name-characters", FINDING_STRICT, 2},
        {"underscore", "---\nname: a_skill\ndescription: x\n---\n", "name-characters", FINDING_STRICT, 2},
        {"a blank and a dot", "---\nname: My Skill v1.2\ndescription: x\n---\n", "name-characters", FINDING_STRICT, 2},
        {"other letters", "---\nname: n\xC3\xA4me\ndescription: x\n---\n", "name-characters", FINDING_ERROR, 2},
        {"a letter that looks like another", "---\nname: p\xD0\xB0yments\ndescription: x\n---\n", "name-characters", FINDING_ERROR, 2},
        {"a path", "---\nname: ../x\ndescription: x\n---\n", "name-characters", FINDING_ERROR, 2},
        {"the folder above", "---\nname: ..\ndescription: x\n---\n", "name-characters", FINDING_ERROR, 2},
        {"leading hyphen", "---\nname: -a\ndescription: x\n---\n", "name-hyphen", FINDING_STRICT, 2},
        {"trailing hyphen", "---\nname: a-\ndescription: x\n---\n", "name-hyphen", FINDING_STRICT, 2},
        {"double hyphen", "---\nname: a--b\ndescription: x\n---\n", "name-hyphen", FINDING_STRICT, 2},
        {"not the folder", "---\nname: other\ndescription: x\n---\n", "name-folder", FINDING_STRICT, 2},
        {"65 characters", "---\nname: a" A64 "\ndescription: x\n---\n", "name-length", FINDING_ERROR, 2},
        {"control character in name", "---\nname: \"a\\x1b[2Jb\"\ndescription: x\n---\n", "name-characters", FINDING_ERROR, 2},
        {"no description", HEAD "---\n", "description-required", FINDING_STRICT, 0},
        {"empty description", HEAD "description: \"  \"\n---\n", "text-empty", FINDING_STRICT, 3},
        {"description is a map", HEAD "description: {a: b}\n---\n", "text-string", FINDING_STRICT, 3},
        {"empty compatibility", GOOD "compatibility: \"\"\n---\n", "text-empty", FINDING_STRICT, 4},
        {"license is a list", GOOD "license: [MIT]\n---\n", "text-string", FINDING_STRICT, 4},
        {"metadata is a text", GOOD "metadata: x\n---\n", "metadata-map", FINDING_STRICT, 4},
        {"metadata is nested", GOOD "metadata:\n  a: {b: c}\n---\n", "metadata-flat", FINDING_STRICT, 4},
        {"allowed-tools is a map", GOOD "allowed-tools: {a: b}\n---\n", "allowed-tools", FINDING_STRICT, 4},
        {"allowed-tools has a list", GOOD "allowed-tools: [[a]]\n---\n", "allowed-tools", FINDING_STRICT, 4},
        {"unknown field", GOOD "version: 1\n---\n", "unknown-field", FINDING_STRICT, 4},
        {"merge key", GOOD "<<: {license: MIT}\n---\n", "unknown-field", FINDING_STRICT, 4},
        {"byte order mark", "\xEF\xBB\xBF" GOOD "---\n", "file-bom", FINDING_STRICT, 1},

        {"empty file", "", "front-matter", FINDING_ERROR, 1},
        {"no front matter", "# Title\n", "front-matter", FINDING_ERROR, 1},
        {"front matter later", "\n" GOOD "---\n", "front-matter", FINDING_ERROR, 1},
        {"front matter does not end", GOOD, "front-matter", FINDING_ERROR, 1},
        {"only a fence", "---\n", "front-matter", FINDING_ERROR, 1},
        {"nothing between the fences", "---\n---\n", "yaml-mapping", FINDING_ERROR, 2},
        {"a comment between the fences", "---\n# x\n---\n", "yaml-mapping", FINDING_ERROR, 2},
        {"a list", "---\n- a\n- b\n---\n", "yaml-mapping", FINDING_ERROR, 2},
        {"a text", "---\nname\n---\n", "yaml-mapping", FINDING_ERROR, 2},
        {"not YAML", "---\nname: [a\ndescription: x\n---\n", "yaml-syntax", FINDING_ERROR, 3},
        {"tab indent", "---\nname: a\n\tb: c\n---\n", "yaml-syntax", FINDING_ERROR, 3},
        {"unquoted colon", HEAD "description: a: b\n---\n", "yaml-syntax", FINDING_ERROR, 3},
        {"duplicate key", GOOD "name: b\n---\n", "yaml-duplicate", FINDING_ERROR, 4},
        {"duplicate key below", GOOD "metadata:\n  a: b\n  a: c\n---\n", "yaml-duplicate", FINDING_ERROR, 6},
        {"anchor", HEAD "description: &x text\n---\n", "yaml-anchor", FINDING_ERROR, 3},
        {"alias", HEAD "description: *x\n---\n", "yaml-alias", FINDING_ERROR, 3},
        {"anchored map", GOOD "metadata: &m {a: b}\n---\n", "yaml-anchor", FINDING_ERROR, 4},
        {"tag", HEAD "description: !!str x\n---\n", "yaml-tag", FINDING_ERROR, 3},
        {"local tag", HEAD "description: !python/object x\n---\n", "yaml-tag", FINDING_ERROR, 3},
        {"tag on a list", GOOD "allowed-tools: !!set [a]\n---\n", "yaml-tag", FINDING_ERROR, 4},
        {"tag on the root", "---\n!!map {name: a-skill, description: x}\n---\n", "yaml-tag", FINDING_ERROR, 2},
        {"second document", "---\nname: a-skill\n--- \nname: b\n---\n", "yaml-documents", FINDING_ERROR, 3},
        {"document end and more", "---\nname: a-skill\n...\nname: b\n---\n", "yaml-syntax", FINDING_ERROR, 4},
        {"directive", "---\n%YAML 1.1\nname: a\n---\n", "yaml-syntax", FINDING_ERROR, 3},
        {"complex key", GOOD "? [a, b]\n: c\n---\n", "yaml-key", FINDING_ERROR, 4},
        {"too deep", GOOD "metadata: {a: {a: {a: {a: {a: {a: {a: {a: {a: b}}}}}}}}}\n---\n", "yaml-depth", FINDING_ERROR, 4},
        {"NUL by escape", HEAD "description: \"a\\0b\"\n---\n", "yaml-nul", FINDING_ERROR, 3},
        {"NUL by escape in a key", HEAD "\"a\\0b\": x\n---\n", "yaml-nul", FINDING_ERROR, 3},
        {"not UTF-8", HEAD "description: \xff\n---\n", "file-utf8", FINDING_ERROR, 3},
        {"overlong UTF-8", HEAD "description: \xC0\xAF\n---\n", "file-utf8", FINDING_ERROR, 3},
        {"surrogate", HEAD "description: \xED\xA0\x80\n---\n", "file-utf8", FINDING_ERROR, 3},
        {"UTF-16", "\xFF\xFE-", "file-utf8", FINDING_ERROR, 1},
};

Test(skill_md, rows) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                const Row *w = &rows[i];
                _cleanup_findings_ Findings f = {0};
                _cleanup_(skill_md_deinit) SkillMd md = {0};
                const Finding *worst;
                bool found = false;

                cr_assert_eq(skill_md_parse(w->text, strlen(w->text), "a-skill", &md, &f), 0, "%s", w->what);
                worst = findings_worst(&f);
                if (!w->rule) {
                        cr_expect(!worst || worst->level == FINDING_NOTE, "%s: %s", w->what, worst ? worst->message : "");
                        cr_expect_str_eq(md.name, "a-skill", "%s", w->what);
                        cr_expect(md.description && *md.description, "%s", w->what);
                        continue;
                }
                for (size_t k = 0; k < f.n; k++)
                        found = found || (strcmp(f.v[k].rule, w->rule) == 0 && f.v[k].level == w->level && f.v[k].line == w->line);
                cr_expect(found, "%s: %s is missing; worst: line %u %s: %s", w->what, w->rule, worst ? worst->line : 0, worst ? worst->rule : "none",
                          worst ? worst->message : "");
                cr_expect(worst && worst->level == w->level, "%s: level", w->what);
        }
}

Test(skill_md, bytes_that_are_no_text) {
        static const char text[] = GOOD "---\nbody\0more\n";
        _cleanup_findings_ Findings f = {0};
        SkillMd md = {0};

        cr_assert_eq(skill_md_parse(text, sizeof(text) - 1, NULL, &md, &f), 0);
        cr_assert_eq(f.n, 1);
        cr_assert_str_eq(f.v[0].rule, "file-nul");
}

/* Lengths are of characters, not of bytes. */
Test(skill_md, lengths) {
        static const struct {
                const char *key;
                size_t n;
                bool ok;
        } cases[] = {{"description", 1, true}, {"description", 1024, true}, {"description", 1025, false},
                     {"compatibility", 500, true}, {"compatibility", 501, false}};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_findings_ Findings f = {0};
                _cleanup_(skill_md_deinit) SkillMd md = {0};
                char text[8192];
                int o = snprintf(text, sizeof(text), "---\nname: a-skill\n%s%s: ", strcmp(cases[i].key, "description") ? "description: x\n" : "", cases[i].key);

                for (size_t k = 0; k < cases[i].n; k++)
                        o += snprintf(text + o, sizeof(text) - (size_t)o, "\xC3\xA4");
                o += snprintf(text + o, sizeof(text) - (size_t)o, "\n---\n");
                cr_assert_eq(skill_md_parse(text, (size_t)o, "a-skill", &md, &f), 0);
                cr_expect_eq(f.n == 0, cases[i].ok, "%s of %zu characters: %s", cases[i].key, cases[i].n, f.n ? f.v[0].message : "accepted");
        }
}

/* Expansion attacks end at the first anchor; sheer size at the limit; both soon. */
Test(skill_md, bombs) {
        static char text[2 * SKILL_MD_MAX];
        static const struct {
                const char *what, *unit, *rule;
                size_t bytes;
        } bombs[] = {
                {"billion laughs", "a: &a [*b, *b, *b]\n", "yaml-anchor", 4096},
                {"deep flow", "[", "yaml-depth", 60000},
                {"deep maps", "{a: ", "yaml-depth", 60000},
                {"deep block lists", "- ", "yaml-mapping", 60000},
                {"too much front matter", "# comment\n", "front-matter-size", 200000},
                {"too large a file", "---\n", "file-size", SKILL_MD_MAX + 1000},
        };

        for (size_t i = 0; i < ARRAY_SIZE(bombs); i++) {
                _cleanup_findings_ Findings f = {0};
                _cleanup_(skill_md_deinit) SkillMd md = {0};
                size_t unit = strlen(bombs[i].unit), o = 0;
                bool map = bombs[i].unit[0] == '[' || bombs[i].unit[0] == '{';

                o += (size_t)sprintf(text, "---\n%s", map ? "a: " : "");
                for (; o + unit < bombs[i].bytes; o += unit)
                        memcpy(text + o, bombs[i].unit, unit);
                o += (size_t)sprintf(text + o, "\n---\n");
                cr_assert_eq(skill_md_parse(text, o, "a-skill", &md, &f), 0, "%s", bombs[i].what);
                cr_assert(f.n > 0, "%s", bombs[i].what);
                cr_expect_str_eq(findings_worst(&f)->rule, bombs[i].rule, "%s: %s", bombs[i].what, findings_worst(&f)->message);
        }
}

Test(skill_md, values_are_read) {
        static const char text[] = GOOD "license: MIT\nmetadata: {author: me, b: \"\"}\nallowed-tools: Read  Bash(git:*)\n---\n";
        _cleanup_findings_ Findings f = {0};
        _cleanup_(skill_md_deinit) SkillMd md = {0};

        cr_assert_eq(skill_md_parse(text, sizeof(text) - 1, "a-skill", &md, &f), 0);
        cr_expect_str_eq(md.license, "MIT");
        cr_expect_str_eq(json_string_value(json_object_get(md.metadata, "author")), "me");
        cr_expect_eq(json_object_size(md.metadata), 2);
        cr_expect_eq(strv_length(md.allowed_tools), 2);
        cr_expect_str_eq(md.allowed_tools[1], "Bash(git:*)");
        cr_expect_null(md.compatibility);
}

/* A file with a fault in every line is answered with a bounded list, and an error is never crowded out of it. */
Test(skill_md, findings_are_bounded) {
        _cleanup_findings_ Findings f = {0};

        for (int i = 0; i < 1000; i++)
                cr_assert_eq(finding_add(&f, FINDING_STRICT, "x", 1, NULL, "r", "m"), 0);
        cr_assert_eq(finding_add(&f, FINDING_ERROR, "x", 1, NULL, "last", "m"), 0);
        cr_expect_eq(f.n, 200);
        cr_expect_str_eq(findings_worst(&f)->rule, "last");
}
