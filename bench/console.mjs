#!/usr/bin/env node
// console.mjs: how the console feels, in Debian's Chromium beside a real server. Prints a row for each bar with its target and
// verdict, and exits with 1 if one is missed. `ONCE_BINARY=build/release/once bench/console.mjs`; figures say something on a
// quiet machine only. Needs what scripts/install-servers gets.
import { openTab, Server, startBrowser } from "../testing/console/harness.mjs";

const kRounds = 9;
const kClaims = 10_000;
const kPages = 20;
const kSeconds = 10;
const kEventsPerSecond = 1_000;
const kAppendsPerSecond = 20;

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

let missed = 0;
function row(what, value, target) {
  if (value > target) ++missed;
  console.log(`${what.padEnd(64)} ${value.toFixed(0).padStart(6)} ms   at most ${target} ms   ${value > target ? "MISSED" : "met"}`);
}

/** From the click on a link to it until the overview and what it says of the store are in the document. */
async function firstView(tab) {
  await tab.page.addInitScript(() => {
    window.shown = new Promise((done) => {
      new MutationObserver(() => document.body?.textContent.includes("rocksdb") && done(performance.now())).observe(document, { childList: true, subtree: true, characterData: true });
    });
  });
  await tab.go("");
  return tab.page.evaluate(() => window.shown);
}

/** Begins to note how long the page was busy at a time, which is how long a click or a frame had to wait. */
const watchTasks = (page) => page.evaluate(() => {
  window.longestTask = 0;
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) window.longestTask = Math.max(window.longestTask, task.duration);
  }).observe({ entryTypes: ["longtask"] });
});
const longestTask = (page) => page.evaluate(() => window.longestTask);

const server = await Server.start();
const browser = await startBrowser();
/** In a tab with an empty cache. */
async function inTab(use) {
  const tab = await openTab(browser, server);
  try {
    return await use(tab);
  } finally {
    await tab.close();
  }
}

try {
  const times = [];
  for (let round = 0; round <= kRounds; ++round) times.push(await inTab(firstView));
  row(`first view, median of ${kRounds}`, median(times.slice(1)), 200);  // The browser's own start is in the first.

  await server.claimAll(Array.from({ length: kClaims }, (_, number) => `job-${number}`), { owner: "worker-9", lease: "1h" });
  await inTab(async ({ page, go }) => {
    await go("#/claims?prefix=job-");
    await page.getByText("100 claims on page 1").waitFor();
    await watchTasks(page);
    for (let number = 2; number <= kPages; ++number) {
      await page.getByRole("button", { name: "Next page" }).click();
      await page.getByText(`100 claims on page ${number}`).waitFor();
      await page.mouse.wheel(0, 2_000);
    }
    row(`${kClaims.toLocaleString("en")} claims, ${kPages} pages of them: the page was busy for`, await longestTask(page), 100);
  });

  await inTab(async ({ page, go }) => {
    const each = kEventsPerSecond / kAppendsPerSecond;
    const append = (from) => server.call("POST", "/v1/logs/live", { events: Array.from({ length: each }, (_, number) => ({ data: { n: from + number } })) });
    await append(1);
    await go("#/logs/live");
    await page.getByRole("table").getByRole("row").filter({ hasText: `{"n":${each}}` }).waitFor();
    await watchTasks(page);
    const began = Date.now();
    const last = kSeconds * kEventsPerSecond;
    for (let from = each + 1, turn = 1; from <= last; from += each, ++turn) {
      await append(from);
      await sleep(Math.max(0, began + (1_000 / kAppendsPerSecond) * turn - Date.now()));
    }
    const appended = Date.now();
    await page.getByRole("table").getByRole("row").filter({ hasText: `{"n":${last}}` }).waitFor();
    row(`tail of ${(last / (appended - began) * 1_000).toFixed(0)} events a second: behind the last by`, Date.now() - appended, 500);
    row("the page was busy for", await longestTask(page), 100);
  });
} finally {
  await browser.close();
  await server.end();
}
process.exit(missed > 0 ? 1 : 0);
