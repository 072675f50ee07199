#include "cognition/observe.h"

#include "base/json-form.h"

#include <inttypes.h>
#include <string.h>

static int observe_text(const char *at, const json_t *v, ObservedText *ret, Diag *reterr) {
        if (!json_is_string(v))
                return diag(reterr, ENGINE_E_BAD_PAYLOAD, "%s is %s: a text is needed", at, v ? json_kind(v) : "missing");
        if (json_string_length(v) > COGNITION_TEXT_MAX)
                return diag(reterr, ENGINE_E_TOO_LARGE, "%s has %zu bytes: at most %d are allowed", at,
                            json_string_length(v), COGNITION_TEXT_MAX);
        if (!json_text(v))
                return diag(reterr, ENGINE_E_BAD_PAYLOAD, "%s has the character U+0000, which no text may have", at);
        ret->text = json_text(v);
        ret->n = json_string_length(v);
        return 0;
}

/* A tool's name as the name of an atom. */
static void observe_label(const char *name, const char *other, char ret[static OBSERVED_LABEL_MAX]) {
        size_t n = 0;

        for (; name && *name && n < OBSERVED_LABEL_MAX - 1; name++) {
                char c = *name >= 'A' && *name <= 'Z' ? (char)(*name + 32) : *name;
                bool letter = c >= 'a' && c <= 'z', digit = c >= '0' && c <= '9';

                if (letter || (n > 0 && digit))
                        ret[n++] = c;
                else if (n > 0 && ret[n - 1] != '_')
                        ret[n++] = '_';
        }
        while (n > 0 && ret[n - 1] == '_')
                n--;
        ret[n] = '\0';
        if (n == 0)
                strcpy(ret, other);
}

static int observe_one(const char *list, size_t i, const json_t *v, const char *other, Observed *ret, Diag *reterr) {
        ObservedText *one = &ret->list[ret->n];
        const json_t *name = json_object_get(v, "name"), *text = v;
        const char *key;
        json_t *member;
        char at[64];
        int r;

        snprintf(at, sizeof(at), "%s[%zu]", list, i);
        if (json_is_object(v)) {
                json_object_foreach((json_t *)v, key, member)
                        if (strcmp(key, "name") != 0 && strcmp(key, "text") != 0 && strcmp(key, "output") != 0)
                                return diag(reterr, ENGINE_E_BAD_PAYLOAD,
                                            "%s.%s is no field: name, text and output are allowed", at, DIAG_QUOTED(key));
                if (name && !json_text(name))
                        return diag(reterr, ENGINE_E_BAD_PAYLOAD, "%s.name is %s: a text without U+0000 is needed", at,
                                    json_kind(name));
                text = json_object_get(v, "text");
                if (text && json_object_get(v, "output"))
                        return diag(reterr, ENGINE_E_BAD_PAYLOAD, "%s has text and output: a single one is allowed", at);
                text = text ? text : json_object_get(v, "output");
                snprintf(at, sizeof(at), "%s[%zu].text", list, i);
        }
        r = observe_text(at, text, one, reterr);
        if (r != 0 || one->n == 0)
                return r;
        observe_label(json_text(name), other, one->label);
        ret->n++;
        return 0;
}

static int observe_source(const json_t *v, bool documents, Observed *ret, Diag *reterr) {
        const char *s = json_text(v);
        EvidenceSource e = s ? evidence_source_from_name(s) : EVIDENCE_SOURCES;

        if (documents) {
                ret->of = v ? e : EVIDENCE_DOCUMENT;
                return ret->of == EVIDENCE_DOCUMENT || ret->of == EVIDENCE_TOOL
                               ? 0
                               : diag(reterr, ENGINE_E_BAD_PAYLOAD, "source is \"%s\": document or tool is allowed",
                                      s ? DIAG_QUOTED(s) : "no text");
        }
        ret->source = COMPRESS_USER;
        for (CompressSource c = 0; v && c < COMPRESS_SOURCES; c++)
                if (s && strcmp(s, compress_source_name(c)) == 0) {
                        ret->source = c;
                        return 0;
                }
        return v ? diag(reterr, ENGINE_E_BAD_PAYLOAD, "source is \"%s\": user, operator or policy is allowed",
                        s ? DIAG_QUOTED(s) : "no text")
                 : 0;
}

int observe(const json_t *input, const char *main, const char *list, Observed *ret, Diag *reterr) {
        bool documents = !main;
        const json_t *items = json_object_get(input, list), *turn = json_object_get(input, "turn");
        const char *key;
        json_t *v;
        int r;

        ret->n = 0;
        ret->turn = COGNITION_NEWEST;
        ret->main = (ObservedText){.text = "", .n = 0};
        if (!json_is_object(input))
                return diag(reterr, ENGINE_E_BAD_PAYLOAD, "the input is no JSON object: {\"%s\": ...} is needed",
                            main ? main : list);
        json_object_foreach((json_t *)input, key, v)
                if ((!main || strcmp(key, main) != 0) && strcmp(key, list) != 0 && strcmp(key, "turn") != 0 &&
                    (strcmp(key, "source") != 0 || (main && strcmp(main, "decision") == 0)))
                        return diag(reterr, ENGINE_E_BAD_PAYLOAD, "\"%s\" is no field of the input: %s%s%s, turn%s are allowed",
                                    DIAG_QUOTED(key), main ? main : "", main ? ", " : "", list,
                                    main && strcmp(main, "decision") == 0 ? "" : ", source");
        r = main ? observe_text(main, json_object_get(input, main), &ret->main, reterr) : 0;
        if (r == 0)
                r = observe_source(json_object_get(input, "source"), documents, ret, reterr);
        if (r == 0 && items && !json_is_array(items))
                r = diag(reterr, ENGINE_E_BAD_PAYLOAD, "%s is %s: an array is needed", list, json_kind(items));
        if (r == 0 && json_array_size(items) > COGNITION_TEXTS_MAX)
                r = diag(reterr, ENGINE_E_TOO_LARGE, "%s has %zu elements: at most %d are allowed", list,
                         json_array_size(items), COGNITION_TEXTS_MAX);
        if (r == 0 && turn) {
                if (!json_is_integer(turn))
                        return diag(reterr, ENGINE_E_BAD_PAYLOAD, "turn is %s: the number of a turn is needed", json_kind(turn));
                if (json_integer_value(turn) < 0)
                        return diag(reterr, ENGINE_E_BAD_PAYLOAD,
                                    "turn is %" JSON_INTEGER_FORMAT ": the number of a turn, from 0, is needed",
                                    json_integer_value(turn));
                ret->turn = (uint64_t)json_integer_value(turn);
        }
        for (size_t i = 0; i < json_array_size(items) && r == 0; i++)
                r = observe_one(list, i, json_array_get(items, i), documents ? "document" : "tool", ret, reterr);
        if (r == 0 && documents && ret->n == 0)
                r = diag(reterr, ENGINE_E_BAD_PAYLOAD, "documents is %s: at least a single text is needed",
                         items ? "empty" : "missing");
        return r;
}
