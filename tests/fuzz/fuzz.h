/* Runs: tests. One fuzz target: with clang and -Dfuzz=true libFuzzer calls it, else replay.c calls it with each file of its corpus. */
#pragma once

#include "base/util.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* A property that must hold whatever the input. */
#define fuzz_check(condition, ...)                                                                                     \
        do {                                                                                                           \
                if (!(condition)) {                                                                                    \
                        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                \
                        fprintf(stderr, " " __VA_ARGS__);                                                              \
                        fprintf(stderr, "\n");                                                                         \
                        abort();                                                                                       \
                }                                                                                                      \
        } while (0)
