// Runs: the caller's Node.js. The same functions for `import`.
import lethe from "./index.js";

export const { Client, ConnectionLost, LetheError, METHODS, ProgramFailed, ProtocolError, RequestRefused, Run, RunFailed, Session } = lethe;
export default lethe;
