#include "chat.h"

#include <stdlib.h>
#include <string.h>

static bool chat_is_whole(const json_t *v, long least, long most) {
        return json_is_integer(v) && json_integer_value(v) >= least && json_integer_value(v) <= most;
}

static bool chat_is_plain_text(const json_t *v) {
        const char *s = json_string_value(v);

        if (!s || !*s || strlen(s) != json_string_length(v))
                return false;
        for (; *s; s++)
                if ((unsigned char)*s <= 0x20 || *s == 0x7F)
                        return false;
        return true;
}

const char *config_parse(const char *text, size_t n, Config *ret) {
        Config c = {.timeout_ms = 40000, .max_tokens = 1024, .json_mode = true};
        const char *key;
        json_t *v;

        c.json = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
        if (!json_is_object(c.json)) {
                config_deinit(&c);
                return "not a JSON object";
        }
        *ret = c;
        json_object_foreach(c.json, key, v) {
                if (strcmp(key, "timeout_seconds") == 0 && chat_is_whole(v, 1, 3600))
                        ret->timeout_ms = (long)json_integer_value(v) * 1000;
                else if (strcmp(key, "max_tokens") == 0 && chat_is_whole(v, 1, 1000000))
                        ret->max_tokens = (long)json_integer_value(v);
                else if (strcmp(key, "json_mode") == 0 && json_is_boolean(v))
                        ret->json_mode = json_is_true(v);
                else if (strcmp(key, "url") == 0 && chat_is_plain_text(v))
                        ret->url = json_string_value(v);
                else if (strcmp(key, "model") == 0 && chat_is_plain_text(v))
                        ret->model = json_string_value(v);
                else if (strcmp(key, "key_file") == 0 && chat_is_plain_text(v))
                        ret->key_file = json_string_value(v);
                else if (strcmp(key, "ca_file") == 0 && chat_is_plain_text(v))
                        ret->ca_file = json_string_value(v);
                else if (strcmp(key, "connect") == 0 && chat_is_plain_text(v))
                        ret->connect = json_string_value(v);
                else
                        return "an unknown field, or a field with an invalid value";
        }
        if (!ret->url || !ret->model)
                return "url and model are needed";
        if (strncmp(ret->url, "http://", 7) != 0 && strncmp(ret->url, "https://", 8) != 0)
                return "url begins with http:// or https://";
        return NULL;
}

void config_deinit(Config *c) {
        json_decref(c->json);
        c->json = NULL;
}

static int chat_say(json_t *messages, const char *role, const char *text, size_t n) {
        return json_array_append_new(messages, json_pack("{s:s, s:s%}", "role", role, "content", text, n));
}

static bool chat_is_compress(const json_t *told) {
        return strcmp(json_string_value(json_object_get(told, "task")) ?: "", "compress") == 0;
}

/* The question without the members that are not for the model. */
static json_t *chat_compress_task(const json_t *told) {
        static const char *const left_out[] = {"version", "task", "session", "repair"};
        json_t *o = json_copy((json_t *)told);

        for (size_t i = 0; o && i < sizeof(left_out) / sizeof(*left_out); i++)
                json_object_del(o, left_out[i]);
        return o;
}

const char *chat_prompt_name(const char *line, size_t n) {
        json_t *told = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
        const char *name = chat_is_compress(told) ? "prompt-compress.txt" : "prompt.txt";

        json_decref(told);
        return name;
}

/* Shows the model the note and its context as JSON, so that no note can end its own quotation. */
static int chat_say_note(json_t *messages, const json_t *told) {
        json_t *o = chat_is_compress(told) ? chat_compress_task(told)
                                           : json_pack("{s:O, s:O}", "note", json_object_get(told, "note"), "context",
                                                       json_object_get(told, "context"));
        char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
        int r = text ? chat_say(messages, "user", text, strlen(text)) : -1;

        free(text);
        json_decref(o);
        return r;
}

static int chat_say_repair(json_t *messages, const json_t *repair) {
        static const char head[] = "Your answer was refused: ",
                          tail[] = "\nAnswer again, with a single JSON object and no further text.";
        const json_t *answer = json_object_get(repair, "answer"), *errors = json_object_get(repair, "errors");
        char *listed = errors ? json_dumps(errors, JSON_COMPACT) : NULL;
        const char *message = listed ?: json_string_value(json_object_get(repair, "message")) ?: "";
        size_t n = strlen(head) + strlen(message) + strlen(tail);
        char *text = malloc(n + 1);
        int r;

        if (!text) {
                free(listed);
                return -1;
        }
        strcpy(text, head);
        strcat(text, message);
        free(listed);
        strcat(text, tail);
        r = json_string_length(answer) > 0
                    ? chat_say(messages, "assistant", json_string_value(answer), json_string_length(answer))
                    : 0;
        if (r == 0)
                r = chat_say(messages, "user", text, strlen(text));
        free(text);
        return r;
}

static json_t *chat_make_request(const Config *c, const char *prompt, const json_t *told) {
        json_t *messages = json_array(), *repair = json_object_get(told, "repair");
        json_t *o = json_pack("{s:s, s:i, s:I, s:b}", "model", c->model, "temperature", 0, "max_tokens",
                              (json_int_t)c->max_tokens, "stream", 0);

        if (!o || chat_say(messages, "system", prompt, strlen(prompt)) < 0 || chat_say_note(messages, told) < 0 ||
            (repair && chat_say_repair(messages, repair) < 0) || json_object_set(o, "messages", messages) < 0 ||
            (c->json_mode &&
             json_object_set_new(o, "response_format", json_pack("{s:s}", "type", "json_object")) < 0)) {
                json_decref(o);
                o = NULL;
        }
        json_decref(messages);
        return o;
}

char *chat_request(const Config *c, const char *prompt, const char *line, size_t n, const char **ret_why) {
        json_t *told = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL), *o = NULL;
        char *text = NULL;

        *ret_why = "standard input is not an advisor's input of version 1 (schema/governed.md, lethe-ccs(1))";
        if (json_integer_value(json_object_get(told, "version")) == 1 &&
            (chat_is_compress(told) || (json_is_object(json_object_get(told, "note")) &&
                                        json_is_object(json_object_get(told, "context"))))) {
                o = chat_make_request(c, prompt, told);
                text = o ? json_dumps(o, JSON_COMPACT) : NULL;
                *ret_why = "out of memory";
        }
        json_decref(o);
        json_decref(told);
        return text;
}

typedef struct Piece {
        const char *s;
        size_t n;
} Piece;

static bool chat_is_white(char c) {
        return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static Piece chat_trim(Piece p) {
        while (p.n > 0 && chat_is_white(*p.s)) {
                p.s++;
                p.n--;
        }
        while (p.n > 0 && chat_is_white(p.s[p.n - 1]))
                p.n--;
        return p;
}

/* Many models put a fence around JSON in spite of the prompt; the fence is removed. */
static Piece chat_without_fence(Piece p) {
        const char *end;

        p = chat_trim(p);
        if (p.n < 6 || memcmp(p.s, "```", 3) != 0 || memcmp(p.s + p.n - 3, "```", 3) != 0)
                return p;
        end = memchr(p.s, '\n', p.n - 3);
        return end ? chat_trim((Piece){end + 1, (size_t)(p.s + p.n - 3 - (end + 1))}) : p;
}

/* Models write null for members that have no value. */
static void chat_drop_nulls(json_t *o) {
        void *at = json_object_iter(o);

        while (at) {
                void *next = json_object_iter_next(o, at);

                if (json_is_null(json_object_iter_value(at)))
                        json_object_del(o, json_object_iter_key(at));
                at = next;
        }
}

static char *chat_one_line(Piece p) {
        char *s = malloc(p.n + 1);

        for (size_t i = 0; s && i < p.n; i++)
                s[i] = (unsigned char)p.s[i] < 0x20 ? ' ' : p.s[i];
        if (s)
                s[p.n] = 0;
        return s;
}

static char *chat_line_of(Piece content) {
        Piece p = chat_without_fence(content);
        json_t *o = json_loadb(p.s, p.n, JSON_REJECT_DUPLICATES, NULL);
        char *line;

        if (json_is_object(o)) {
                chat_drop_nulls(o);
                chat_drop_nulls(json_object_get(o, "payload"));
                line = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(15));
        } else
                line = chat_one_line(chat_trim(content));
        json_decref(o);
        return line;
}

static const char *chat_find_content(const json_t *answer, Piece *ret) {
        const json_t *choice = json_array_get(json_object_get(answer, "choices"), 0),
                     *finish = json_object_get(choice, "finish_reason");
        const json_t *content = json_object_get(json_object_get(choice, "message"), "content");

        if (!json_is_object(choice))
                return "the server's answer has no choices";
        if (finish && !json_is_null(finish) && strcmp(json_string_value(finish) ?: "", "stop") != 0)
                return "the model was cut off (finish_reason is not stop)";
        if (!json_is_string(content))
                return "the model's answer is empty";
        *ret = (Piece){json_string_value(content), json_string_length(content)};
        if (ret->n > CHAT_LINE_MAX)
                return "the model said too much";
        return chat_trim(*ret).n == 0 ? "the model's answer is empty" : NULL;
}

char *chat_answer(const char *body, size_t n, const char *secret, const char **ret_why) {
        json_t *answer = json_loadb(body, n, JSON_REJECT_DUPLICATES, NULL);
        Piece content;
        char *line = NULL;

        *ret_why = json_is_object(answer) ? chat_find_content(answer, &content) : "the server's answer is no JSON object";
        if (!*ret_why) {
                line = chat_line_of(content);
                *ret_why = line ? NULL : "out of memory";
        }
        json_decref(answer);
        if (line && secret && strstr(line, secret)) {
                free(line);
                line = NULL;
                *ret_why = "the answer holds the key";
        }
        return line;
}
