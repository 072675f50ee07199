// The types for `import`.
export * from "./index.js";
