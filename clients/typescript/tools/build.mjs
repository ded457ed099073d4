#!/usr/bin/env node
// Makes dist/ of src/ with the TypeScript compiler that is there: the package's own, the one on PATH (Debian:
// node-typescript), or, where there is neither, npm's.
import { spawnSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const home = dirname(dirname(fileURLToPath(import.meta.url)));
const out = join(home, "dist");
const found = (command) => spawnSync(command, ["--version"], { stdio: "ignore" }).status === 0;

const own = join(home, "node_modules/.bin/tsc");
const compiler = existsSync(own) ? [own] : found("tsc") ? ["tsc"] : ["npm", "exec", "--yes", "--package=typescript@5.4.5", "--", "tsc"];
rmSync(out, { recursive: true, force: true });
const [command, ...given] = compiler;
const run = spawnSync(command, [...given, "--project", home, "--outDir", out], { stdio: "inherit" });
if (run.error || run.status !== 0) {
  console.error(`${compiler.join(" ")} failed${run.error ? `: ${run.error.message}` : ""}; Debian has it as node-typescript`);
  process.exit(1);
}
