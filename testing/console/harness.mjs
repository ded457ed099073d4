// A real server, a real browser, and what tests ask of both.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

const binary = process.env.ONCE_BINARY;
const tools = process.env.ONCE_TEST_SERVERS ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "once-test-servers");
const require = createRequire(import.meta.url);

/** How long anything may take that is waited for, in milliseconds: this machine may do much else. */
export const kPatience = 60_000;

/** What scripts/install-servers has put there. */
export const { chromium } = require(join(tools, "playwright-core-1.60.0"));
export const axePath = join(tools, "axe-core-4.14.0", "axe.min.js");

export class Server {
  static async start({ args = [], listen = "127.0.0.1:0", directory } = {}) {
    const server = new Server();
    server.home = directory ?? (await mkdtemp(join(tmpdir(), "once-console-")));
    await server.#run(listen, args);
    return server;
  }

  async #run(listen, args) {
    this.args = args;
    this.process = spawn(binary, ["serve", "--store", join(this.home, "store"), "--listen", listen, ...args], { stdio: ["ignore", "pipe", "inherit"] });
    this.ended = new Promise((done) => this.process.once("exit", done));
    let said = "";
    this.url = await new Promise((found, failed) => {
      this.process.stdout.on("data", (piece) => {
        said += piece;
        const url = /http:\/\/[^ ]+/.exec(said);
        if (url) found(url[0]);
      });
      this.process.once("exit", (code) => failed(new Error(`the server ended with ${code}: ${said}`)));
    });
  }

  /** A proxy before this server, with its claims on it. */
  async startProxy() {
    const running = spawn(binary, ["proxy", "--upstream", this.url, "--store", this.url, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    const url = await new Promise((found, failed) => {
      running.stdout.on("data", (piece) => {
        said += piece;
        const line = /proxy (http:\/\/[^ ]+) to /.exec(said);
        if (line) found(line[1]);
      });
      running.once("exit", (code) => failed(new Error(`the proxy ended with ${code}: ${said}`)));
    });
    return { url, pid: running.pid, kill: () => running.kill("SIGKILL") };
  }

  async stop() {
    this.process.kill("SIGTERM");
    await this.ended;
  }

  /** At the same address, with the same store. Another process may have the port for a moment. */
  async startAgain() {
    const { host } = new URL(this.url);
    for (const end = Date.now() + kPatience; ;) {
      try {
        return await this.#run(host, this.args);
      } catch (error) {
        if (Date.now() > end) throw error;
        await new Promise((done) => setTimeout(done, 200));
      }
    }
  }

  async end() {
    this.process.kill("SIGKILL");
    await this.ended;
    await rm(this.home, { recursive: true, force: true });
  }

  /** A call of the API, past the console. */
  async call(method, path, body, headers = {}) {
    const isText = body === undefined || typeof body === "string" || Buffer.isBuffer(body);
    const response = await fetch(this.url + path, { method, body: isText ? body : JSON.stringify(body),
      headers: isText ? headers : { "Content-Type": "application/json", ...headers } });
    const text = await response.text();
    let json;
    try {
      json = JSON.parse(text);
    } catch {
      // Not every answer is JSON.
    }
    return { status: response.status, headers: response.headers, text, json };
  }

  async claim(key, options = {}, headers = {}) {
    return (await this.call("POST", `/v1/claims/${encodeURIComponent(key)}`, options, headers)).json;
  }

  /** Takes new claims, many requests at a time on each of four connections: 100,000 in seconds. */
  async claimAll(keys, options) {
    const { host, hostname, port } = new URL(this.url);
    const body = JSON.stringify(options);
    const requests = (some) => some.map((key) =>
      `POST /v1/claims/${encodeURIComponent(key)} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${body.length}\r\n\r\n${body}`).join("");
    let next = 0;
    const takeSome = (done, failed) => {
      let owed = 0;
      let said = "";
      const socket = connect(Number(port), hostname);
      const more = () => {
        const some = keys.slice(next, (next += 250));
        if (some.length === 0) return socket.end(done);
        [owed, said] = [some.length, ""];
        return socket.write(requests(some));
      };
      socket.setEncoding("latin1");
      socket.on("connect", more);
      socket.on("data", (piece) => {
        said += piece;
        if (said.endsWith("}") && said.split("HTTP/1.1 201").length > owed) more();
      });
      socket.on("error", failed);
      socket.on("close", () => failed(new Error(`claims were refused: ${said.slice(-300)}`)));
    };
    await Promise.all(Array.from({ length: 4 }, () => new Promise(takeSome)));
  }

  /** A number of /metrics. */
  async metric(name) {
    const { text } = await this.call("GET", "/metrics");
    return Number(new RegExp(`^${name}({.*})? (.+)$`, "m").exec(text)?.[2]);
  }

  async fail(key, failure, headers = {}) {
    const { ticket } = await this.claim(key, { owner: "worker-1" }, headers);
    await this.call("POST", `/v1/claims/${encodeURIComponent(key)}/release`, { ticket, failure, final: true }, headers);
  }

  async complete(key, result, headers = {}) {
    const { ticket } = await this.claim(key, { owner: "worker-1" }, headers);
    await this.call("POST", `/v1/claims/${encodeURIComponent(key)}/complete`, { ticket, result }, headers);
  }
}

/** One browser for all cases. */
export async function startBrowser() {
  return chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
  });
}

/** A tab of its own, which notes what must not happen: errors, and requests to others. */
export async function openTab(browser, server, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(kPatience);
  const wrong = [];
  page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (/^https?:$/.test(url.protocol) && url.origin !== server.url) wrong.push(`a request to ${url.origin}`);
  });
  page.on("dialog", (dialog) => {
    wrong.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  return {
    page,
    wrong,
    go: (hash) => page.goto(`${server.url}/${hash}`),
    heading: (name) => page.getByRole("heading", { level: 1, name }),
    close: async () => {
      await page.unrouteAll({ behavior: "ignoreErrors" });
      await context.close();
    },
  };
}
