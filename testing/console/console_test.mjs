// The console in a real browser, by roles and visible names, against a real server. What it does is checked through the API.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { axePath, kPatience, openTab, Server, startBrowser } from "./harness.mjs";

const pictures = process.env.ONCE_CONSOLE_PICTURES;
const kClaims = 100_000;
let browser;
let server;
let axe;

before(async () => {
  [browser, server, axe] = await Promise.all([startBrowser(), Server.start(), readFile(axePath, "utf8")]);
  await server.complete("invoice-7", { paid: true, amount: 1900 });
  await server.claimAll(Array.from({ length: kClaims }, (_, number) => `job-${number}`), { owner: "worker-9", lease: "1h" });
});
after(async () => {
  await browser?.close();
  await server?.end();
});

/** Runs `use` in a tab of its own, in which nothing may go wrong. */
async function inTab(use, { on = server, ...options } = {}) {
  const tab = await openTab(browser, on, options);
  try {
    await use(tab);
    assert.deepEqual(tab.wrong, [], "errors in the browser");
  } catch (error) {
    const seen = await tab.page.evaluate(() => document.body.innerText).catch(String);
    console.log(`${tab.page.url()} showed:\n${seen.slice(0, 2_000)}\nerrors: ${JSON.stringify(tab.wrong)}`);
    throw error;
  } finally {
    await tab.close();
  }
}

const kRules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Nobody is kept out: WCAG 2.2 AA, as far as a program can tell. */
async function checkAccess(page, where, only = kRules) {
  if (!(await page.evaluate("typeof axe !== 'undefined'"))) await page.evaluate(axe);
  const found = await page.evaluate((runOnly) => axe.run(document, { runOnly, resultTypes: ["violations"] }), only);
  assert.deepEqual(found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" ")}`), [], where);
}

async function picture(page, name, height = 660) {
  if (!pictures) return;
  await mkdir(pictures, { recursive: true });
  const size = page.viewportSize();
  await page.setViewportSize({ width: 1040, height });
  await page.evaluate(() => {
    window.scrollTo(0, 0);
    document.activeElement?.blur();
  });
  await page.screenshot({ path: `${pictures}/${name}.png` });
  await page.setViewportSize(size);
}

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** Longer than the console waits between two looks. */
const kLook = 3_500;

/** Waits for a condition outside of the browser. */
async function until(condition, what) {
  for (const end = Date.now() + kPatience; Date.now() < end;) {
    const value = await condition();
    if (value) return value;
    await sleep(50);
  }
  throw new Error(`never: ${what}`);
}

const path = (kind, key) => `/v1/${kind}/${encodeURIComponent(key)}`;

/** Presses a button, and the one of the same name in the dialog that it opens. */
async function confirm(page, name) {
  await page.getByRole("button", { name, exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name, exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

/** A request with these headers alone. */
function plain(target, headers) {
  return new Promise((done, failed) => {
    http.get(server.url + target, { headers }, (response) => {
      const pieces = [];
      response.on("data", (piece) => pieces.push(piece));
      response.on("end", () => done({ status: response.statusCode, headers: response.headers, body: Buffer.concat(pieces) }));
    }).on("error", failed);
  });
}

// Most of the time is spent waiting, so several tabs are open at once.
describe("the console", { concurrency: 3 }, () => {
  test("the page comes from the binary, under a strict policy, and a client that does not want HTML gets text to read", async () => {
    const page = await plain("/", { accept: "text/html,application/xhtml+xml" });
    assert.equal(page.headers["content-type"], "text/html; charset=utf-8");
    const policy = page.headers["content-security-policy"];
    assert.match(policy, /default-src 'self'/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe|\*|data:/);
    assert.doesNotMatch(page.body.toString(), new RegExp(server.home), "no path of the machine");
    assert.match((await plain("/", {})).body.toString(), /Store: rocksdb/, "the page for those who say nothing");
    const script = await plain("/console/main.js", { "accept-encoding": "gzip" });
    assert.equal(script.headers["content-encoding"], "gzip");
    assert.equal(script.headers["content-type"], "text/javascript; charset=utf-8");
    const again = await plain("/console/main.js", { "if-none-match": script.headers.etag });
    assert.deepEqual([again.status, again.body.length], [304, 0]);
    assert.equal((await plain("/console/nothing.js", {})).status, 404);
  });

  test("every view has an address, a heading and its landmarks, on a desk and on a phone, in light and dark", async () => {
    await server.call("POST", "/v1/logs/builds", { events: [{ data: { commit: "4f2a", ok: true } }, { data: "a line" }] });
    await server.call("PUT", "/v1/docs/config", { limit: 10 }, { "If-None-Match": "*", "Content-Type": "application/json" });
    await server.call("POST", "/v1/tallies/revenue", { kind: "sum", add: 1900, window: "hour" });
    const views = { "#/": "Overview", "#/claims": "Claims", "#/claims/invoice-7": /invoice-7/, "#/logs": "Logs", "#/logs/builds": /builds/,
      "#/docs": "Documents", "#/docs/config": /config/, "#/tallies": "Tallies", "#/tallies/revenue": /revenue/, "#/hot": "Hot keys", "#/events": "Events",
      "#/workers": "Workers", "#/proxies": "Proxies", "#/tokens": "Tokens", "#/audit": "Audit" };
    const unsearched = ["#/", "#/events", "#/tokens", "#/audit"];
    for (const options of [{ colorScheme: "light" }, { colorScheme: "dark", viewport: { width: 390, height: 800 } }]) {
      await inTab(async ({ page, go, heading }) => {
        for (const [hash, name] of Object.entries(views)) {
          await go(hash);
          await heading(name).waitFor();
          await page.waitForFunction(() => ![...document.querySelectorAll("[role=status]")].some((one) => one.textContent.includes("Loading…")));
          assert.equal(await page.getByRole("navigation").count(), 1);
          assert.equal(await page.getByRole("main").count(), 1);
          if (!/\/./.test(hash.slice(2)) && !unsearched.includes(hash)) {
            assert.equal(await page.getByRole("searchbox").count(), 1, hash);
          }
          await checkAccess(page, `${hash} ${options.colorScheme}`, options.colorScheme === "dark" ? ["color-contrast", "target-size"] : kRules);
          const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
          assert.ok(overflow <= 0, `${hash} is ${overflow} px too wide`);
        }
      }, options);
    }
  });

  test("the back button and the navigation lead through the views", async () => {
    await inTab(async ({ page, go, heading }) => {
      await go("");
      const views = page.getByRole("navigation");
      for (const name of ["Claims", "Logs", "Documents", "Tallies", "Hot keys", "Events", "Workers", "Proxies", "Tokens", "Overview"]) {
        await views.getByRole("link", { name }).click();
        await heading(name).waitFor();
      }
      await page.goBack();
      await heading("Tokens").waitFor();
      await views.getByRole("link", { name: "Claims" }).click();
      await page.getByRole("link", { name: "invoice-7" }).click();
      await heading(/invoice-7/).waitFor();
      await page.goBack();
      await heading("Claims").waitFor();
      await page.keyboard.press("/");
      assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("type")), "search");
    });
  });

  test("an operator finds a stuck claim among 100,000, sees why it is stuck and retries it within a minute, by visible names only", async () => {
    await server.claim("job-stuck", { owner: "worker-3", lease: "1ms" });
    await server.fail("job-failed", { error: "550 no such user", to: "a@example.org" });
    const began = Date.now();
    await inTab(async ({ page, go, heading }) => {
      await go("");
      await page.getByRole("navigation").getByRole("link", { name: "Claims" }).click();
      await page.getByLabel("State").selectOption("abandoned");
      await page.getByRole("link", { name: "job-stuck" }).click();
      await heading(/job-stuck/).waitFor();
      await page.getByText("Stuck: its lease ended").waitFor();
      await page.getByText("worker-3").waitFor();
      await picture(page, "claim");
      await confirm(page, "Retry");
      await page.getByText("Free for another attempt").waitFor();
      const record = (await server.call("GET", path("claims", "job-stuck"))).json;
      assert.deepEqual([record.state, record.failure], ["free", "released by an operator"]);
      assert.ok(Date.now() - began < 60_000, `it took ${Date.now() - began} ms`);
      assert.equal((await server.claim("job-stuck")).attempt, 2);

      await page.getByRole("navigation").getByRole("link", { name: "Claims" }).click();
      await page.getByRole("searchbox").fill("job-fai");
      await page.getByRole("link", { name: "job-failed" }).click();
      await page.getByText("550 no such user").waitFor();
      await confirm(page, "Retry");
      await page.getByText("Free for another attempt").waitFor();
      const next = await server.claim("job-failed");
      assert.deepEqual([next.attempt, next.previous.failure.error], [2, "550 no such user"]);
    });
  });

  test("pages of claims: forwards, back, and never more rows than a page has", async () => {
    await inTab(async ({ page, go }) => {
      await go("#/claims?prefix=job-");
      const rows = page.getByRole("table").getByRole("row");
      await page.getByText("100 claims on page 1").waitFor();
      const first = await page.getByRole("table").getByRole("link").first().textContent();
      await page.getByRole("button", { name: "Next page" }).click();
      await page.getByText("100 claims on page 2").waitFor();
      assert.equal(await rows.count(), 101);
      await picture(page, "claims");
      await page.getByRole("button", { name: "Next page" }).click();
      await page.getByText("100 claims on page 3").waitFor();
      await page.getByRole("button", { name: "Previous page" }).click();
      await page.getByText("100 claims on page 2").waitFor();
      await page.getByRole("button", { name: "Previous page" }).click();
      await page.getByText("100 claims on page 1").waitFor();
      assert.equal(await page.getByRole("table").getByRole("link").first().textContent(), first);
      await page.getByLabel("Owner").fill("nobody");
      await page.getByText("No claims match").waitFor();
    });
  });

  test("a claim is forgotten or released after a dialog that says what it means, and not before", async () => {
    const held = await server.claim("held", { owner: "worker-1", lease: "10m" });
    await server.complete("finished", "a result");
    await inTab(async ({ page, go, heading }) => {
      await go("#/claims/held");
      await page.getByRole("progressbar", { name: "Lease" }).waitFor();
      await page.getByRole("button", { name: "Release" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("fenced").waitFor();
      await checkAccess(page, "a dialog");
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      assert.equal((await server.call("GET", path("claims", "held"))).json.state, "busy");
      await confirm(page, "Release");
      await page.getByText("Free for another attempt").waitFor();
      assert.equal((await server.call("POST", `${path("claims", "held")}/complete`, { ticket: held.ticket, result: 1 })).status, 412);
      assert.equal((await server.claim("held")).attempt, 2);

      // A slow answer: the console must not look meanwhile, and report as missing what it forgets.
      await page.route("**/v1/claims/finished", async (route) => {
        if (route.request().method() !== "DELETE") return route.continue();
        const response = await route.fetch();
        await sleep(kLook);
        return route.fulfill({ response });
      });
      await go("#/claims/finished");
      await page.getByText("a result").waitFor();
      assert.equal(await page.getByRole("button", { name: "Release" }).count(), 0);
      await confirm(page, "Forget");
      await heading("Claims").waitFor();
      assert.equal((await server.call("GET", path("claims", "finished"))).status, 404);
    });
  });

  test("many are forgotten at once, counted before", async () => {
    for (let number = 0; number < 12; number += 1) await server.complete(`bulk-${number}`, number);
    await inTab(async ({ page, go }) => {
      await go("#/claims?prefix=bulk-");
      await page.getByRole("button", { name: "Forget all that match…" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("heading", { name: "Forget 12 claims?" }).waitFor();
      await dialog.getByRole("button", { name: "Forget", exact: true }).click();
      await page.getByText("No claims match").waitFor();
      assert.deepEqual((await server.call("GET", "/v1/claims?prefix=bulk-")).json.claims, []);
    });
  });

  test("a log is followed as it grows: few rows in the document, pause, jump, close", async () => {
    const append = (from, count) => server.call("POST", "/v1/logs/live", { events: Array.from({ length: count }, (_, number) => ({ data: { n: from + number } })) });
    await append(1, 10);
    await inTab(async ({ page, go }) => {
      await go("#/logs/live");
      const rows = page.getByRole("table").getByRole("row");
      await page.getByText("10 events, 1 to 10").waitFor();
      const row = await rows.filter({ hasText: '{"n":10}' }).elementHandle();
      await append(11, 3);
      await rows.filter({ hasText: '{"n":13}' }).waitFor();
      assert.ok(await row.evaluate((one) => one.isConnected), "a row can be clicked while others come");
      await append(14, 497);
      for (let from = 511; from < 4_011; from += 500) await append(from, 500);
      await page.getByText("4,010 events, 1 to 4010").waitFor();
      await rows.filter({ hasText: '{"n":4010}' }).waitFor();
      assert.ok((await rows.count()) < 100, "only what is seen is in the document");
      await page.getByRole("button", { name: "Pause" }).click();
      await append(4_011, 5);
      await page.getByLabel("Jump to").fill("1234");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Event 1234" }).waitFor();
      await picture(page, "log");
      await page.getByRole("button", { name: "Newest" }).click();
      await rows.filter({ hasText: '{"n":4015}' }).waitFor();
      const downloading = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download" }).click();
      const lines = (await readFile(await (await downloading).path(), "utf8")).trim().split("\n");
      assert.equal(lines.length, 4_015);
      await page.getByRole("button", { name: "Close log" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
      await page.getByText("closed", { exact: true }).waitFor();
      assert.equal((await append(1, 1)).json.code, "closed");
    });
  });

  test("a document is edited under its ETag, and of two operators neither overwrites the other unseen", async () => {
    await server.call("PUT", path("docs", "shared"), { limit: 1 }, { "If-None-Match": "*", "Content-Type": "application/json" });
    const stored = async () => (await server.call("GET", path("docs", "shared"))).json;
    await inTab(async (one) => {
      await inTab(async (two) => {
        for (const { page, go } of [one, two]) {
          await go("#/docs/shared");
          await page.getByRole("button", { name: "Edit" }).click();
        }
        await one.page.getByLabel("Content").fill('{"limit": 2}');
        await one.page.getByRole("button", { name: "Save" }).click();
        await one.page.getByText('"limit": 2').waitFor();
        assert.deepEqual(await stored(), { limit: 2 });
        await two.page.getByLabel("Content").fill('{"limit": ');
        await two.page.getByRole("button", { name: "Save" }).click();
        await two.page.getByText("This is not JSON").waitFor();
        await two.page.getByLabel("Content").fill('{"limit": 3}');
        await two.page.getByRole("button", { name: "Save" }).click();
        await two.page.getByText("Conflict: somebody else has changed").waitFor();
        assert.equal(await two.page.getByLabel("Yours").inputValue(), '{"limit": 3}');
        assert.match((await two.page.getByRole("region", { name: "Stored now" }).textContent()) ?? "", /"limit": 2/);
        assert.deepEqual(await stored(), { limit: 2 }, "nothing was written");
        await checkAccess(two.page, "a conflict");
        await picture(two.page, "conflict");
        await two.page.getByRole("button", { name: "Save mine over it" }).click();
        await until(async () => (await stored()).limit === 3, "the second one's change");
      });
      await one.page.getByRole("button", { name: "Refresh" }).click();
      await one.page.getByText('"limit": 3').waitFor();
      await confirm(one.page, "Delete");
      await one.heading("Documents").waitFor();
      assert.equal((await server.call("GET", path("docs", "shared"))).status, 404);
      await one.page.getByRole("button", { name: "New document" }).click();
      await one.page.getByLabel("Key").fill("made/here");
      await one.page.getByLabel("Content", { exact: true }).fill("[1]");
      await one.page.getByRole("button", { name: "Create" }).click();
      await one.heading(/made\/here/).waitFor();
      assert.deepEqual((await server.call("GET", path("docs", "made/here"))).json, [1]);
    });
  });

  test("tallies are numbers, charts over their windows, bars with their error, and a question for bloom filters", async () => {
    const hour = 3_600_000;
    const now = Math.floor(Date.now() / hour) * hour;
    for (let back = 0; back < 24; back += 1) {
      await server.call("POST", "/v1/tallies/sales", { kind: "sum", add: 100 + 40 * (back % 5), window: "hour", at: new Date(now - back * hour).toISOString() });
    }
    await server.call("POST", "/v1/tallies/pages", { kind: "top", items: [{ item: "/home", count: 30 }, { item: "/about", count: 10 }] });
    await server.call("POST", "/v1/tallies/known", { kind: "bloom", items: ["a"] });
    await inTab(async ({ page, go, heading }) => {
      await go("#/tallies/sales");
      await page.getByRole("img", { name: /sum by hour, 24 buckets/ }).waitFor();
      await page.getByText("4,240", { exact: true }).waitFor();
      await picture(page, "tally");
      await page.getByLabel("Range").selectOption("1h");
      await page.getByRole("img", { name: /sum by hour, [12] buckets/ }).waitFor();
      await go("#/tallies/pages");
      await page.getByRole("listitem").filter({ hasText: "/home" }).filter({ hasText: "30" }).waitFor();
      await go("#/tallies/known");
      for (const [item, answer] of [["a", "probably in it"], ["zzz", "certainly not in it"]]) {
        await page.getByLabel("Item").fill(item);
        await page.getByRole("button", { name: "Check" }).click();
        await page.getByText(answer).waitFor();
      }
      await confirm(page, "Delete");
      await heading("Tallies").waitFor();
      assert.deepEqual((await server.call("GET", "/v1/tallies?prefix=known")).json.tallies, []);
    });
  });

  test("keys that callers fight over are listed, and what operators did is in the audit", async () => {
    await server.claim("contested", { lease: "10m" });
    for (let number = 0; number < 20; number += 1) await server.claim("contested");
    await server.call("DELETE", path("claims", "contested"));
    await server.claim("contested", { lease: "10m" });
    await inTab(async ({ page, go, heading }) => {
      await go("#/hot");
      await page.getByRole("row").filter({ hasText: "contested" }).filter({ hasText: "claims" }).waitFor();
      await page.getByRole("link", { name: "contested" }).click();
      await heading(/contested/).waitFor();
      await go("#/audit");
      await page.getByRole("row").filter({ hasText: "claim.forget" }).filter({ hasText: "contested" }).first().waitFor();
    });
  });

  test("the overview draws what happens, and leads to what is stuck", async () => {
    const billing = { "Once-Namespace": "billing" };
    await server.claim("nightly-report", { owner: "cron@db1", lease: "1ms" }, billing);
    await server.fail("mail-1", "550 no such user", billing);
    await inTab(async ({ page, go, heading }) => {
      await go("#/?ns=billing");
      await page.getByText("synced before every answer").waitFor();
      await page.getByRole("link", { name: "nightly-report" }).waitFor();
      await page.getByRole("link", { name: "mail-1" }).waitFor();
      let busy = true;
      const load = (async () => {
        for (let number = 0; busy; number += 1) await server.complete(`load-${number}`, number, billing);
      })();
      try {
        await page.getByRole("img", { name: /Operations a second: all [1-9]/ }).waitFor();
        await page.getByRole("img", { name: /Latency of requests: p50 [^–]+, p99 [^–]/ }).waitFor();
        if (pictures) await sleep(15_000);
        await picture(page, "overview", 860);
      } finally {
        busy = false;
        await load;
      }
      await page.getByRole("link", { name: "See all abandoned" }).click();
      await heading("Claims").waitFor();
      await page.getByRole("link", { name: "nightly-report" }).waitFor();
    });
  });

  test("a page that is opened later shows what was before, and what once doctor warns of with its remedy", async () => {
    const own = await Server.start();
    try {
      for (let number = 0; number < 20; number += 1) await own.complete(`past-${number}`, number);
      await until(async () => (await own.call("GET", "/v1/history")).json.samples.some(({ outcomes }) => outcomes.claims?.executed), "the traffic is in a sample");
      const { directory } = (await own.call("POST", "/v1/checkpoints")).json;
      for (const colorScheme of ["light", "dark"]) {
        await inTab(async ({ page, go }) => {
          await go("#/");
          const chart = page.getByRole("img", { name: /^Outcomes of claims a second: executed/ });  // The page itself only reads.
          await chart.waitFor();
          const heights = [...((await chart.locator("path.s0").getAttribute("d")) ?? "").matchAll(/[ML][\d.]+ ([\d.]+)/g)].map(([, y]) => Number(y));
          assert.ok(Math.min(...heights) < 100, `the line rises: ${heights}`);
          await page.getByRole("img", { name: /^Latency of requests: p50 [^–]+, p99 [^–]/ }).waitFor();
          await page.getByRole("list", { name: "Warnings of once doctor" }).getByRole("listitem").filter({ hasText: "1 are left, and keep files of the store" })
            .filter({ hasText: `Remedy: copy them elsewhere and remove them: ${join(own.home, "store", "checkpoints")}` }).waitFor();
          await checkAccess(page, `the overview with warnings, ${colorScheme}`);
        }, { on: own, colorScheme });
      }
      await inTab(async ({ page, go }) => {
        await go("#/");
        const left = page.getByRole("listitem").filter({ hasText: "1 are left" });
        await left.waitFor();
        await rm(directory, { recursive: true });
        await left.waitFor({ state: "detached" });
      }, { on: own });
    } finally {
      await own.end();
    }
  });

  test("names and contents of strangers are shown as text, whatever they are", async () => {
    const names = ["<img src=x onerror=alert(1)>", "\"><script>alert(1)</script>", "a\u202Egpj.exe", "a/b?c#d&e=f%2F", "é 漢 🎉 {{x}}", "k".repeat(512)];
    const content = "<script>alert(1)</script><img src=x onerror=alert(1)>";
    for (const name of names) {
      await server.fail(name, { html: content });
      await server.call("PUT", path("docs", name), content, { "If-None-Match": "*", "Content-Type": "text/html" });
      await server.call("POST", path("logs", name), { events: [{ data: { [content]: content } }, { data: "a\u0000b\u202ec" }] });
      await server.call("POST", path("tallies", name), { kind: "top", items: [content] });
    }
    await server.call("PUT", path("docs", "large"), "x".repeat((1 << 20) - 1), { "If-None-Match": "*", "Content-Type": "text/plain" });
    await server.call("PUT", path("docs", "binary"), Buffer.from([0, 255, 254, 1]), { "If-None-Match": "*", "Content-Type": "image/png" });
    await server.call("POST", "/v1/logs/large", { events: [{ data: "y".repeat(900_000) }] });
    await inTab(async ({ page, go, heading }) => {
      for (const kind of ["claims", "docs", "logs", "tallies"]) {
        await go(`#/${kind}`);
        await page.getByRole("table").waitFor();
        for (const name of names.slice(0, 3)) {
          await go(`#/${kind}`);
          await page.getByRole("searchbox").fill(name);
          await page.getByText(/^1 (claim|document|log|tally)$/).waitFor();
          await page.getByRole("link", { name }).click();
          await heading(name).waitFor();
        }
      }
      for (const name of names) {
        await go(`#/claims/${encodeURIComponent(name)}`);
        await heading(name).waitFor();
        await page.getByText("onerror").first().waitFor();
        await go(`#/docs/${encodeURIComponent(name)}`);
        await page.getByRole("region", { name: "Content" }).filter({ hasText: content }).waitFor();
        await go(`#/logs/${encodeURIComponent(name)}`);
        await page.getByRole("row").filter({ hasText: "a⟨U+0000⟩b⟨U+202E⟩c" }).waitFor();
        await page.getByRole("row").filter({ hasText: "onerror" }).click();
        await page.getByRole("heading", { name: "Event 1" }).waitFor();
      }
      await go(`#/claims/${encodeURIComponent(names[2])}`);
      await page.getByText("marks that cannot be seen").waitFor();
      await go("#/docs/large");
      await page.getByText("The first 200,000 characters").waitFor();
      await go("#/docs/binary");
      await page.getByText("00 ff fe 01").waitFor();
      await go("#/logs/large");
      await page.getByRole("row").click();
      await page.getByRole("heading", { name: "Event 1" }).waitFor();
      assert.equal(await page.locator("main img, main script, main iframe").count(), 0);
      for (const name of names) {
        await go(`#/claims/${encodeURIComponent(name)}`);
        await confirm(page, "Forget");
        await heading("Claims").waitFor();
        assert.equal((await server.call("GET", path("claims", name))).status, 404, name);
      }
    });
  });

  test("namespaces are chosen at the top, and are in the address", async () => {
    await server.complete("of-team-a", 1, { "Once-Namespace": "team-a" });
    await inTab(async ({ page, go, heading }) => {
      await go("#/claims");
      await heading("Claims").waitFor();
      await page.getByLabel("Namespace").focus();
      await page.locator("#namespaces option[value=team-a]").waitFor({ state: "attached" });
      await page.getByLabel("Namespace").fill("team-a");
      await page.keyboard.press("Enter");
      await page.getByRole("link", { name: "of-team-a" }).click();
      await heading(/of-team-a/).waitFor();
      assert.match(page.url(), /ns=team-a/);
      await page.reload();
      await heading(/of-team-a/).waitFor();
      await page.getByText("Done. Every caller").waitFor();
    });
  });

  test("a name that a browser takes for a step of the path is not asked for, and nothing else in its place", async () => {
    const ask = (method, key) => new Promise((done, failed) => {
      const request = http.request(server.url, { method, path: `/v1/claims/${key}` }, (response) => {
        response.resume().on("end", () => done(response.statusCode));
      });
      request.on("error", failed).end();
    });
    for (const key of [".", ".."]) assert.equal(await ask("POST", key), 201, key);
    await inTab(async ({ page, go, heading }) => {
      const asked = [];
      page.on("request", (request) => asked.push(new URL(request.url()).pathname));
      for (const view of ["claims", "logs", "docs", "tallies"]) {
        for (const key of [".", ".."]) {
          await go(`#/${view}/${encodeURIComponent(key)}`);
          await heading(key).waitFor();
          await page.getByText("Not in a browser").waitFor();
          assert.equal(await page.getByRole("button", { name: /Forget|Delete|Close/ }).count(), 0);
        }
      }
      await go("#/docs");
      await page.getByRole("button", { name: "New document" }).click();
      await page.getByLabel("Key").fill("..");
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByText("A browser cannot ask for").waitFor();
      assert.deepEqual(asked.filter((one) => /^\/v1\/?(claims\/|logs\/|docs\/|tallies\/|)$/.test(one)), []);
    });
    for (const key of [".", ".."]) assert.equal(await ask("GET", key), 200, key);
  });

  test("routes of events, workers and proxies are seen while they work", async () => {
    const directory = await mkdtemp(join(tmpdir(), "once-console-"));
    await writeFile(join(directory, "once.toml"), '[[route]]\ntype = "build.*"\nlog = "builds"\ntally = "per-type"\n');
    const own = await Server.start({ directory, args: ["--config", join(directory, "once.toml")] });
    const proxy = await own.startProxy();
    try {
      for (let time = 0; time < 2; time += 1) {
        assert.equal((await fetch(`${proxy.url}/v1/claims/through`, { method: "POST", headers: { "Idempotency-Key": "one" }, body: "{}" })).status, 201);
      }
      assert.equal((await fetch(`${proxy.url}/healthz`)).status, 200);
      const event = JSON.stringify({ specversion: "1.0", source: "/ci", id: "1", type: "build.done" });
      for (let time = 0; time < 3; time += 1) {
        assert.equal((await own.call("POST", "/v1/events", event, { "Content-Type": "application/cloudevents+json" })).status, 200);
      }
      // As a worker leaves it; workers themselves are tried on real brokers in testing/work.
      const now = new Date();
      const record = (host, more) => ({ kind: "work", name: "SQS queue jobs, dead letters in jobs-dead", host, pid: 4711, started_at: new Date(now - 7_200_000).toISOString(), at: now.toISOString(),
        in_flight: 8, done: 12_840, duplicates: 31, failed: 5, dead: 2, waiting: 1_204, lag_seconds: 90, ...more });
      for (const [host, more] of [["worker-1", {}], ["worker-2", { pid: 12, dead: 0, failed: 0, in_flight: 7 }], ["<b>3</b>", { name: "<img src=x onerror=alert(1)>", waiting: null, lag_seconds: null, dead: 0 }]]) {
        const put = await own.call("PUT", path("docs", `.once/workers/work/${host}/1-1`), record(host, more), { "If-None-Match": "*", "Once-TTL": "10m", "Content-Type": "application/json" });
        assert.equal(put.status, 201, put.text);
      }
      const told = await until(async () => (await own.call("GET", "/v1/workers?prefix=proxy/")).json.workers.find((one) => one.done > 0), "the proxy tells of itself");
      assert.deepEqual([told.pid, told.name, told.in_flight, told.done, told.duplicates, told.failed], [proxy.pid, own.url, 0, 2, 1, 0]);
      await inTab(async ({ page, go, heading }) => {
        const rows = page.getByRole("row");
        await go("#/events");
        const route = rows.filter({ hasText: "build.*" });
        await route.waitFor();
        assert.deepEqual((await route.getByRole("cell").allTextContents()).slice(4), ["1", "2", "0", "0"]);
        await route.getByRole("link", { name: "builds" }).click();
        await heading(/builds/).waitFor();
        await go("#/workers");
        await page.getByText("3 workers").waitFor();
        const worker = rows.filter({ hasText: "worker-1" });
        assert.deepEqual((await worker.getByRole("cell").allTextContents()).slice(1, 8), ["1,204", "1m 30s", "8", "12,840", "31", "5", "2"]);
        await rows.filter({ hasText: "<b>3</b>" }).filter({ hasText: "onerror" }).waitFor();
        assert.equal(await page.locator("main img, main b").count(), 0);
        await checkAccess(page, "workers");
        await page.getByRole("searchbox").fill("worker-");
        await page.getByText("2 workers").waitFor();
        await picture(page, "workers");
        const row = await worker.elementHandle();
        for (let look = 0; look < 2; look += 1) await page.waitForResponse(/\/v1\/workers/);
        assert.ok(await row.evaluate((one) => one.isConnected), "a row can be clicked while the list is looked at again");
        await worker.getByRole("link", { name: "2" }).click();
        await heading("Claims").waitFor();
        assert.equal(await page.getByLabel("State").inputValue(), "failed");
        await go("#/proxies");
        await rows.filter({ hasText: own.url }).filter({ hasText: `process ${proxy.pid}` }).waitFor();
      }, { on: own });
    } finally {
      proxy.kill();
      await own.end();
    }
  });

  test("a console that is open and idle costs the server less than a hundredth of a processor", async () => {
    const own = await Server.start();
    try {
      const spent = () => own.metric("process_cpu_seconds_total");
      await inTab(async ({ page, go, heading }) => {
        let asked = 0;
        page.on("request", () => ++asked);
        await go("");
        await heading("Overview").waitFor();
        const loaded = asked;
        await until(() => asked > loaded + 2, "it asks again");  // The first view is not idleness.
        // Of several rounds the best: what the server does besides, such as a sweep, is not the console's.
        const shares = [];
        do {
          const [before, since, already] = [await spent(), Date.now(), asked];
          await sleep(10_000);
          shares.push(((await spent()) - before) / ((Date.now() - since) / 1000));
          assert.ok(asked > already, "it goes on asking");
        } while (shares.at(-1) >= 0.01 && shares.length < 4);
        const text = shares.map((share) => `${(share * 100).toFixed(2)} %`).join(", ");
        assert.ok(shares.at(-1) < 0.01, `${text} of a processor`);
        console.log(`an idle console: ${text} of a processor`);
      }, { on: own });
    } finally {
      await own.end();
    }
  });

  test("a server that is started again is noticed, and the console goes on by itself", async () => {
    const own = await Server.start();
    try {
      await own.complete("before", "kept");
      const tab = await openTab(browser, own);
      await tab.go("#/claims");
      await tab.page.getByRole("link", { name: "before" }).waitFor();
      await own.stop();
      await tab.page.getByText("The server does not answer").waitFor();
      await own.startAgain();
      await tab.page.getByText("The server does not answer").waitFor({ state: "hidden" });
      await own.complete("afterwards", 1);
      await tab.page.getByRole("button", { name: "Refresh" }).click();
      await tab.page.getByRole("link", { name: "afterwards" }).waitFor();
      // What it asked for meanwhile had no answer, or that the server stops.
      assert.deepEqual(tab.wrong.filter((one) => !/ERR_|Failed to fetch|status of 503/.test(one)), []);
      await tab.close();
    } finally {
      await own.end();
    }
  });

  test("with tokens it asks for one, keeps it in the tab alone, and shows each only what it may do", async () => {
    const own = await Server.start();
    try {
      const make = async (body, headers) => (await own.call("POST", "/v1/tokens", body, headers)).json;
      const admin = (await make({ label: "admin" })).token;
      const bearer = { Authorization: `Bearer ${admin}` };
      const reader = (await make({ label: "reader", read_only: true }, bearer)).token;
      const writer = (await make({ label: "writer", namespace: "team" }, bearer)).token;
      const doomed = await make({ label: "doomed" }, bearer);
      await own.fail("job", "broken", bearer);
      await own.fail("job", "broken", { ...bearer, "Once-Namespace": "team" });
      const signIn = async (page, token) => {
        await page.getByLabel("Token").fill(token);
        await page.keyboard.press("Enter");
      };

      await inTab(async ({ page, go, heading }) => {
        await go("#/claims/job");
        await page.getByLabel("Token").waitFor();
        assert.doesNotMatch(await page.content(), /rocksdb|once-console-/);
        await checkAccess(page, "the question for a token");
        await signIn(page, "once_wrong");
        await page.getByText("does not know this token").waitFor();
        await signIn(page, reader);
        await heading(/job/).waitFor();
        await page.getByText("broken").waitFor();
        for (const name of ["Forget", "Retry", "Release"]) assert.equal(await page.getByRole("button", { name }).count(), 0, name);
        await page.getByRole("navigation").getByRole("link", { name: "Tokens" }).click();
        await page.getByText("Not for this token").waitFor();
        await page.reload();
        await heading("Tokens").waitFor();
        assert.deepEqual(await page.evaluate(() => [document.cookie, localStorage.length]), ["", 0]);
        // A slow answer: the console must not go on asking without a token.
        await page.route("**/v1/whoami", async (route) => {
          await sleep(kLook);
          return route.continue();
        });
        await page.getByRole("button", { name: "Sign out" }).click();
        await page.getByLabel("Token").waitFor();
      }, { on: own });

      await inTab(async ({ page, go }) => {
        await go("#/claims/job");
        await signIn(page, writer);
        await page.getByText("Namespace team").waitFor();
        await confirm(page, "Retry");
        await page.getByText("Free for another attempt").waitFor();
        const states = await Promise.all(["team", "default"].map(async (name) => (await own.call("GET", path("claims", "job"), undefined, { ...bearer, "Once-Namespace": name })).json.state));
        assert.deepEqual(states, ["free", "failed"]);
        await go("#/");
        await page.getByText("Charts and warnings are those of the whole server").waitFor();
        await page.getByRole("heading", { name: "Failed claims" }).waitFor();
      }, { on: own });

      await inTab(async ({ page, go }) => {
        await go("#/tokens");
        await signIn(page, admin);
        await page.getByRole("row").filter({ hasText: "reader" }).waitFor();
        await page.getByRole("button", { name: "New token" }).click();
        await page.getByLabel("Label").fill("made <b>here</b>");
        await page.getByLabel("Read-only").check();
        await page.getByLabel("Expires after").fill("90d");
        await page.getByRole("button", { name: "Create" }).click();
        const secret = await page.getByText(/^once_/).textContent();
        await page.getByRole("button", { name: "Done" }).click();
        assert.equal((await own.call("GET", "/v1/claims", undefined, { Authorization: `Bearer ${secret}` })).status, 200);
        await page.getByRole("row").filter({ hasText: "made <b>here</b>" }).waitFor();
        assert.equal(await page.getByText(secret).count(), 0, "it is shown once");
        await checkAccess(page, "tokens");
        await picture(page, "tokens");
        await page.getByRole("row").filter({ hasText: "doomed" }).getByRole("button", { name: "Revoke" }).click();
        await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
        await page.getByRole("row").filter({ hasText: "doomed" }).waitFor({ state: "detached" });
        assert.equal((await own.call("GET", "/v1/claims", undefined, { Authorization: `Bearer ${doomed.token}` })).status, 401);
      }, { on: own });
    } finally {
      await own.end();
    }
  });
});
