// A real server, and a relay before it that loses answers. The package is the one in $ONCE_CLIENT, else that in dist/.
import { spawn } from "node:child_process";
import { once as event } from "node:events";
import { access, constants, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";

export const HERE = dirname(fileURLToPath(import.meta.url));
export const ROOT = join(HERE, "../../..");
export const PACKAGE = dirname(HERE);
export const DIST = process.env.ONCE_CLIENT ?? join(PACKAGE, "dist");
export const BINARY = process.env.ONCE_BINARY ?? join(ROOT, "build/dev/once");
const RELAY = process.env.ONCE_RELAY ?? join(ROOT, "build/dev/testing/relay/once_relay");
const PATIENCE = 60_000;

export const once = await import(pathToFileURL(join(DIST, "index.js")).href);

/** Polls. A condition that never holds is an error. */
export async function waitUntil(condition, within = PATIENCE) {
  const until = performance.now() + within;
  while (!(await condition())) {
    if (performance.now() > until) throw new Error("the condition never held");
    await new Promise((done) => setTimeout(done, 10));
  }
}

async function firstLine(child) {
  for await (const line of createInterface({ input: child.stdout })) return line;
  return "";
}

/** A server with a store of its own, which can be killed and started again at the same place. */
export class Server {
  static async start(...options) {
    const server = new Server();
    server.directory = await mkdtemp(join(tmpdir(), "once-ts-"));
    server.options = options;
    server.listen = "127.0.0.1:0";
    await server.start();
    return server;
  }

  async start() {
    const args = ["serve", "--store", join(this.directory, "store"), "--listen", this.listen, ...this.options];
    await access(BINARY, constants.X_OK);
    // The port may not be free again at once.
    await waitUntil(async () => {
      this.process = spawn(BINARY, args, { stdio: ["ignore", "pipe", "ignore"] });
      this.ended = event(this.process, "exit");
      this.url = (await firstLine(this.process)).split(" ")[2];
      return this.url !== undefined;
    });
    this.listen = this.url.replace(/^https?:\/\//, "");
  }

  get port() {
    return Number(this.listen.split(":").at(-1));
  }

  async kill(signal = "SIGKILL") {
    this.process.kill(signal);
    await this.ended;
  }

  async end() {
    await this.kill("SIGTERM");
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** Loses every nth answer of the server on that port. */
export class Relay {
  static async start(port, every) {
    const relay = new Relay();
    relay.process = spawn(RELAY, [String(port), String(every)], { stdio: ["pipe", "pipe", "inherit"] });
    relay.ended = event(relay.process, "exit");
    relay.url = `http://127.0.0.1:${Number(await firstLine(relay.process))}`;
    return relay;
  }

  async end() {
    this.process.stdin.end();
    await this.ended;
  }
}
