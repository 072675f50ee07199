#include "record/event-types.h"

static const struct EventType {
        const char *type;
        EventDetail detail;
} event_types[] = {
#define EVENT_TYPE(type, detail) {type, EVENT_DETAIL_##detail},
#include "record/event-types.def"
#undef EVENT_TYPE
};

static int event_type_compare(const void *type, const void *row) {
        return strcmp(type, ((const struct EventType *)row)->type);
}

static const struct EventType *event_type_find(const char *type) {
        return bsearch(type, event_types, ARRAY_SIZE(event_types), sizeof(*event_types), event_type_compare);
}

bool event_type_known(const char *type) {
        return event_type_find(type) != NULL;
}

EventDetail event_type_detail(const char *type) {
        const struct EventType *t = event_type_find(type);

        return t ? t->detail : EVENT_DETAIL_EVENTS;
}
