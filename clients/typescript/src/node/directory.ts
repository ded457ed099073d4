/**
 * Finds the server that owns the directory of an embedded store, or starts one.
 *
 * A server leaves its URL, its instance and a secret in DIR/server, one a line, which only the directory's owner can read.
 * What listens at that URL may be another program by now. So the server proves first that it knows the secret: it answers a
 * new number with an HMAC over it and its URL (docs/threats.md).
 */
import { ChildProcess, spawn } from "node:child_process";
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { constants } from "node:fs";
import { access, open, stat } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { Answer } from "../core.js";
import { Unavailable } from "../errors.js";
import { clock, environment, pause, process } from "../platform.js";

const MOST_BYTES = 4096; // Of the file with the address.
const START_WITHIN = 30_000;
const IDLE = "60s";

/** Servers that this process has started and that run, as far as it knows. */
export const started = new Set<ChildProcess>();

// One call of this process starts a server at a time; of several processes, the servers themselves agree on one.
let starting: Promise<unknown> = Promise.resolve();

/** The address of a directory's server, and what it must know. */
export interface Address {
  readonly url: string;
  readonly secret: string;
  /** SHA-256 of its certificates as hex; empty without TLS. */
  readonly certificates: ReadonlySet<string>;
}

/** A number to send as `Once-Prove`, and whether an answer to it comes from the server that left the secret. */
export function challenge(address: Address): { number: string; isAnsweredBy(answer: Answer): boolean } {
  const number = randomBytes(16).toString("hex");
  const proof = createHmac("sha256", address.secret).update(`once-prove\n${number}\n${address.url}`).digest("hex");
  return {
    number,
    isAnsweredBy(answer: Answer): boolean {
      let told: unknown;
      try {
        told = answer.json()?.proof;
      } catch {
        return false;
      }
      if (answer.status !== 200 || typeof told !== "string") return false;
      const [a, b] = [new TextEncoder().encode(told), new TextEncoder().encode(proof)];
      return a.length === b.length && timingSafeEqual(a, b);
    },
  };
}

/** What a server left in its directory. Null if there is nothing that can be trusted. */
export async function readAddress(directory: string): Promise<Address | null> {
  try {
    const file = await open(join(directory, "server"), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const [found, home] = [await file.stat(), await stat(directory)];
      if (!found.isFile() || (found.uid !== home.uid && found.uid !== 0)) return null;
      const buffer = new Uint8Array(MOST_BYTES);
      const { bytesRead } = await file.read(buffer, 0, MOST_BYTES, 0);
      const lines = new TextDecoder().decode(buffer.subarray(0, bytesRead)).split("\n");
      if (lines.length < 4 || !lines[0] || !lines[2]) return null;
      const certificates = (lines[3] ?? "").toLowerCase().replaceAll(":", "").split(/\s+/).filter(Boolean);
      return { url: lines[0], secret: lines[2], certificates: new Set(certificates) };
    } finally {
      await file.close();
    }
  } catch {
    return null;
  }
}

/** The directory of an embedded store, and who has it. */
export class Directory {
  readonly path: string;

  constructor(path: string, private readonly proves: (address: Address) => Promise<boolean>, private readonly onStart: (path: string) => void) {
    this.path = resolve(path);
  }

  async #owner(): Promise<Address | null> {
    const address = await readAddress(this.path);
    return address !== null && (await this.proves(address)) ? address : null;
  }

  /** The server that owns the directory and has proved it. Starts one if none is running. */
  async find(within: number): Promise<Address> {
    const until = clock() + Math.max(within, 1000);
    for (;;) {
      const address = (await this.#owner()) ?? (await this.#alone(() => this.#ownerOrStarted(until)));
      if (address !== null) return address;
      if (clock() > until) throw new Unavailable(`no server of ${this.path} answers`);
      await pause(50);
    }
  }

  async #ownerOrStarted(until: number): Promise<Address | null> {
    const address = await this.#owner();
    if (address !== null) return address;
    await this.#start(Math.max(until - clock(), 1000));
    return this.#owner();
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const mine = starting.then(work);
    starting = mine.catch(() => undefined);
    return mine;
  }

  /** Starts a server that ends by itself, and waits for its line. A directory that another server has by then is that one's. */
  async #start(within: number): Promise<void> {
    const binary = await findBinary();
    const args = ["serve", "--store", this.path, "--listen", "127.0.0.1:0", "--exit-when-idle", IDLE];
    const env = Object.fromEntries(Object.entries(process?.env ?? {}).filter(([name]) => !name.startsWith("ONCE_")));
    const server = spawn(binary, args, { stdio: ["ignore", "pipe", "pipe"], detached: true, env, cwd: "/" });
    started.add(server);
    server.on("exit", () => started.delete(server));
    const problem = await firstLine(server, Math.min(within, START_WITHIN));
    server.stdout.destroy();
    server.stderr.destroy();
    server.unref();
    if (problem !== null) throw new Unavailable(`${binary} did not start: ${problem}`);
    this.onStart(this.path);
  }
}

async function findBinary(): Promise<string> {
  const given = environment("ONCE_BINARY");
  // Absolute, because the server runs in another directory.
  if (given?.includes("/")) return resolve(given);
  for (const folder of (environment("PATH") ?? "").split(delimiter).filter(Boolean)) {
    const candidate = resolve(folder, given ?? "once");
    try {
      await access(candidate, constants.X_OK);
      return candidate;
    } catch {
      // The next one.
    }
  }
  throw new Unavailable("there is no 'once' on PATH, and ONCE_BINARY is not set: no server can be started");
}

/** Null once the server has printed its line; otherwise why it did not. One that still tries is ended. */
function firstLine(server: ChildProcess, within: number): Promise<string | null> {
  return new Promise((resolve) => {
    let errors = "";
    const settle = (problem: string | null): void => {
      clearTimeout(timer);
      resolve(problem);
    };
    const timer = setTimeout(() => {
      server.kill("SIGTERM");
      settle(`it took longer than ${within / 1000} s`);
    }, within);
    server.stdout.on("data", (piece) => new TextDecoder().decode(piece).includes("\n") && settle(null));
    server.stderr.on("data", (piece) => (errors = (errors + new TextDecoder().decode(piece)).slice(0, 1000)));
    server.on("error", (error) => settle(error.message));
    server.on("close", (code) => settle(errors.trim() || `it ended with ${code}`));
  });
}
