/* Runs: CLI. The clients of `lethe mcp` in a policy: for each name the tools that the client may have
 * (schema/policy.md). */
#pragma once

#include "manifest/doc.h"
#include "schema/mcp.h"

/* The groups of built-in tools. */
#define MCP_GROUP_ID(id, word) MCP_##id,
typedef enum McpGroup { MCP_GROUPS(MCP_GROUP_ID) MCP_N_GROUPS } McpGroup;
#undef MCP_GROUP_ID
extern const char *const mcp_group_words[MCP_N_GROUPS + 1]; /* ended by NULL */

/* "mcp": every fault is a finding. *ret: client -> {"tools": 1 << McpGroup | ..., "skills"?: [name]}; owned; without
 * "skills" the client may have each registered skill. */
void policy_read_mcp(Doc *d, const Node *v, json_t **ret);

#define MCP_SERVER_NAME_MAX 64
bool mcp_server_name_valid(const char *s);
/* "mcp_servers": *ret: name of a server of `lethe mcp wrap` -> {"tools"?: [name]}; owned; without "tools" each tool. */
void policy_read_mcp_servers(Doc *d, const Node *v, json_t **ret);
