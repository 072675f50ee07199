/* Runs: every process. The numbers that both sides of a boundary keep to; schema/protocol.md and the man pages state them too. */
#pragma once

#define LETHE_PROTOCOL_VERSION 1

/* The pipe (schema/protocol.md). */
#define PIPE_LINE_MAX (1024 * 1024) /* bytes of one line without its newline */
#define PIPE_DEPTH_MAX 32           /* nesting of one message */
#define PIPE_BAD_LINES_MAX 64       /* refused lines before the region is ended as `denied` */
#define PIPE_REQUESTS_PER_SEC 20000 /* a region that asks faster is slowed down, not ended */

/* Sub-skills (skill.run). */
#define SUBSKILL_DEPTH_MAX 8         /* regions in a row, the first with them */
#define SUBSKILL_ALIVE_MAX 16        /* below one invocation at once */
#define SUBSKILL_CALLS_MAX 1024      /* asked for below one invocation in all */
#define SUBSKILL_ARGS_MAX 256
#define SUBSKILL_OUTPUT_MAX 65536    /* bytes of standard output that the answer has */

/* Slots. */
#define SLOT_NAME_MAX 128           /* bytes; [a-z][a-z0-9._/-]* */
#define SLOT_VALUE_MAX (512 * 1024) /* bytes of canonical JSON */
#define SLOT_PROPOSALS_MAX 4096     /* of one invocation */

/* Notes, and shared belief as regions read it. */
#define SCOPE_NAME_BYTES 64          /* [a-z0-9][a-z0-9._-]* */
#define NOTE_TEXT_MAX (32 * 1024)    /* bytes of one note */
#define NOTE_REQUESTS_MAX 4096       /* note.add of one invocation */
#define BELIEF_ROWS_MAX 1000         /* of one answer */
#define BELIEF_ROWS_STANDARD 100     /* when the request does not say */
#define BELIEF_ROWS_BYTES (256 * 1024) /* of one answer: what goes beyond is for the next one; one row fits always */
#define BELIEF_READS_MAX 65536       /* canon.read of one invocation */

/* Typed memory as regions reach it (memory.*). */
#define MEMORY_WRITES_MAX 4096     /* memory.save and memory.delete of one invocation, refused ones with them */
#define MEMORY_HELD_MAX 1024       /* of these that were taken: they are held until the region's end */
#define MEMORY_HELD_BYTES (4 * 1024 * 1024) /* of what they say, as compact JSON */
#define MEMORY_AGAIN_BYTES (128 * 1024 * 1024) /* of it that are done again, for all answers of one invocation together */
#define MEMORY_READS_MAX 16384     /* the other requests of one invocation */
#define MEMORY_ROWS_MAX 1000       /* records or changes of one answer */
#define MEMORY_ROWS_STANDARD 100   /* when the request does not say */
#define MEMORY_LOOK_RECORDS 1000   /* that are looked at for one answer */
#define MEMORY_LOOK_TEXT (4 * 1024 * 1024) /* bytes of their text */
#define MEMORY_REASON_MAX 1024     /* bytes of the reason for a deletion */

/* Sections: typed working state of a region, kept by the supervisor. */
#define SECTIONS_MAX 64                    /* of one region */
#define SECTION_BYTES_MAX (512 * 1024)     /* of canonical JSON, each */
#define SECTION_BYTES_STANDARD (64 * 1024) /* when the manifest does not say */
#define HANDLES_MAX 1024                   /* of one region, open at once */

/* Manifests and policies. */
#define MANIFEST_FILE_MAX (256 * 1024)
#define MANIFEST_DEPTH_MAX 24
#define SKILL_FILES_MAX 4096
#define SKILL_BYTES_MAX (256UL * 1024 * 1024)

/* Where things stand inside a region. */
#define REGION_SKILL_DIR "/skill"  /* the skill's folder, read-only */
#define REGION_WORK_DIR "/work"    /* private scratch; working folder and HOME */
#define REGION_TMP_DIR "/tmp"      /* the same scratch file system */
#define REGION_LETHE_DIR "/lethe"  /* shims: bin/lethe-slot, python/, node/ */
#define REGION_PATH "/usr/local/bin:/usr/bin:/bin" /* of the host; behind the shims' bin in PATH */
#define REGION_PIPE_IN_FD 3        /* the region reads answers here */
#define REGION_PIPE_OUT_FD 4       /* the region writes requests here */
#define REGION_UID 1000            /* never 0 */
#define REGION_GID 1000

/* Objects of the kernel that are counted per user: as many as one region may have. */
#define REGION_INOTIFY_INSTANCES 16
#define REGION_INOTIFY_WATCHES 1024
#define REGION_SIGNALS_PENDING 1024 /* queued signals and POSIX timers */
#define REGION_PIPE_BYTES 65536     /* capacity of one pipe: what the kernel gives without being asked */
