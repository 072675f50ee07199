#include "tests/eval/settings.h"

#include "belief/binding.h"

#include <string.h>

static const struct {
        const char *name, *title;
        bool life, files;
} settings[SETTINGS] = {
        {"all", "all rows open for ever", false, false},
        {"life_cycle", "life cycle", true, false},
        {"life_cycle_files", "life cycle, with files", true, true},
};

bool setting_named(const char *name, Setting *ret) {
        for (size_t i = 0; i < SETTINGS; i++)
                if (strcmp(settings[i].name, name) == 0) {
                        ret->life = settings[i].life;
                        ret->files = settings[i].files;
                        return true;
                }
        return false;
}

int settings_measure(const Changes *h, unsigned least, Settings *ret) {
        ResolvePolicy policy = RESOLVE_POLICY_DEFAULT;
        int r = 0;

        policy.least = least;
        for (size_t i = 0; i < SETTINGS && r == 0; i++) {
                const Setting how = {.life = settings[i].life, .files = settings[i].files};

                r = setting_replay(h, &how, &policy, &ret->count[i]);
        }
        return r;
}

static double settings_rate(size_t part, size_t whole) {
        return whole > 0 ? (double)part / (double)whole : 0;
}

static double settings_precision(const SettingCount *c) {
        size_t bound = c->bound + c->absent_wrong;

        return bound > 0 ? settings_rate(c->bound - c->wrong, bound) : 1;
}

json_t *settings_json(const Settings *s) {
        _cleanup_json_ json_t *all = json_object();

        for (size_t i = 0; i < SETTINGS && all; i++) {
                const SettingCount *c = &s->count[i];
                size_t notes = c->present + c->absent, waiting = c->present - c->bound;
                json_t *within = json_object(), *o;
                char place[24];

                for (size_t k = 0; k < SETTING_PLACES && within; k++) {
                        snprintf(place, sizeof(place), "%zu", k + 1);
                        if (json_object_set_new(within, place, json_real(settings_rate(c->within[k], waiting))) < 0)
                                return NULL;
                }
                o = json_pack("{s:o, s:f, s:f, s:f, s:f, s:f, s:o}", "notes", json_u64(notes), "bound_rate",
                              settings_rate(c->bound, c->present), "wrong_rate", settings_rate(c->wrong, c->present),
                              "precision", settings_precision(c), "absent_wrong_rate",
                              settings_rate(c->absent_wrong, c->absent), "pending_rate",
                              settings_rate(notes - c->bound - c->absent_wrong, notes), "right_within", within);
                if (json_object_set_new(all, settings[i].name, o) < 0)
                        return NULL;
        }
        return TAKE_PTR(all);
}

void settings_print(FILE *f, const Settings *s) {
        fprintf(f, "\n%-24s %6s %8s %8s %10s %13s %8s %10s\n", "", "notes", "bound", "wrong", "precision", "absent, wrong",
                "pending", "open rows");
        for (size_t i = 0; i < SETTINGS; i++) {
                const SettingCount *c = &s->count[i];
                size_t notes = c->present + c->absent;

                fprintf(f, "%-24s %6zu %6.1f %% %6.2f %% %8.1f %% %11.2f %% %6.1f %% %10.0f\n", settings[i].title, notes,
                        100 * settings_rate(c->bound, c->present), 100 * settings_rate(c->wrong, c->present),
                        100 * settings_precision(c), 100 * settings_rate(c->absent_wrong, c->absent),
                        100 * settings_rate(notes - c->bound - c->absent_wrong, notes), settings_rate(c->open, notes));
        }
}

void settings_print_names(FILE *f) {
        fputs("features", f);
        for (size_t i = 0; i < BINDING_FEATURES; i++)
                fprintf(f, " %s", binding_feature_names[i]);
        fputs("\noutside", f);
        for (size_t i = 0; i < BINDING_OUTSIDE; i++)
                fprintf(f, " %s", binding_outside_names[i]);
        fputc('\n', f);
}
