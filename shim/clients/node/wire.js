// Runs: the caller's Node.js. Lines of schema/serve.md, and what is in them. The daemon's bytes are judged here: a wrong type is a ProtocolError.
"use strict";

const { ProtocolError, RequestRefused } = require("./errors.js");

const LINE_MAX = 16 * 1024 * 1024; // an answer, section 1
const INPUT_MAX = 49152; // one `input`, section 2
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const KINDS = {
  string: (v) => typeof v === "string",
  boolean: (v) => typeof v === "boolean",
  integer: Number.isSafeInteger,
  number: Number.isFinite,
  array: Array.isArray,
  object: (v) => typeof v === "object" && v !== null && !Array.isArray(v),
};

// o[name], which has to be of the kind; without it the default.
function member(o, name, kind, otherwise) {
  const value = KINDS.object(o) && Object.hasOwn(o, name) ? o[name] : otherwise;
  if (!KINDS[kind](value)) throw new ProtocolError(`${name}: must be ${kind}`);
  return value;
}

function optional(o, name, kind) {
  return o[name] === undefined || o[name] === null ? null : member(o, name, kind);
}

function whole(o) {
  return member({ result: o }, "result", "object");
}

function line(id, method, params) {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n";
}

// Received bytes, and the messages in them.
class Lines {
  #parts = [];
  #length = 0;

  // The messages that the bytes complete.
  add(bytes) {
    const found = [];
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10)) {
      this.#keep(bytes.subarray(0, at));
      found.push(this.#message());
      bytes = bytes.subarray(at + 1);
    }
    this.#keep(bytes);
    return found;
  }

  #keep(bytes) {
    this.#length += bytes.length;
    if (this.#length > LINE_MAX) throw new ProtocolError(`a line of the daemon is longer than ${LINE_MAX} bytes`);
    if (bytes.length) this.#parts.push(bytes);
  }

  #message() {
    let message;
    try {
      message = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(this.#parts)));
    } catch {
      throw new ProtocolError("a line of the daemon is no JSON");
    }
    this.#parts = [];
    this.#length = 0;
    if (!KINDS.object(message) || message.jsonrpc !== "2.0") throw new ProtocolError("a line of the daemon is no message of JSON-RPC 2.0");
    return message;
  }
}

// The result of an answer; RequestRefused when it is an error.
function result(message) {
  if (Object.hasOwn(message, "error")) {
    const error = member(message, "error", "object");
    throw new RequestRefused(member(member(error, "data", "object", {}), "code", "string", "unknown"), member(error, "code", "integer"),
      member(error, "message", "string"));
  }
  if (!Object.hasOwn(message, "result")) throw new ProtocolError("an answer of the daemon has neither result nor error");
  return message.result;
}

function why(e) {
  if (e.refusal) return [`refused: ${e.refusal.message}`];
  const lines = [`region ${e.region}: ${e.outcome ?? "ended"}: ${e.limit?.reason ?? `exit code ${e.exitCode}`}`];
  for (const d of e.denials) lines.push(`denied: ${d.operation} ${d.object}${d.allowWith ? `; allowed by: ${d.allowWith}` : ""}`);
  return lines;
}

// The result of `run`, checked.
function ended(o) {
  const receipt = optional(whole(o), "receipt", "object");
  const denials = (receipt ? member(receipt, "denials", "array", []) : []).map((d) => ({
    rule: member(d, "rule", "string"), operation: member(d, "operation", "string"), object: member(d, "object", "string"),
    count: member(d, "count", "integer"), allowWith: optional(d, "allow_with", "string"),
  }));
  const limit = receipt && optional(receipt, "limiting_resource", "string") !== null ? {
    resource: receipt.limiting_resource, limit: optional(receipt, "limit", "integer"), used: optional(receipt, "used", "integer"),
    reason: optional(receipt, "reason", "string"),
  } : null;
  const e = {
    exitCode: member(o, "exit_code", "integer"), stdout: member(o, "stdout", "string", ""), stderr: member(o, "stderr", "string", ""),
    region: optional(o, "region", "string"), receipt, refusal: optional(o, "refusal", "object"),
    stdoutCut: member(o, "stdout_cut", "boolean", false), stderrCut: member(o, "stderr_cut", "boolean", false), denials, limit,
    outcome: receipt ? optional(receipt, "outcome", "string") : null,
  };
  return { ...e, why: why(e) };
}

// What a notification brings: output or progress of the run.
function notice(message, run) {
  const params = member(message, "params", "object");
  if (member(params, "id", "integer") !== run) throw new ProtocolError("output of another run");
  if (message.method === "output") {
    const stream = member(params, "stream", "string");
    const data = member(params, "data", "string");
    if (stream !== "stdout" && stream !== "stderr") throw new ProtocolError("stream: must be stdout or stderr");
    if (!BASE64.test(data)) throw new ProtocolError("data: must be base64");
    return { stream, data: Buffer.from(data, "base64") };
  }
  if (message.method !== "progress") throw new ProtocolError("method: must be output or progress");
  return { stream: "progress", done: member(params, "done", "number"), total: optional(params, "total", "number"), message: optional(params, "message", "string") };
}

module.exports = { INPUT_MAX, LINE_MAX, Lines, ended, line, member, notice, result, whole };
