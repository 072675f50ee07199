/* The members of a document that are about hosts by name (schema/manifest.md, schema/policy.md). */
#include "base/size.h"
#include "manifest/doc.h"

#include <string.h>

#define NET_BYTES_MOST (UINT64_C(1) << 50)
#define NET_TIME_MOST_USEC (UINT64_C(30) * 24 * 3600 * 1000000)
#define NET_CONNECTIONS_MOST 1000000000

/* "HOST:PORT", or {"name": "HOST:PORT", "plain": true}. */
static bool doc_allow(Doc *d, const Node *v, NetName *ret) {
        const bool object = json_is_object(v->v);
        const Node *name = object ? MEMBER(v, "name") : v;
        _cleanup_free_ char *text = NULL;
        bool plain = false;
        Diag message = {0};
        const char *s;

        if (object && !doc_fields(d, v, WORDS("name", "plain")))
                return false;
        if (object)
                doc_bool(d, MEMBER(v, "plain"), &plain);
        if (!name->v)
                return doc_fault(d, v, "required", "\"name\" is required");
        if (!doc_string(d, name, 1, NET_NAME_TEXT_MAX, &s))
                return false;
        if (!(text = text_printf("%s%s", s, plain && !strchr(s, '/') ? "/plain" : ""))) {
                d->no_memory = true;
                return false;
        }
        return doc_judge(d, net_name_parse(text, ret, &message), name, "host-name", &message);
}

void doc_allows(Doc *d, const Node *v, NetName **ret, size_t *ret_n) {
        NetName *list;
        size_t n = 0;

        if (!doc_array(d, v, PROXY_RULES_MAX))
                return;
        list = doc_rows(d, v, sizeof(*list));
        if (!list)
                return;
        for (size_t i = 0; i < json_array_size(v->v); i++) {
                const Node *at = ITEM(v, i);

                if (!doc_allow(d, at, &list[n]))
                        continue;
                for (size_t k = 0; k < n; k++)
                        if (net_name_same(&list[k], &list[n]))
                                doc_fault(d, at, "twice", "\"%s\" stands there twice", list[n].text);
                n++;
        }
        *ret = list;
        *ret_n = n;
}

void doc_ranges(Doc *d, const Node *v, ProxyNet **ret, size_t *ret_n) {
        ProxyNet *list;
        size_t n = 0;

        if (!doc_array(d, v, PROXY_NETS_MAX))
                return;
        list = doc_rows(d, v, sizeof(*list));
        if (!list)
                return;
        for (size_t i = 0; i < json_array_size(v->v); i++) {
                const Node *at = ITEM(v, i);
                Diag message = {0};
                const char *s;

                if (doc_string(d, at, 1, NET_RANGE_TEXT_MAX, &s) &&
                    doc_judge(d, net_range_parse(s, &list[n], &message), at, "address", &message))
                        n++;
        }
        *ret = list;
        *ret_n = n;
}

void doc_net_budget(Doc *d, const Node *network, ProxyBudget *ret) {
        static const DurationRule time_rule = {1000, NET_TIME_MOST_USEC, "net-time", "1ms to 720h"};
        const Node *bytes = MEMBER(network, "bytes"), *time = MEMBER(network, "time"),
                   *connections = MEMBER(network, "connections");

        if (connections->v)
                doc_count(d, connections, 1, NET_CONNECTIONS_MOST, &ret->connections);
        if (time->v)
                doc_duration(d, time, &time_rule, &ret->usec);
        if (!bytes->v)
                return;
        if (json_is_integer(bytes->v) && json_integer_value(bytes->v) > 0)
                ret->bytes = (uint64_t)json_integer_value(bytes->v);
        else if (!json_text(bytes->v) || size_parse(json_text(bytes->v), &ret->bytes) < 0)
                ret->bytes = 0;
        if (ret->bytes < 1 || ret->bytes > NET_BYTES_MOST)
                doc_fault(d, bytes, "net-bytes", "%s: must be a size from 1 byte to 1024t", DOC_SHOWN(bytes));
}
