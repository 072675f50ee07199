/* Runs: CLI. The actions of `lethe mcp`: argv[0] is the action. Each returns an exit code. */
#pragma once

int mcp_wrap(int argc, char **argv);    /* cmd-mcp-wrap.c */
int mcp_approve(int argc, char **argv); /* cmd-mcp-approve.c */
int mcp_log(int argc, char **argv);
int mcp_config(int argc, char **argv);
