/** All that needs Node's modules. Loaded at the first use, and only where they are. */
export { AsyncLocalStorage } from "node:async_hooks";
export { webcrypto } from "node:crypto";
export { hostname } from "node:os";
export { DirectoryTransport, NodeTransport } from "./transport.js";
