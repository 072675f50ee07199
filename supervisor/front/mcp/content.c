/* Runs: CLI. Answers of skills in the shapes of the protocol: content of tools, messages of prompts, contents of
 * resources. A skill is hostile: each block is made again from the members that are known and checked. */
#include "mcp/mcp.h"

#include "base/hash.h"
#include "base/utf8.h"

#include <errno.h>
#include <string.h>

#define BLOCKS_MAX 64
#define URI_MAX 2048
#define TYPE_MAX 128

/* Text for a client: without control characters and marks of writing direction. */
static json_t *content_plain(const json_t *v) {
        _cleanup_buf_ Buf plain = {};

        return mcp_add_shown(&plain, v) < 0 ? NULL : json_stringn(plain.data ?: "", plain.n);
}

int mcp_add_shown(Buf *b, const json_t *v) {
        const char *s = json_bytes(v) ?: "";
        const size_t n = json_string_length(v);
        int e = 0;

        for (size_t i = 0, step; e == 0 && i < n; i += step) {
                const unsigned c = utf8_decode((const unsigned char *)s + i, n - i, &step);
                const bool control = (c < ' ' && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0);

                if (!control && !utf8_is_mark(c))
                        e = buf_add(b, s + i, step);
        }
        return e;
}

static bool content_is_base64(const json_t *v) {
        const size_t n = json_string_length(v);
        _cleanup_free_ char *bytes = malloc(n / 4 * 3 + 4);

        return bytes && json_text(v) && base64_decode(json_text(v), n, bytes, n / 4 * 3 + 4) >= 0;
}

/* Copies the named members, which must be visible ASCII. Returns whether all were. */
static bool content_words(const json_t *from, json_t *to, const char *const *names, size_t most) {
        for (; *names; names++) {
                const json_t *v = json_object_get(from, *names);
                const char *s = json_text(v);

                if (!v)
                        continue;
                if (!s || !*s || strlen(s) > most)
                        return false;
                for (const char *p = s; *p; p++)
                        if (*p < ' ' || *p > '~')
                                return false;
                if (json_object_set(to, *names, (json_t *)v) < 0)
                        return false;
        }
        return true;
}

/* The contents of a resource. uri: for an entry without one of its own. NULL with a message. */
static json_t *content_resource(const json_t *from, const char *uri, const char *type, Diag *reterr) {
        const json_t *text = json_object_get(from, "text"), *blob = json_object_get(from, "blob");
        _cleanup_json_ json_t *o = json_pack("{s:s*, s:s*}", "uri", uri, "mimeType", type);

        if (!o || !json_is_string(text) == !json_is_string(blob) || (blob && !content_is_base64(blob)))
                return diag(reterr, 0, "a resource has either \"text\" or \"blob\", in base64"), NULL;
        if (!content_words(from, o, (const char *const[]){uri ? "mimeType" : "uri", "mimeType", NULL}, URI_MAX) ||
            !json_object_get(o, "uri"))
                return diag(reterr, 0, "a resource's \"uri\" and \"mimeType\" are visible ASCII of at most %d bytes",
                            URI_MAX),
                       NULL;
        if (json_object_set_new(o, text ? "text" : "blob", text ? content_plain(text) : json_incref((json_t *)blob)) <
            0)
                return diag(reterr, 0, "%s", strerror(ENOMEM)), NULL;
        return TAKE_PTR(o);
}

/* A block of content, made again. NULL with a message. */
static json_t *content_block(const json_t *from, Diag *reterr) {
        const char *type = json_str(from, "type");
        const bool media = strcmp(type, "image") == 0 || strcmp(type, "audio") == 0;
        _cleanup_json_ json_t *o = json_pack("{s:s}", "type", type);
        json_t *inner;

        if (o && strcmp(type, "text") == 0 && json_is_string(json_object_get(from, "text")))
                return json_object_set_new(o, "text", content_plain(json_object_get(from, "text"))) < 0 ? NULL
                                                                                                        : TAKE_PTR(o);
        if (o && media && content_is_base64(json_object_get(from, "data")) &&
            content_words(from, o, (const char *const[]){"mimeType", NULL}, TYPE_MAX) && json_object_get(o, "mimeType"))
                return json_object_set(o, "data", json_object_get(from, "data")) < 0 ? NULL : TAKE_PTR(o);
        if (o && strcmp(type, "resource") == 0) {
                inner = content_resource(json_object_get(from, "resource"), NULL, NULL, reterr);
                return !inner || json_object_set_new(o, "resource", inner) < 0 ? NULL : TAKE_PTR(o);
        }
        if (o && strcmp(type, "resource_link") == 0 &&
            content_words(from, o, (const char *const[]){"uri", "name", "mimeType", NULL}, URI_MAX) &&
            json_object_get(o, "uri") && json_object_get(o, "name"))
                return TAKE_PTR(o);
        return diag(reterr, 0,
                    "a block is {type: \"text\", text}, {type: \"image\" or \"audio\", data in base64, mimeType}, "
                    "{type: "
                    "\"resource\", resource} or {type: \"resource_link\", uri, name}"),
               NULL;
}

static json_t *content_message(const json_t *from, Diag *reterr) {
        const char *role = json_str(from, "role");
        json_t *block = content_block(json_object_get(from, "content"), reterr);

        if (block && strcmp(role, "user") != 0 && strcmp(role, "assistant") != 0) {
                json_decref(block);
                return diag(reterr, 0, "a message has a \"role\", user or assistant, and a \"content\""), NULL;
        }
        return block ? json_pack("{s:s, s:o}", "role", role, "content", block) : NULL;
}

/* Each item of the skill's array, made again. NULL with a message. */
static json_t *content_items(const McpTool *t, const char *uri, const json_t *value, Diag *reterr) {
        _cleanup_json_ json_t *list = json_array();

        if (!json_is_array(value) || json_array_size(value) > BLOCKS_MAX)
                return diag(reterr, 0, "must be an array of at most %d blocks", BLOCKS_MAX), NULL;
        for (size_t i = 0; list && i < json_array_size(value); i++) {
                const json_t *from = json_array_get(value, i);
                json_t *item = t->as == MCP_AS_PROMPT     ? content_message(from, reterr)
                               : t->as == MCP_AS_RESOURCE ? content_resource(from, uri, t->type, reterr)
                                                          : content_block(from, reterr);

                if (!item || json_array_append_new(list, item) < 0) {
                        diag_prefix(reterr, "block %zu", i);
                        return NULL;
                }
        }
        return TAKE_PTR(list);
}

/* The text of an answer that is no content: one message, one resource. */
static json_t *content_text(const McpTool *t, const char *uri, const char *text, size_t n) {
        _cleanup_json_ json_t *said = json_stringn(text, n), *plain = said ? content_plain(said) : NULL;

        if (t->as == MCP_AS_PROMPT)
                return json_pack("[{s:s, s:{s:s, s:O}}]", "role", "user", "content", "type", "text", "text", plain);
        return json_pack("[{s:s, s:s, s:O}]", "uri", uri ?: "", "mimeType", t->type, "text", plain);
}

json_t *mcp_content(const McpTool *t, const char *uri, const json_t *value, const char *text, size_t n, Diag *reterr) {
        static const char *const members[] = {"content", "messages", "contents"};
        json_t *list = t->content ? content_items(t, uri, value, reterr) : content_text(t, uri, text, n);

        return list ? json_pack("{s:o}", members[t->as], list) : NULL;
}
