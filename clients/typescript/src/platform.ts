/** What differs between Node, Deno, Bun and browsers. Nothing here needs more than the language at load. */
import type * as NodePart from "./node/index.js";

interface ProcessLike {
  readonly env: Record<string, string | undefined>;
  readonly versions?: Record<string, string | undefined>;
  readonly pid: number;
  cwd(): string;
  geteuid?(): number;
}

export type NodeModule = typeof NodePart;

/** The process, where there is one. */
export const process: ProcessLike | undefined = (globalThis as { process?: ProcessLike }).process;

/** Whether this is Node itself. Deno and Bun have its modules, too, but their own fetch is better tried. */
export const isNode =
  process?.versions?.["node"] !== undefined &&
  process.versions["bun"] === undefined &&
  !("Deno" in globalThis);

let loading: Promise<NodeModule | null> | undefined;

/** The part that needs Node's modules; null where there are none. Loaded at the first use. */
export function nodePart(): Promise<NodeModule | null> {
  loading ??= process?.versions?.["node"] === undefined ? Promise.resolve(null) : import("./node/index.js").catch(() => null);
  return loading;
}

/** An environment variable; undefined where there is no environment. */
export function environment(name: string): string | undefined {
  return process?.env[name] || undefined;
}

let found: Crypto | undefined = globalThis.crypto;

/** Node 18 has it in a module only. */
export async function webcrypto(): Promise<Crypto> {
  found ??= (await nodePart())?.webcrypto;
  if (found === undefined) throw new Error("there is no Web Crypto here");
  return found;
}

const ID_BYTES = 16;
let random = new Uint8Array(0); // For several ids at once: asking the system is most of what one costs.
let used = 0;

/** Another one every time, as hex. */
export async function randomId(): Promise<string> {
  if (used === random.length) {
    random = (await webcrypto()).getRandomValues(new Uint8Array(ID_BYTES * 64));
    used = 0;
  }
  return hex(random.subarray(used, (used += ID_BYTES)));
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** As hex. */
export function hex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += HEX[byte];
  return text;
}

/** SHA-256 as hex. */
export async function sha256(data: Uint8Array): Promise<string> {
  return hex(new Uint8Array(await (await webcrypto()).subtle.digest("SHA-256", data)));
}

/** Goes on after so many milliseconds, or at once when the signal says so. Never longer than a day. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(ms, 86_400_000));
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** Monotonic, in milliseconds. */
export function clock(): number {
  return performance.now();
}
