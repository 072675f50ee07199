/* The members of a document about addresses, and about hosts by name (schema/manifest.md, schema/policy.md). */
#include "base/ascii.h"
#include "base/size.h"
#include "manifest/doc.h"
#include "schema/route.h"

#include <string.h>

#define NET_BYTES_MOST (UINT64_C(1) << 50)
#define NET_TIME_MOST_USEC (UINT64_C(30) * 24 * 3600 * 1000000)
#define NET_CONNECTIONS_MOST 1000000000
#define NET_ADDRESSES_MOST 64

/* The rows of an array. */
typedef struct NetRows {
        size_t most, size;
        /* False after a fault: the row does not count. *ret_text, lent: the row for a message. */
        bool (*read)(Doc *d, const Node *at, void *ret, const char **ret_text);
        bool (*same)(const void *a, const void *b); /* NULL: a row may stand there twice */
} NetRows;

/* Owned; NULL: no array, or no memory. */
static void *doc_net_rows(Doc *d, const Node *v, const NetRows *rows, size_t *ret_n) {
        char *list;
        size_t n = 0;

        if (!doc_array(d, v, rows->most) || !(list = doc_rows(d, v, rows->size)))
                return NULL;
        for (size_t i = 0; i < json_array_size(v->v); i++) {
                const Node *at = ITEM(v, i);
                char *row = list + n * rows->size;
                const char *text;

                if (!rows->read(d, at, row, &text))
                        continue;
                for (size_t k = 0; rows->same && k < n; k++)
                        if (rows->same(list + k * rows->size, row))
                                doc_fault(d, at, "twice", "\"%s\" stands there twice", text);
                n++;
        }
        *ret_n = n;
        return list;
}

static bool doc_connect(Doc *d, const Node *at, void *ret, const char **ret_text) {
        Diag message = {0};

        return doc_string(d, at, 1, 128, ret_text) &&
               doc_judge(d, net_parse(*ret_text, ret, &message), at, "address", &message);
}

static bool doc_same_connect(const void *a, const void *b) {
        return net_same(a, b);
}

void doc_connects(Doc *d, const Node *v, NetGrant **ret, size_t *ret_n) {
        static const NetRows rows = {NET_ADDRESSES_MOST, sizeof(NetGrant), doc_connect, doc_same_connect};

        *ret = doc_net_rows(d, v, &rows, ret_n);
}

/* "HOST:PORT", or {"name": "HOST:PORT", "plain": true}. */
static bool doc_allow(Doc *d, const Node *v, void *row, const char **ret_text) {
        const bool object = json_is_object(v->v);
        const Node *name = object ? MEMBER(v, "name") : v;
        _cleanup_free_ char *text = NULL;
        bool plain = false;
        NetName *ret = row;
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
        if (!doc_judge(d, net_name_parse(text, ret, &message), name, "host-name", &message))
                return false;
        *ret_text = ret->text;
        return true;
}

static bool doc_same_allow(const void *a, const void *b) {
        return net_name_same(a, b);
}

void doc_allows(Doc *d, const Node *v, NetName **ret, size_t *ret_n) {
        static const NetRows rows = {PROXY_RULES_MAX, sizeof(NetName), doc_allow, doc_same_allow};

        *ret = doc_net_rows(d, v, &rows, ret_n);
}

static bool doc_range(Doc *d, const Node *at, void *ret, const char **ret_text) {
        Diag message = {0};

        return doc_string(d, at, 1, NET_RANGE_TEXT_MAX, ret_text) &&
               doc_judge(d, net_range_parse(*ret_text, ret, &message), at, "address", &message);
}

void doc_ranges(Doc *d, const Node *v, ProxyNet **ret, size_t *ret_n) {
        static const NetRows rows = {PROXY_NETS_MAX, sizeof(ProxyNet), doc_range, NULL};

        *ret = doc_net_rows(d, v, &rows, ret_n);
}

static bool doc_publish_range(Doc *d, const Node *at, void *ret, const char **ret_text) {
        Diag message = {0};

        return doc_string(d, at, 1, NET_PUBLISH_TEXT_MAX, ret_text) &&
               doc_judge(d, net_publish_range_parse(*ret_text, ret, &message), at, "publish", &message);
}

void doc_publish_ranges(Doc *d, const Node *v, NetPublishRange **ret, size_t *ret_n) {
        static const NetRows rows = {NET_ADDRESSES_MOST, sizeof(NetPublishRange), doc_publish_range, NULL};

        *ret = doc_net_rows(d, v, &rows, ret_n);
}

bool route_name_valid(const char *name) {
        const size_t n = strlen(name);

        for (size_t i = 0; i < n; i++)
                if (!(name[i] >= 'a' && name[i] <= 'z') && !ascii_digit(name[i]) && (i == 0 || (name[i] != '-' && name[i] != '_')))
                        return false;
        return n > 0 && n < PROXY_ROUTE_NAME_MAX;
}

void doc_route_names(Doc *d, const Node *v, size_t most, char ***ret) {
        static const NameRule rule = {route_name_valid, PROXY_ROUTE_NAME_MAX, "route-name", ROUTE_NAME_TEXT};

        doc_names(d, v, most, &rule, ret);
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
