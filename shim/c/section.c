/* Runs: skill. Sections of the region, whose calls need the region's key from the answer to hello, and of the session;
 * the session's cognitive loop. */
#include "lethe.h"

#include "params.h"

#include <stdio.h>
#include <string.h>

#define REGION_LEN 26
#define KEY_LEN 32

/* The key of a region: of the caller's region, or of a region above. Answers are in canonical form,
 * …"key":"K","region":"R"…, with an object for each region above. */
static const char *section_key_of(const Lethe *l, const char *region, size_t n) {
        Span whole = {l->identity.p, l->identity.n}, own = json_member(whole, "region"),
             key = json_member(whole, "key"), tree = json_member(whole, "tree");
        char pattern[REGION_LEN + 16];
        const char *at;

        if (n != REGION_LEN || !own.p || !key.p || key.n != KEY_LEN + 2)
                return NULL;
        if (own.n == n + 2 && memcmp(own.p + 1, region, n) == 0)
                return key.p + 1;
        snprintf(pattern, sizeof(pattern), "\",\"region\":\"%.*s\"", (int)n, region);
        at = tree.p ? strstr(tree.p, pattern) : NULL;
        return at && at - tree.p > KEY_LEN ? at - KEY_LEN : NULL;
}

/* Sends hello when no hello was sent yet, and adds the key. Without a key the supervisor refuses the call and states
 * the reason. */
static void section_add_key(Params *p, const char *region, size_t n) {
        const char *key, *ignored;
        char text[KEY_LEN + 1] = "";

        if (p->r == LETHE_OK && !p->l->identity.p)
                p->r = lethe_hello(p->l, &ignored);
        if (p->r != LETHE_OK)
                return;
        if (!region) {
                Span own = json_member((Span){p->l->identity.p, p->l->identity.n}, "region");

                region = own.p ? own.p + 1 : "";
                n = own.p ? own.n - 2 : 0;
        }
        key = section_key_of(p->l, region, n);
        if (!key)
                return;
        memcpy(text, key, KEY_LEN);
        params_text(p, "key", text);
        explicit_bzero(text, sizeof(text));
}

static int section_call(Params *p, const char *method, Span *ret) {
        int r = params_call(p, method, ret);

        if (p->l->request.p)
                explicit_bzero(p->l->request.p, p->l->request.n);
        return r;
}

int lethe_handle_open(Lethe *l, const char *section, const char *region, char ret_handle[LETHE_HANDLE_MAX]) {
        Params p = {.l = l};
        Span result, handle;
        int r;

        params_text(&p, "section", section);
        section_add_key(&p, region, region ? strlen(region) : 0);
        params_text(&p, "region", region);
        r = section_call(&p, "handle.open", &result);
        if (r == LETHE_OK)
                r = answer_member(l, result, "handle", &handle);
        if (r == LETHE_OK && (handle.n < 2 || handle.n - 2 >= LETHE_HANDLE_MAX))
                r = pipe_fail(l, LETHE_PROTOCOL, "protocol", "a handle of %zu bytes", handle.n);
        if (r == LETHE_OK)
                snprintf(ret_handle, LETHE_HANDLE_MAX, "%.*s", (int)handle.n - 2, handle.p + 1);
        return r;
}

int lethe_handle_read(Lethe *l, const char *handle, const char **ret_value, uint64_t *ret_version) {
        Params p = {.l = l};
        Span result;
        int r;

        params_text(&p, "handle", handle);
        section_add_key(&p, handle, strcspn(handle, "."));
        r = section_call(&p, "handle.read", &result);
        if (r == LETHE_OK)
                r = answer_version(l, result, ret_version);
        return r == LETHE_OK ? answer_text(l, result, "value", ret_value) : r;
}

int lethe_handle_write(Lethe *l, const char *handle, const char *value, int64_t expect, uint64_t *ret_version) {
        Params p = {.l = l};
        Span result;
        int r;

        params_text(&p, "handle", handle);
        section_add_key(&p, handle, strcspn(handle, "."));
        params_json(&p, "value", value);
        params_whole(&p, "expect", expect);
        r = section_call(&p, "handle.write", &result);
        return r == LETHE_OK ? answer_version(l, result, ret_version) : r;
}

int lethe_handle_close(Lethe *l, const char *handle) {
        Params p = {.l = l};

        params_text(&p, "handle", handle);
        section_add_key(&p, handle, strcspn(handle, "."));
        return section_call(&p, "handle.close", NULL);
}

int lethe_carry_read(Lethe *l, const char *section, const char **ret_value, uint64_t *ret_version) {
        Params p = {.l = l};
        Span result;
        int r;

        params_text(&p, "section", section);
        r = params_call(&p, "carry.read", &result);
        if (r == LETHE_OK)
                r = answer_version(l, result, ret_version);
        return r == LETHE_OK ? answer_text(l, result, "value", ret_value) : r;
}

int lethe_carry_write(Lethe *l, const char *section, const char *value, int64_t expect, uint64_t *ret_version) {
        Params p = {.l = l};
        Span result;
        int r;

        params_text(&p, "section", section);
        params_json(&p, "value", value);
        params_whole(&p, "expect", expect);
        r = params_call(&p, "carry.write", &result);
        return r == LETHE_OK ? answer_version(l, result, ret_version) : r;
}

/* A text within the answer, NUL-terminated. */
static void section_give(Span text, const char **ret) {
        if (!ret)
                return;
        ((char *)text.p)[text.n] = 0;
        *ret = text.p;
}

int lethe_ccs_read(Lethe *l, const char **ret_ccs, const char **ret_input, uint64_t *ret_turn) {
        Span result, ccs, input;
        Params p = {.l = l};
        int r;

        params_add(&p, "{", 1);
        r = params_call(&p, "ccs.read", &result);
        if (r == LETHE_OK)
                r = answer_number(l, result, "turn", ret_turn);
        if (r == LETHE_OK)
                r = answer_member(l, result, "ccs", &ccs);
        if (r == LETHE_OK)
                r = answer_member(l, result, "input", &input);
        if (r != LETHE_OK)
                return r;
        section_give(ccs, ret_ccs);
        section_give(input, ret_input);
        return LETHE_OK;
}

int lethe_ccs_tool(Lethe *l, const char *text, const char *name, uint64_t *ret_tools) {
        Params p = {.l = l};
        Span result;
        int r;

        params_text(&p, "text", text);
        params_text(&p, "name", name);
        r = params_call(&p, "ccs.tool", &result);
        return r == LETHE_OK ? answer_number(l, result, "tools", ret_tools) : r;
}
