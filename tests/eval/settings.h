/* Runs: tests. The three settings of tests/eval/setting.h, measured, and their figures. */
#pragma once

#include "base/json.h"
#include "tests/eval/setting.h"

#define SETTINGS 3

typedef struct Settings {
        SettingCount count[SETTINGS];
} Settings;
/* least: the probability to bind with, in thousandths. Returns 0, -ENOMEM. */
int settings_measure(const Changes *h, unsigned least, Settings *ret);
/* {"all":{…},"life_cycle":{…},"life_cycle_files":{…}}; new reference, NULL: no memory. */
json_t *settings_json(const Settings *s);
void settings_print(FILE *f, const Settings *s);
/* The first line of features: the names of the features, and of those of the outside option. */
void settings_print_names(FILE *f);
/* Sets life and files. */
bool setting_named(const char *name, Setting *ret);
