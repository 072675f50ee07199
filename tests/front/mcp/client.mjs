// A client of the Model Context Protocol, by the SDK's first or second generation: lists, calls, follows progress, cancels. Prints one line of JSON.
// usage: node client.mjs sdk1|sdk2 COMMAND [ARGS...]
const [sdk, command, ...args] = process.argv.slice(2);
const base = sdk === "sdk1" ? "@modelcontextprotocol/sdk/client" : "@modelcontextprotocol/client";
const { Client } = await import(sdk === "sdk1" ? base + "/index.js" : base);
const { StdioClientTransport } = await import(sdk === "sdk1" ? base + "/stdio.js" : base + "/stdio");
const client = new Client({ name: sdk, version: "1" });
const said = { progress: [] };
await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
const call = (name, given, options) =>
  sdk === "sdk1" ? client.callTool({ name, arguments: given }, undefined, options) : client.callTool({ name, arguments: given }, options);
said.tools = (await client.listTools()).tools.map((t) => t.name);
said.sum = (await call("lab", { a: 20, b: 22 })).structuredContent;
await call("lab", { progress: [1, 2, 3] }, { onprogress: (p) => said.progress.push(p.progress) });
said.failed = (await call("lab", { exit: 3 })).isError;
said.unknown = await call("nobody", {}).then(() => "answered", (e) => e.code);
const stop = new AbortController();
const slow = call("lab", { progress: [1], sleep: 600 }, { signal: stop.signal, onprogress: () => stop.abort() });
said.cancelled = await slow.then(() => "answered", () => "cancelled");
said.after = (await call("lab", { a: 1 })).structuredContent;
said.prompt = (await client.getPrompt({ name: "greet", arguments: { whom: "Ada" } })).messages[0].content.text;
said.resource = (await client.readResource({ uri: "weather://Bern" })).contents[0].text;
await client.close();
console.log(JSON.stringify(said));
