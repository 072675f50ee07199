/* Runs: supervisor, CLI. The groups of built-in tools of `lethe mcp`, as policy.json and --tools name them
 * (schema/policy.md). */
#pragma once

#define MCP_GROUPS(X)                                                                                                  \
        X(RUN, "run") X(WHY, "why") X(AUDIT, "audit") X(SLOTS, "slots") X(NOTES, "notes") X(BELIEF, "belief")          \
        X(CONTEXT, "context") X(MEMORY, "memory") X(SESSIONS, "sessions") X(OBJECTS, "objects")
