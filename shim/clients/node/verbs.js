// Runs: the caller's Node.js. What the daemon's socket has no method for: slots, memory and belief, by verbs of the program `lethe` on the daemon's
// store. Texts and values go through standard input, never into the arguments, which other users may see.
"use strict";

const { spawn } = require("node:child_process");
const { ProgramFailed, ProtocolError } = require("./errors.js");

const OUTPUT_MAX = 256 * 1024 * 1024;

// Options come first, and operands behind --, so that no operand is taken for an option. An option that is undefined or false is left out.
function argv(words, operands, options) {
  const found = [...words, "--json"];
  for (const [name, value] of Object.entries(options ?? {})) {
    if (value === true) found.push(`--${name}`);
    else if (value !== undefined && value !== null && value !== false) found.push(`--${name}=${value}`);
  }
  return [...found, "--", ...operands];
}

function failure(verb, status, out, err) {
  try {
    const { error } = JSON.parse(out.trimEnd().split("\n").at(-1));
    return new ProgramFailed(String(error.code), status, String(error.message));
  } catch {
    return new ProgramFailed("failed", status, `lethe ${verb}: ${err.trim()}`);
  }
}

// Runs a verb: the object that it prints, with `many` a list, an object a line.
function run(program, env, words, { operands = [], text = "", options, many = false } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, argv(words, operands, options), { env, stdio: "pipe" });
    const out = [];
    let n = 0, err = "";
    child.on("error", (e) => reject(new ProgramFailed("failed", -1, `${program}: ${e.message}`)));
    child.stdout.on("data", (bytes) => {
      n += bytes.length;
      if (n > OUTPUT_MAX) child.kill();
      else out.push(bytes);
    });
    child.stderr.on("data", (bytes) => (err = (err + bytes).slice(0, 65536)));
    child.on("close", (status) => {
      const printed = Buffer.concat(out).toString();
      if (status !== 0) return reject(failure(words[0], status ?? -1, printed, err));
      try {
        resolve(many ? printed.split("\n").filter(Boolean).map((x) => JSON.parse(x)) : JSON.parse(printed));
      } catch {
        reject(new ProtocolError(`lethe ${words[0]} prints no JSON`));
      }
    });
    child.stdin.on("error", () => {}); // a verb that is refused reads nothing
    child.stdin.end(text);
  });
}

// The families, each by a function call(words, how) that runs a verb.
function families(call) {
  const json = JSON.stringify;
  return {
    slots: {
      define: (name, schema, { arbitrate } = {}) => call(["slot", "define"], { operands: [name], text: json(schema), options: { schema: "-", arbitrate } }),
      put: (name, value, { expect } = {}) => call(["slot", "put"], { operands: [name, "-"], text: json(value), options: { expect } }),
      get: (name, { version } = {}) => call(["slot", "get"], { operands: [name], options: { version } }),
      list: () => call(["slot", "list"]),
      history: (name) => call(["slot", "history"], { operands: [name] }),
    },
    memory: {
      save: (family, payload, { refs, ...options } = {}) =>
        call(["memory", "save"], { operands: [family, "-"], text: json(payload), options: { ...options, refs: refs && json(refs) } }),
      load: (family, id, options) => call(["memory", "load"], { operands: [family, id], options }),
      search: (query, options) => call(["memory", "search"], { operands: [query], options }),
      history: (family, id, options) => call(["memory", "history"], { operands: [family, id], options }),
      delete: (family, id, options) => call(["memory", "delete"], { operands: [family, id], options }),
    },
    belief: {
      begin: (agent, { scope } = {}) => call(["note", "begin"], { options: { agent, scope } }),
      add: (id, text, { role } = {}) => call(["note", "add"], { operands: [id, "-"], text, options: { role } }),
      notes: (id) => call(["note", "list"], { operands: [id] }),
      promote: (id, { most } = {}) => call(["promote"], { operands: [id], options: { most }, many: true }),
      canon: (options) => call(["canon", "list"], { options }),
      row: (bucket, id, options) => call(["canon", "show"], { operands: [bucket, id], options }),
      pending: (options) => call(["pending", "list"], { options }),
      bind: (item, target) => call(["pending", "bind"], { operands: [item, target] }),
      drop: (item, reason) => call(["pending", "drop"], { operands: [item], options: { reason } }),
      context: (options) => call(["context"], { options }),
    },
  };
}

module.exports = { families, run };
