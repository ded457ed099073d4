// Installs the package that pack.mjs made into a fresh directory, without a network, and runs the code of README.md there, with its
// types checked.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { BINARY, DIST, PACKAGE, ROOT, Server } from "./harness.mjs";

const run = promisify(execFile);

/** The TypeScript in it, each line where it is in the file, so that errors name the README's lines. */
function codeOf(text) {
  let inside = false;
  return text.split("\n").map((line) => {
    if (line.startsWith("```")) {
      inside = line === "```ts";
      return "";
    }
    return inside ? line : "";
  }).join("\n");
}

let home;
let project;
after(() => rm(home, { recursive: true, force: true }));

test("a package is installed offline, and code in strict TypeScript compiles with it", async () => {
  home = await mkdtemp(join(tmpdir(), "once-readme-"));
  const npm = ["--offline", "--no-audit", "--no-fund", "--no-update-notifier", "--cache", join(home, "cache")];

  project = join(home, "project");
  await mkdir(project);
  await writeFile(join(project, "package.json"), '{"type": "module"}');
  await run("npm", ["install", join(DIST, "../../once-client-0.1.0.tgz"), ...npm], { cwd: project });
  const installed = join(project, "node_modules/once-client");
  assert.deepEqual((await readdir(join(project, "node_modules"))).filter((name) => !name.startsWith(".")), ["once-client"]);
  assert.ok((await stat(join(installed, "dist/index.d.ts"))).isFile());

  // Of Node's own types, what the code uses: Debian's TypeScript has none.
  await writeFile(join(project, "node.d.ts"), `
    declare module "node:assert" {
      const assert: {
        ok(value: unknown): asserts value;
        equal(a: unknown, b: unknown): void;
        deepEqual(a: unknown, b: unknown): void;
      };
      export default assert;
    }
    declare module "node:crypto" {
      export function createHash(name: string): { update(text: string): { digest(encoding: "hex"): string } };
    }
    declare module "node:fs/promises" {
      export function mkdir(path: string, options: { recursive: boolean }): Promise<unknown>;
      export function open(path: string, flags: string): Promise<{ writeFile(text: string): Promise<void>; sync(): Promise<void>; close(): Promise<void> }>;
      export function rename(from: string, to: string): Promise<void>;
    }
    declare module "node:path" {
      export function join(...parts: string[]): string;
      export function resolve(...parts: string[]): string;
    }`);
  // The names that programs rely on, without a type given to any of them.
  await writeFile(join(project, "names.ts"), `
    import { connect, express, fetchHandler, lambdaHandler, Busy, Fenced, Invalid, Mismatch, OnceError, Unavailable, Unknown } from "once-client";
    const client = connect("http://127.0.0.1:7600");
    export const { result, replayed } = await client.run("invoice-42", async (attempt) => ({ fence: attempt.fence }), { lease: "30s" });
    export const fence: number = result.fence;
    export const pay = client.idempotent((invoice) => "invoice-" + invoice.id, async (invoice) => invoice.cents);
    await pay({ id: 1, cents: 2 });
    for await (const { index, time, data } of client.log("builds").follow()) use(index, time, data);
    declare function use(...values: unknown[]): void;
    await client.document("config").update((v) => ({ ...v, n: 1 }));
    await client.tally("revenue").add(1900, { id: "invoice-42" });
    export const handlers = [express(client), fetchHandler(client, async () => new Response()), lambdaHandler(client, "/id", async (e) => e.id)];
    export const errors: (typeof OnceError)[] = [Busy, Fenced, Invalid, Mismatch, Unavailable, Unknown];`);
  await writeFile(join(project, "README.ts"), codeOf(await readFile(join(PACKAGE, "README.md"), "utf8")));
  await copyFile(join(ROOT, "examples/screenshot_worker/worker.ts"), join(project, "worker.ts"));
  const strict = ["--strict", "--skipDefaultLibCheck", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes"];
  await run("tsc", [...strict, "--target", "ES2022", "--module", "ES2022", "--moduleResolution", "node",
    "--lib", "ES2022,DOM,DOM.Iterable", "node.d.ts", "names.ts", "README.ts", "worker.ts"], { cwd: project })
    .catch((error) => assert.fail(`${error.stdout}${error.stderr}`));

});

test("the README's code runs", async () => {
  await writeFile(join(project, "main.js"), `
    try {
      await import("./README.js");
    } finally {
      const { started } = await import("./node_modules/once-client/dist/node/directory.js");
      for (const child of started) child.kill("SIGTERM");
    }`);
  const env = { ...process.env, ONCE_BINARY: BINARY };
  delete env.ONCE_STORE;
  await run(process.execPath, ["main.js"], { cwd: project, env, timeout: 120_000 });
  assert.ok((await readFile(join(PACKAGE, "README.md"), "utf8")).match(/^```ts$/gm).length >= 8);
});

test("the screenshot worker: each job ends with one picture, however often it is delivered", async (t) => {
  const server = await Server.start();
  t.after(() => server.end());
  const { connect } = await import(pathToFileURL(join(project, "node_modules/once-client/dist/index.js")).href);
  const { drawn, worker } = await import(pathToFileURL(join(project, "worker.js")).href);
  const client = connect(server.url);
  const shots = join(home, "shots");
  const crashed = new Set();
  let takenOver = false;
  const handler = worker(client, shots, async (job, signal) => {
    if (job.id === "job-1" && !takenOver) {
      takenOver = true;
      await client.claim("shot-job-1").forget(); // As if the lease had ended and another had come.
    }
    if (job.id === "job-2" && !crashed.has(job.id)) {
      crashed.add(job.id);
      throw new Error("the browser crashed");
    }
    return drawn(job, signal);
  });
  const message = (id) => JSON.stringify({ specversion: "1.0", id, type: "screenshot.wanted", data: { page: `https://example.org/${id}` } });
  const jobs = Array.from({ length: 10 }, (_, n) => `job-${n}`);
  let queue = [...jobs, ...jobs, ...jobs].map((id, n) => ({ messageId: `m-${n}`, body: message(id) }));
  queue.push({ messageId: "bad", body: "no job" });
  for (let rounds = 0; queue.length > 0; ++rounds) {
    assert.ok(rounds < 100, "messages come back for ever");
    const { batchItemFailures } = await handler({ Records: queue });
    queue = queue.filter(({ messageId }) => batchItemFailures.some(({ itemIdentifier }) => itemIdentifier === messageId));
  }
  const entries = (await client.log("shots").read()).map(({ data }) => data);
  assert.deepEqual(entries.map(({ id }) => id).sort(), jobs);
  for (const { address } of entries) assert.match(await readFile(address.slice("file://".length), "utf8"), /^<svg.*<\/svg>$/);
  assert.deepEqual((await client.claims({ state: "failed" })).map(({ key }) => key), ["shot-bad"]);
  client.close();
});
