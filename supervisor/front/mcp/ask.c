/* Runs: CLI. A skill that asks the client: for a form of the user, a sample of the client's model, or its roots.
 * Each round is a run in a region of its own. The skill says its questions and a state, and ends; the next run gets the
 * answers and the state. A client of revision 2026-07-28 keeps the state itself, sealed; of an older one, this process
 * asks the client and keeps the state. */
#include "mcp/mcp.h"

#include "base/hash.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#define ASKS_MAX 16
#define KEY_MAX 64
#define STATE_MAX (64 * 1024) /* bytes of the sealed text */
#define ROUNDS_MAX 16

static const struct {
        const char *method;
        unsigned bit; /* index in manifest_mcp_asks */
} kinds[] = {{"elicitation/create", 0}, {"roots/list", 1}, {"sampling/createMessage", 2}};

unsigned mcp_client_can(const json_t *capabilities) {
        unsigned can = 0;

        for (size_t i = 0; manifest_mcp_asks[i]; i++)
                if (json_is_object(json_object_get(capabilities, manifest_mcp_asks[i])))
                        can |= 1U << i;
        return can;
}

static json_t *ask_words(unsigned can) {
        json_t *list = json_array();

        for (size_t i = 0; list && manifest_mcp_asks[i]; i++)
                if (can & 1U << i)
                        json_array_append_new(list, json_string(manifest_mcp_asks[i]));
        return list;
}

json_t *mcp_ask_input(const McpCall *c, const json_t *arguments) {
        return json_pack("{s:O, s:o, s:O*, s:O*}", "arguments", arguments, "client", ask_words(c->can & c->tool->asks),
                         "answers", c->answers, "state", c->state);
}

/* The seal binds a state to the tool and the arguments: mac || canonical JSON, in base64. */
static void ask_seal(const McpServer *m, const McpTool *t, const char *body, size_t n, const char *digest,
                     uint8_t ret[static crypto_auth_BYTES]) {
        crypto_auth_hmacsha512256_state s;

        crypto_auth_hmacsha512256_init(&s, m->key, sizeof(m->key));
        crypto_auth_hmacsha512256_update(&s, (const uint8_t *)t->name, strlen(t->name) + 1);
        crypto_auth_hmacsha512256_update(&s, (const uint8_t *)t->digest, strlen(t->digest) + 1);
        crypto_auth_hmacsha512256_update(&s, (const uint8_t *)digest, HASH_HEX_MAX);
        crypto_auth_hmacsha512256_update(&s, (const uint8_t *)body, n);
        crypto_auth_hmacsha512256_final(&s, ret);
        sodium_memzero(&s, sizeof(s));
}

static int ask_digest(const json_t *arguments, char ret[static HASH_HEX_MAX]) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int e = json_canonical(arguments, &text, &n);

        if (e == 0)
                hash_hex(text, n, ret);
        return e;
}

/* *ret: owned. Returns 0, positive with a message, -errno. */
static int ask_state_out(McpServer *m, const McpCall *c, const json_t *state, char **ret, Diag *reterr) {
        _cleanup_free_ char *text = NULL;
        _cleanup_buf_ Buf sealed = {};
        char digest[HASH_HEX_MAX];
        uint8_t mac[crypto_auth_BYTES];
        size_t n;
        int e = json_canonical(state, &text, &n) ?: ask_digest(c->arguments, digest);

        if (e == -ERANGE || (e == 0 && n > STATE_MAX / 2))
                return diag(reterr, 1, "the skill's \"state\" has at most %d bytes of JSON, and numbers up to 2^53",
                            STATE_MAX / 2);
        if (e < 0)
                return e;
        ask_seal(m, c->tool, text, n, digest, mac);
        e = buf_add(&sealed, (const char *)mac, sizeof(mac)) ?: buf_add(&sealed, text, n);
        return e ?: (*ret = base64_encode(sealed.data, sealed.n)) ? 0 : -ENOMEM;
}

static int ask_state_in(const McpServer *m, const McpTool *t, const json_t *arguments, const json_t *said, json_t **ret,
                        Diag *reterr) {
        _cleanup_free_ uint8_t *bytes = malloc(STATE_MAX);
        char digest[HASH_HEX_MAX];
        uint8_t mac[crypto_auth_BYTES];
        const char *text = json_text(said);
        ssize_t n;

        if (!bytes)
                return -ENOMEM;
        n = text && ask_digest(arguments, digest) == 0 ? base64_decode(text, strlen(text), bytes, STATE_MAX) : -1;
        if (n > (ssize_t)sizeof(mac)) {
                ask_seal(m, t, (const char *)bytes + sizeof(mac), (size_t)n - sizeof(mac), digest, mac);
                if (sodium_memcmp(mac, bytes, sizeof(mac)) == 0 &&
                    json_parse((const char *)bytes + sizeof(mac), (size_t)n - sizeof(mac), STATE_MAX, MCP_DEPTH_MAX,
                               ret, NULL) == 0)
                        return 0;
        }
        return diag(
                reterr, MCP_E_PARAMS,
                "requestState: is not a state that this process gave for the call: send it as it came, with the same "
                "name and arguments");
}

/* Whether an answer has the form of one: the client's bytes go to the skill, and nothing else is taken from them. */
static bool ask_is_answer(const json_t *v) {
        const char *action = json_str(v, "action");

        return strcmp(action, "accept") == 0 || strcmp(action, "decline") == 0 || strcmp(action, "cancel") == 0 ||
               json_is_array(json_object_get(v, "roots")) || (*json_str(v, "role") && json_object_get(v, "content"));
}

int mcp_ask_resume(McpServer *m, const McpRequest *q, const McpTool *t, const json_t *arguments, json_t **ret_answers,
                   json_t **ret_state, Diag *reterr) {
        json_t *said = json_object_get(q->params, "inputResponses"),
               *state = json_object_get(q->params, "requestState"), *v;
        _cleanup_json_ json_t *answers = NULL;
        const char *key;
        int e;

        if (!q->modern || !t->asks || (!said && !state))
                return 0;
        if (said && !json_is_object(said))
                return diag(reterr, MCP_E_PARAMS, "inputResponses: must be an object");
        answers = json_object();
        if (!answers)
                return -ENOMEM;
        json_object_foreach(said, key, v)
                if (json_object_size(answers) < ASKS_MAX && strlen(key) <= KEY_MAX && ask_is_answer(v) &&
                    json_object_set(answers, key, v) < 0)
                        return -ENOMEM;
        e = state ? ask_state_in(m, t, arguments, state, ret_state, reterr) : 0;
        if (e == 0)
                *ret_answers = TAKE_PTR(answers);
        return e;
}

/* Makes a question again, with the skill's name before the words for the user. NULL with a message. */
static json_t *ask_question(const McpCall *c, const json_t *from, unsigned *ret_bit, Diag *reterr) {
        const char *method = json_str(from, "method");
        const json_t *params = json_object_get(from, "params"), *message = json_object_get(params, "message");
        _cleanup_json_ json_t *copy = json_is_object(params) ? json_copied(params) : json_object();
        _cleanup_buf_ Buf text = {};
        size_t i = 0;

        while (i < ARRAY_SIZE(kinds) && strcmp(kinds[i].method, method) != 0)
                i++;
        if (i == ARRAY_SIZE(kinds) || !(c->tool->asks & 1U << kinds[i].bit))
                return diag(reterr, 0, "method \"%s\": is not in the manifest's \"asks\"", DIAG_QUOTED(method)), NULL;
        *ret_bit = 1U << kinds[i].bit;
        if (!copy)
                return NULL;
        json_object_del(copy, "_meta");
        if (kinds[i].bit != 0)
                return json_pack("{s:s, s:O}", "method", method, "params", copy);
        if (!json_is_string(message) || !json_is_object(json_object_get(params, "requestedSchema")) ||
            (json_object_get(params, "mode") && !json_text_is(json_object_get(params, "mode"), "form")))
                return diag(reterr, 0,
                            "elicitation/create has a \"message\" and a \"requestedSchema\", and no other mode than "
                            "form"),
                       NULL;
        if (buf_printf(&text, "%s asks: ", c->tool->skill) < 0 || mcp_add_shown(&text, message) < 0 ||
            json_object_set_new(copy, "message", json_stringn(text.data, text.n)) < 0)
                return NULL;
        return json_pack("{s:s, s:O}", "method", method, "params", copy);
}

static json_t *ask_questions(const McpCall *c, const json_t *ask, unsigned *ret_bits, Diag *reterr) {
        _cleanup_json_ json_t *list = json_object();
        const char *key;
        json_t *v;

        if (!json_is_object(ask) || json_object_size(ask) == 0 || json_object_size(ask) > ASKS_MAX)
                return diag(reterr, 0, "\"ask\" is an object of 1 to %d questions", ASKS_MAX), NULL;
        json_object_foreach((json_t *)ask, key, v) {
                unsigned bit = 0;
                json_t *q = strlen(key) <= KEY_MAX ? ask_question(c, v, &bit, reterr) : NULL;

                if (!q || !list || json_object_set_new(list, key, q) < 0) {
                        diag_prefix(reterr, "\"ask\", %s", DIAG_QUOTED(key));
                        return NULL;
                }
                *ret_bits |= bit;
        }
        return TAKE_PTR(list);
}

/* The older revisions: each question is a request of ours. */
static int ask_send(McpServer *m, McpCall *c, const json_t *questions) {
        const char *key;
        json_t *v;
        int e = 0;

        c->run = 0;
        c->asked = json_object();
        c->answers = json_object();
        if (!c->asked || !c->answers)
                return -ENOMEM;
        json_object_foreach((json_t *)questions, key, v) {
                char id[32];

                snprintf(id, sizeof(id), "lethe-%u", ++m->next_ask);
                if (json_object_set_new(c->asked, id, json_string(key)) < 0)
                        return -ENOMEM;
                e = e ?: mcp_send_request(m, id, json_str(v, "method"), json_object_get(v, "params"));
        }
        return e;
}

int mcp_ask(McpServer *m, McpCall *c, const json_t *value, json_t **ret_answer, Diag *reterr) {
        const json_t *state = json_object_get(value, "state");
        _cleanup_json_ json_t *questions = NULL;
        _cleanup_free_ char *sealed = NULL;
        unsigned bits = 0;
        int e;

        *ret_answer = json_object_get(value, "answer");
        if (*ret_answer)
                return 0;
        questions = ask_questions(c, json_object_get(value, "ask"), &bits, reterr);
        if (!questions)
                return 1;
        if (bits & ~c->can) {
                c->lacks = bits & ~c->can;
                return diag(reterr, 1, "the skill asks what this client has not declared: %s%s%s",
                            c->lacks & 1 ? "elicitation " : "", c->lacks & 2 ? "roots " : "",
                            c->lacks & 4 ? "sampling" : "");
        }
        if (++c->rounds > ROUNDS_MAX)
                return diag(reterr, 1, "the skill asked more than %d times", ROUNDS_MAX);
        json_decref(c->answers);
        json_decref(c->state);
        c->answers = NULL;
        c->state = json_incref((json_t *)state);
        if (!c->modern)
                return ask_send(m, c, questions) ?: MCP_WAITS;
        e = state ? ask_state_out(m, c, state, &sealed, reterr) : 0;
        if (e != 0)
                return e;
        *ret_answer = json_pack("{s:s, s:O, s:s*}", "resultType", "input_required", "inputRequests", questions,
                                "requestState", sealed);
        return *ret_answer ? MCP_ASKED : -ENOMEM;
}

json_t *mcp_ask_lacks(const McpCall *c) {
        json_t *o = json_object();

        for (size_t i = 0; o && manifest_mcp_asks[i]; i++)
                if (c->lacks & 1U << i)
                        json_object_set_new(o, manifest_mcp_asks[i], json_object());
        return o ? json_pack("{s:o}", "requiredCapabilities", o) : NULL;
}

int mcp_ask_heard(McpServer *m, const json_t *message) {
        const char *id = json_str(message, "id"), *key = "";
        const json_t *result = json_object_get(message, "result");
        McpCall *c = m->calls;

        while (c && !*(key = json_str(c->asked, id)))
                c = c->next;
        if (!c) /* nothing was asked */
                return 0;
        if (json_object_set_new(
                    c->answers, key,
                    json_is_object(result) && ask_is_answer(result)
                            ? json_incref((json_t *)result)
                            : json_pack("{s:s}", "error", "the client refused, or gave no answer of the protocol")) < 0)
                return -ENOMEM;
        json_object_del(c->asked, id);
        return json_object_size(c->asked) > 0 ? 0 : mcp_call_again(m, c);
}
