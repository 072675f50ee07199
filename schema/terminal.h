/* Runs: supervisor, CLI. Standard input of a region with a terminal: packets of a SOCK_SEQPACKET socket. The first byte
 * of a packet is its kind. Input of another type is bytes for the terminal, without kinds. */
#pragma once

#include <stdint.h>

enum {
        TERMINAL_INPUT = 'i', /* bytes that were typed follow */
        TERMINAL_SIZE = 's',  /* a TerminalSize follows */
};

typedef struct __attribute__((packed)) TerminalSize {
        uint16_t rows, columns; /* of the machine's byte order; 0: not known */
} TerminalSize;

#define TERMINAL_INPUT_MAX 4096U /* bytes of a packet, without the first */
