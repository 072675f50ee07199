/* Runs: every process. Limits at both sides of a boundary; schema/protocol.md and the man pages state them, too. */
#pragma once

#define LETHE_PROTOCOL_VERSION 1

/* The pipe (schema/protocol.md). */
#define PIPE_LINE_MAX (1024 * 1024) /* bytes of a line without its newline */
#define PIPE_DEPTH_MAX 32           /* nesting of a message */
#define PIPE_BAD_LINES_MAX 64       /* refused lines before the region is ended as `denied` */
#define PIPE_REQUESTS_PER_SEC 20000 /* a faster region is slowed down, not ended */

/* Sub-skills (skill.run). */
#define SUBSKILL_DEPTH_MAX 8         /* regions in a row, with the first */
#define SUBSKILL_ALIVE_MAX 16        /* below an invocation at the same time */
#define SUBSKILL_CALLS_MAX 1024      /* below an invocation in all */
#define SUBSKILL_ARGS_MAX 256
#define SUBSKILL_OUTPUT_MAX 65536    /* bytes of standard output in the answer */

/* Slots. */
#define SLOT_NAME_MAX 128           /* bytes; [a-z][a-z0-9._/-]* */
#define SLOT_VALUE_MAX (512 * 1024) /* bytes of canonical JSON */
#define SLOT_PROPOSALS_MAX 4096     /* of an invocation */

/* Notes, and shared belief in a region's requests. */
#define SCOPE_NAME_BYTES 64          /* [a-z0-9][a-z0-9._-]* */
#define NOTE_TEXT_MAX (32 * 1024)    /* bytes of a note */
#define NOTE_REQUESTS_MAX 4096       /* note.add of an invocation */
#define BELIEF_ROWS_MAX 1000         /* of an answer */
#define BELIEF_ROWS_STANDARD 100     /* standard number of rows */
#define BELIEF_ROWS_BYTES (256 * 1024) /* of an answer: the next answer has the rest; a single row always fits */
#define CONTEXT_BYTES_MIN 1024         /* of the rules, rows and records of a context */
#define CONTEXT_BYTES_STANDARD (32 * 1024)
#define CONTEXT_BYTES_MAX (256 * 1024)
#define CONTEXT_LOOK_ROWS 4096         /* rows of a bucket, or records of a lane, inspected for a region's context */
#define OWN_READS_MAX 16384            /* note.list and pending.list of an invocation */
#define OWN_ROWS_MAX 1000              /* rules or notes of an answer */
#define OWN_ROWS_STANDARD 100
#define PENDING_ROWS_MAX 50            /* items of an answer: each is compared with the rows anew */
#define PENDING_ROWS_STANDARD 10
#define OWN_LOOK_NOTES 4096            /* notes inspected for an answer */
#define BELIEF_READS_MAX 65536       /* canon.read of an invocation */

/* Typed memory in a region's requests (memory.*). */
#define MEMORY_WRITES_MAX 4096     /* memory.save and memory.delete of an invocation, with the refused requests */
#define MEMORY_HELD_MAX 1024       /* of these, accepted ones: held until the region's end */
#define MEMORY_HELD_BYTES (4 * 1024 * 1024) /* of the held requests, as compact JSON */
/* of held requests done again, for all answers of an invocation together */
#define MEMORY_AGAIN_BYTES (128 * 1024 * 1024)
#define MEMORY_READS_MAX 16384     /* all further requests of an invocation */
#define MEMORY_ROWS_MAX 1000       /* records or changes of an answer */
#define MEMORY_ROWS_STANDARD 100   /* standard number of rows */
#define MEMORY_LOOK_RECORDS 1000   /* records inspected for an answer */
#define MEMORY_LOOK_TEXT (4 * 1024 * 1024) /* bytes of their text */
#define MEMORY_EDGES_MAX 1000      /* references of a record, each way, inspected for an answer */
#define MEMORY_REASON_MAX 1024     /* bytes of the reason for a deletion */

/* Sections: typed working state of a region, kept by the supervisor. */
#define ROLE_TEXT_MAX 8192                 /* bytes of the role of a session with cognition */
#define ARTIFACTS_MAX 16                   /* qualified pieces of evidence of a turn */
#define SECTIONS_MAX 64                    /* of a region */
#define SECTION_BYTES_MAX (512 * 1024)     /* of canonical JSON, each */
/* Sessions: turns that follow one another (protocol.md, section 11). */
#define SESSION_IDLE_STANDARD_USEC 1800000000ULL
#define SESSION_IDLE_LEAST_USEC 100000ULL
#define SESSION_IDLE_MOST_USEC (24ULL * 3600 * 1000000)
#define SESSION_TURNS_MOST 1000000
#define SESSION_WAITING_MAX 16 /* turns of a session that wait for the present turn */
#define CARRY_WRITES_MAX 4096  /* carry.write requests of a turn, refused ones included */
#define SECTION_BYTES_STANDARD (64 * 1024) /* without a size in the manifest */
#define HANDLES_MAX 1024                   /* of a region, open at once */

/* Manifests and policies. */
#define MANIFEST_FILE_MAX (256 * 1024)
#define MANIFEST_DEPTH_MAX 24
#define SKILL_FILES_MAX 4096
#define SKILL_BYTES_MAX (256UL * 1024 * 1024)

#define LISTEN_MAX 2 /* sockets that listen in a region's own network for the supervisor */
#define SOCKETS_MAX 64 /* sockets of a region's own network that lethe-proxy connects (schema/proxy.h) */

/* Places inside a region. */
#define REGION_SKILL_DIR "/skill"  /* the skill's folder, read-only */
#define REGION_WORK_DIR "/work"    /* private scratch; working folder and HOME */
#define REGION_TMP_DIR "/tmp"      /* the same scratch file system */
#define REGION_FD_DIR "/dev/fd"
#define TERMINALS_DIR "/dev/pts"
#define TERMINALS_MAX 16 /* of a region: each is about 40 KiB of the kernel's memory, in no budget */
#define REGION_LETHE_DIR "/lethe"  /* shims: bin/lethe-slot, python/, node/ */
#define REGION_PATH "/usr/local/bin:/usr/bin:/bin" /* of the host; behind the shims' bin in PATH */
#define REGION_PIPE_IN_FD 3        /* the region reads answers here */
#define REGION_PIPE_OUT_FD 4       /* the region writes requests here */
#define REGION_UID 1000            /* never 0 */
#define REGION_GID 1000

/* Objects that the kernel counts per user: the most for a region. */
#define REGION_INOTIFY_INSTANCES 16
#define REGION_INOTIFY_WATCHES 1024
#define REGION_SIGNALS_PENDING 1024 /* queued signals and POSIX timers */
#define REGION_PIPE_BYTES 65536     /* capacity of a pipe: the kernel's standard */
