// Runs: the caller's Node.js. The errors: each is a LetheError.
"use strict";

class LetheError extends Error {
  constructor(message) {
    super(message);
    this.name = new.target.name;
  }
}

// The daemon cannot be reached, did not answer in time, or closed the connection before the answer.
class ConnectionLost extends LetheError {}

// The daemon sent bytes that are no message of schema/serve.md.
class ProtocolError extends LetheError {}

// An error answer of the daemon. code: the word of schema/serve.md, section 4; number: the JSON-RPC code.
class RequestRefused extends LetheError {
  constructor(code, number, message) {
    super(`${code}: ${message}`);
    Object.assign(this, { code, number });
  }
}

// A verb of the program `lethe` was refused. code: the word of lethe(1); status: the exit status.
class ProgramFailed extends LetheError {
  constructor(code, status, message) {
    super(`${code}: ${message}`);
    Object.assign(this, { code, status });
  }
}

// A run that did not end with exit code 0, or that was refused before its region. ended: the whole answer.
class RunFailed extends LetheError {
  constructor(ended) {
    super(ended.why.join("\n"));
    const { exitCode, outcome, limit, denials, why } = ended;
    Object.assign(this, { ended, exitCode, outcome, limit, denials, why });
  }
}

module.exports = { LetheError, ConnectionLost, ProtocolError, RequestRefused, ProgramFailed, RunFailed };
