// pack.mjs DIRECTORY: makes the package there as a user does, without a network, and unpacks it into DIRECTORY/package.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const home = dirname(dirname(fileURLToPath(import.meta.url)));
const target = resolve(process.argv[2]);
const source = join(target, "source");
const ignored = ["node_modules", "dist"].map((name) => join(home, name));

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
cpSync(home, source, { recursive: true, filter: (path) => !ignored.includes(path) });
const quiet = ["--offline", "--no-update-notifier", "--cache", join(target, "cache")];
execFileSync("npm", ["pack", "--pack-destination", target, ...quiet], { cwd: source, stdio: "inherit" });
execFileSync("tar", ["-xzf", "once-client-0.1.0.tgz"], { cwd: target, stdio: "inherit" });
