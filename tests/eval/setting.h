/* Runs: tests. Replays a history in one of three settings (G-72), with the evidence, the features and the decision of
 * promotion. Each row becomes an issue with the subject as title and the body as detail. Before that, a row with gold is a
 * note that resolves an issue. For one note in five, by its place in the file, the right rows are missing: such a note
 * should wait.
 *
 *   all               every row stays open for ever
 *   life cycle        a row is open from its commit to the last note about it; a row without a note ends at once
 *   life cycle, files also the files of note and row are compared */
#pragma once

#include "tests/eval/changes.h"
#include "engine/resolve.h"

#include <stdio.h>

#define SETTING_ABSENT_EVERY 5
#define SETTING_PLACES 3
#define SETTING_THIN_MOST 1024

typedef struct Setting {
        bool life, files;
        /* of training data, to get used to other histories: without areas in subjects, and in small stores, where a note
         * meets the rows whose number leaves the same rest by `thin` as its right row's */
        bool bare;
        unsigned thin;  /* 0: all rows; below SETTING_THIN_MOST */
        /* Called with each note that is judged, and its n candidates, the choice first; or NULL. */
        void (*each)(void *user, uint32_t note, bool absent, const ResolveOutcome *o, const ResolveCandidate *c, size_t n);
        void *user;
        FILE *features; /* or NULL: each note with and without its right rows, for tests/eval/learn.py; nothing is decided */
} Setting;

typedef struct SettingCount {
        size_t present, bound, wrong; /* notes with a right row there; bound ones, and those bound to a wrong row */
        size_t absent, absent_wrong;  /* notes without, and those that were bound */
        size_t within[SETTING_PLACES]; /* of present notes that wait: a right row is among the first 1, 2, 3 */
        size_t open;                  /* rows that are open, summed over all notes */
} SettingCount;
/* Returns 0, -ENOMEM, -EIO when features cannot be written. */
int setting_replay(const Changes *h, const Setting *how, const ResolvePolicy *policy, SettingCount *ret);
