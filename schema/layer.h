/* Runs: supervisor, lethe-layer. The messages between the supervisor and lethe-layer.
 *
 * A lethe-layer reads the layers of a region above folders of the host, compares the layers with the folders, and
 * writes the kept layer. Folders and names are hostile, and a folder may lie on a file system whose server never
 * answers: no thread of the supervisor waits there. lethe-layer starts with the region, and opens the folders then: a
 * folder put in the place of another during the run does not count.
 *
 * The channel is a SOCK_SEQPACKET pair; a message is one packet with a descriptor:
 *
 *   supervisor -> lethe-layer
 *   SOURCES  a memory file: the index of a layer (front/layer/layer.h) without entries
 *   FOLDER   the folder of the kept layer, empty
 *   READ     the scratch of the dead region
 *
 *   lethe-layer -> supervisor
 *   LayerAnswer, after READ; lethe-layer exits
 *
 * The end of the channel ends a waiting lethe-layer. The supervisor takes the answer for hostile. A launcher
 * (base/launched.h) makes lethe-layers for a confined supervisor. */
#pragma once

#include <stdint.h>

#define LAYER_FD_CHANNEL 3

typedef enum LayerKindOfAsk { LAYER_SOURCES = 1,
                              LAYER_FOLDER,
                              LAYER_READ } LayerKindOfAsk;

typedef struct LayerAsk {
        uint32_t kind;
        uint32_t msec;       /* READ: then the kernel ends lethe-layer, as soon as it can */
        uint64_t began_nsec; /* READ: CLOCK_REALTIME of the region's start */
        uint64_t bytes_max;  /* READ: of kept files, holes counted */
} LayerAsk;

typedef struct LayerAnswer {
        int32_t code; /* 0, LAYER_E_BOUND, -errno */
        uint32_t reserved;
        uint64_t n, bytes; /* changed paths, and bytes of the kept files; 0, 0: nothing is kept */
        char digest[65];   /* of the index, lower-case hexadecimal */
        char text[255];    /* of a code other than 0: printable, may be empty */
} LayerAnswer;
