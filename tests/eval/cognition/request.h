/* Runs: tests. The contract of a judge (C-57): one line of JSON in, for a turn; one line out (README.md). */
#pragma once

#include "tests/eval/cognition/measure.h"

#define REQUEST_TEXT_MAX ((size_t)16 * 1024) /* bytes of an answer that the judge sees (C-49) */

/* Adds the line of a turn: input, canonical memory, and the answers in the order of the judge without the names of the
 * agents. Returns 0, -ENOMEM. */
int request_write(const MeasureRow *row, const Agents *agents, const AgentKind order[static AGENTS], FILE *f);
