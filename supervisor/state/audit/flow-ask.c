/* Runs: CLI. Names of values and regions, as asked by the operator. */
#include "audit/flow-graph.h"
#include "record/kind.h"
#include "record/rows.h"
#include "engine/scope.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int ask_unknown_word(const char *what, bool region_too, Diag *reterr) {
        return diag(reterr, FLOW_E_WORD,
                    "'%s' names no value: give slot/NAME, BUCKET/ID (as issues/ID), FAMILY/ID (as "
                    "memory_substrate/ID), evidence/ID or ccs/state, section/REGION/NAME or note/RUN, each with @VERSION or without%s",
                    DIAG_QUOTED(what), region_too ? ", or a region's id" : "");
}

/* Splits "…@3": *ret_n is the length before the '@'. Returns 0 or FLOW_E_WORD. */
static int ask_take_version(const char *what, size_t *ret_n, uint64_t *ret, Diag *reterr) {
        const char *at = strrchr(what, '@');

        *ret = 0;
        *ret_n = strlen(what);
        if (!at)
                return 0;
        *ret_n = (size_t)(at - what);
        if (strspn(at + 1, "0123456789") == strlen(at + 1) && strlen(at + 1) <= 15 && at[1] >= '1')
                for (const char *p = at + 1; *p; p++)
                        *ret = *ret * 10 + (uint64_t)(*p - '0');
        if (*ret > 0)
                return 0;
        return diag(reterr, FLOW_E_WORD, "'%s' is not a version: a number from 1 on", DIAG_QUOTED(at + 1));
}

/* A record's scope. */
static int ask_find_scope(const Flow *f, const char *scope, uint64_t *ret, Diag *reterr) {
        *ret = flow_scope(f, scope);
        if (*ret > 0 || strcmp(scope, SCOPE_DEFAULT) == 0)
                return 0;
        return diag(reterr, FLOW_E_UNKNOWN, "scope '%s' is not in the ledger", DIAG_QUOTED(scope));
}

static int ask_not_there(const char *name, const char *why, Diag *reterr) {
        return diag(reterr, FLOW_E_UNKNOWN, "%s: %s", DIAG_QUOTED(name), why);
}

/* *ret: false when the region's record lists all sections of its manifest, without the asked section. */
static int ask_may_have_section(const FlowNode *n, const char *section, bool *ret) {
        Bytes sections = flow_member(flow_member(n->entry, "grant"), "sections");
        _cleanup_json_ json_t *list = NULL;
        int r;

        *ret = true;
        if (!sections.p)
                return 0;
        r = json_row_parse(sections, sections.n, &list);
        if (r < 0)
                return r;
        *ret = !json_is_array(list); /* a number instead of the list: too many for the entry */
        for (size_t i = 0; i < json_array_size(list) && !*ret; i++)
                *ret = json_text_is(json_object_get(json_array_get(list, i), "name"), section);
        return 0;
}

static int ask_check_section(const Flow *f, const char *rest, Diag *reterr) {
        char id[REGION_ID_MAX] = "";
        const char *slash = strchr(rest, '/');
        const FlowNode *n;
        bool there;
        int r;

        if (!slash || (size_t)(slash - rest) != REGION_ID_LEN || !slash[1])
                return diag(reterr, FLOW_E_WORD, "a section is named section/REGION/NAME");
        memcpy(id, rest, REGION_ID_LEN);
        n = flow_region(f, id);
        if (!n)
                return ask_not_there(id, "no such region is in the ledger", reterr);
        if (strncmp(slash + 1, "gate.", 5) == 0)
                return ask_not_there(slash + 1, "evidence is read from its slot: ask for slot/NAME", reterr);
        r = ask_may_have_section(n, slash + 1, &there);
        return r != 0 || there ? r : ask_not_there(slash + 1, "the region's manifest has no such section", reterr);
}

/* Checks the name before the '@'. */
static int ask_check_value(const Flow *f, const char *what, const char *said_scope, bool region_too, FlowAsked *ret,
                           uint64_t *ret_scope, Diag *reterr) {
        char name[sizeof(ret->text)], *slash;
        bool record;

        memcpy(name, ret->text, sizeof(name));
        slash = strchr(name, '/');
        if (!slash || !slash[1])
                return ask_unknown_word(what, region_too, reterr);
        *slash = 0;
        record = kind_from_name(name) != KIND_NONE && kind_from_name(name) != KIND_WORKING;
        if (!record && said_scope)
                return diag(reterr, FLOW_E_WORD, "--scope goes with records: slots, sections and notes have none");
        if (record)
                return ask_find_scope(f, said_scope ? said_scope : SCOPE_DEFAULT, ret_scope, reterr);
        *ret_scope = 0;
        if (strcmp(name, "section") == 0)
                return ask_check_section(f, slash + 1, reterr);
        if (strcmp(name, "slot") == 0)
                return slot_name_valid(slash + 1) ? 0 : ask_not_there(slash + 1, "not a slot's name", reterr);
        return strcmp(name, "note") == 0 ? 0 : ask_unknown_word(what, region_too, reterr);
}

/* The ledger has only some versions of notes and sections: an unknown version is refused for other values only. */
static int ask_check_version(const FlowAsked *a, Diag *reterr) {
        uint64_t least = UINT64_MAX, most = 0;

        for (const FlowNode *n = a->first; n; n = n->next) {
                if (n->version == a->version)
                        return 0;
                least = MIN(least, n->version);
                most = MAX(most, n->version);
        }
        if (strncmp(a->text, FLOW_NOTE, strlen(FLOW_NOTE)) == 0 ||
            strncmp(a->text, FLOW_SECTION, strlen(FLOW_SECTION)) == 0)
                return 0;
        return most > 0 ? diag(reterr, FLOW_E_UNKNOWN, "%s has no version %" PRIu64 ": it has %" PRIu64 " to %" PRIu64,
                               a->text, a->version, least, most)
                        : diag(reterr, FLOW_E_UNKNOWN, "%s has no version %" PRIu64 ": none at all", a->text,
                               a->version);
}

int flow_ask(Flow *f, const char *what, const char *scope, bool region_too, FlowAsked *ret, Diag *reterr) {
        FlowAsked a = {0};
        uint64_t number;
        size_t n;
        int r = ask_take_version(what, &n, &a.version, reterr);

        if (r != 0)
                return r;
        if (n >= sizeof(a.text) || !utf8_valid(what, strlen(what), NULL))
                return ask_unknown_word(what, region_too, reterr);
        memcpy(a.text, what, n);
        if (region_id_valid(a.text)) {
                if (!region_too || a.version || scope)
                        return diag(reterr, FLOW_E_WORD,
                                    "'%s' is a region, and a value is needed (`lethe audit derived REGION` lists "
                                    "the consequences of a region)",
                                    a.text);
                a.first = flow_region(f, a.text);
                if (!a.first || a.first->refused)
                        return diag(reterr, FLOW_E_UNKNOWN,
                                    a.first ? "region %s was refused by a gate: nothing was written"
                                            : "this ledger has no region %s",
                                    a.text);
                *ret = a;
                return 0;
        }
        r = ask_check_value(f, what, scope, region_too, &a, &number, reterr);
        if (r != 0)
                return r;
        a.first = flow_versions(f, number, a.text);
        a.section = strncmp(a.text, FLOW_SECTION, strlen(FLOW_SECTION)) == 0;
        if (!a.section && !flow_knows(f, number, a.text))
                return ask_not_there(a.text,
                                     number > 0 ? "no such record is in the scope" : "this ledger has no such value",
                                     reterr);
        if (a.version > 0)
                r = ask_check_version(&a, reterr);
        *ret = a;
        return r;
}
