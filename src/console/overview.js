// The overview: what runs here, how it goes, what is stuck.
import { call, get, session, withQuery } from "./api.js";
import { lineChart } from "./chart.js";
import { h, show } from "./dom.js";
import { bytes, duration, latency, number, oneLine } from "./format.js";
import { buckets, History, parseMetrics, quantile, rate, total } from "./metrics.js";
import { every, heading, here, isLeft, keyLink, timeText } from "./page.js";

/** @typedef {import("./metrics.js").Samples} Samples */

const kEvery = 3_000;
const kShown = ["executed", "replayed", "busy", "mismatch", "fenced", "taken_over"];
const kPrimitives = ["claims", "seen", "log", "documents", "tallies", "effects", "events"];

/** Samples of the last quarter of an hour, kept while the page is open. */
const history = new History();
/** @type {{ at: number, samples: Samples } | null} */
let latest = null;
/** @type {Record<string, Record<string, number>>} by primitive and outcome, a second */
let outcomes = {};
const drawn = new EventTarget();

/** Looks at /metrics; to be called now and then while the tab is seen. */
export async function sample() {
  const text = await (await call("GET", "/metrics", { headers: { Accept: "text/plain" } })).text();
  const samples = parseMetrics(text);
  const at = Date.now();
  if (latest) compare(latest, { at, samples });
  latest = { at, samples };
  drawn.dispatchEvent(new Event("drawn"));
}

/** @param {{ at: number, samples: Samples }} before @param {{ at: number, samples: Samples }} after */
function compare(before, after) {
  const seconds = (after.at - before.at) / 1000;
  if (seconds > 60) history.add(before.at + 1, {});  // A gap: the tab was not seen.
  const name = "once_outcomes_total";
  const of = (/** @type {(labels: Record<string, string>) => boolean} */ keep) => rate(total(before.samples, name, keep), total(after.samples, name, keep), seconds);
  const commits = /** @type {const} */ ([buckets(before.samples, "once_store_commit_seconds"), buckets(after.samples, "once_store_commit_seconds")]);
  /** @type {Record<string, number>} */
  const values = { operations: of((labels) => labels.primitive !== "other"), p50: quantile(...commits, 0.5), p99: quantile(...commits, 0.99) };
  outcomes = {};
  for (const primitive of kPrimitives) {
    outcomes[primitive] = {};
    for (const outcome of kShown) outcomes[primitive][outcome] = of((labels) => labels.primitive === primitive && labels.outcome === outcome);
  }
  for (const outcome of kShown) values[outcome] = of((labels) => labels.primitive !== "other" && labels.outcome === outcome);
  history.add(after.at, values);
}

/** @param {import("./page.js").Context} context */
export function overviewView({ main, signal }) {
  const warnings = h("div", { class: "warnings" });
  const facts = h("dl", { class: "tiles" });
  const charts = h("div", { class: "charts" });
  const counts = h("div");
  const stuck = h("div", { class: "columns" });
  show(main, heading("Overview"), warnings, facts, stuck, charts, counts);

  function draw() {
    if (signal.aborted) return;
    show(warnings, latest ? warningsOf(latest.samples).map((text) => h("p", { class: "warning" }, text)) : []);
    show(facts, factsOf(latest?.samples));
    const to = Date.now();
    const from = Math.max(to - history.span, Math.min(history.points[0]?.at ?? to, to - 120_000));
    const series = (/** @type {string} */ name, /** @type {string} */ shown) => ({ name: shown, points: history.series(name) });
    show(charts,
      lineChart({ label: "Operations a second", series: [series("operations", "all")], from, to, format: number }),
      lineChart({ label: "Commit latency", series: [series("p50", "p50"), series("p99", "p99")], from, to, format: latency }),
      lineChart({ label: "Outcomes a second", series: kShown.map((name) => series(name, name.replace("_", " "))), from, to, format: number }));
    show(counts, outcomeTable());
  }

  async function look() {
    try {
      const options = { signal };
      const [abandoned, failed, hot] = await Promise.all([
        get(withQuery("/v1/claims", { state: "abandoned", limit: 5 }), options),
        get(withQuery("/v1/claims", { state: "failed", limit: 5 }), options),
        get("/v1/hot", options),
      ]);
      if (signal.aborted) return;
      show(stuck, claimsBox("Abandoned claims", "abandoned", abandoned.claims), claimsBox("Failed claims", "failed", failed.claims), hotBox(hot.keys.slice(0, 5)));
    } catch (error) {
      if (!isLeft(error, signal)) throw error;
    }
  }

  draw();
  drawn.addEventListener("drawn", draw, { signal });
  look().catch(() => {});
  every(15_000, signal, look);
  sample().catch(() => {});
}

/** @param {Samples | undefined} samples */
function factsOf(samples) {
  const one = (/** @type {string} */ name) => (samples ? total(samples, name) : undefined);
  const started = one("process_start_time_seconds");
  const [engine, ...rest] = session.store.split(", ");
  const rows = /** @type {[string, string | undefined, string?][]} */ ([
    ["Store", session.store ? engine.split(" ")[0] : undefined, rest.join(", ")],
    ["Version", samples?.get("once_build_info")?.[0]?.labels.version],
    ["Uptime", started && duration(Date.now() / 1000 - started)],
    ["Items", one("once_store_items")?.toLocaleString("en")],
    ["Free disk", one("once_store_free_bytes") !== undefined ? bytes(one("once_store_free_bytes") ?? 0) : undefined],
    ["Abandoned claims", one("once_claims_abandoned")?.toLocaleString("en")],
  ]);
  return rows.filter(([, value]) => value !== undefined).map(([name, value, more]) =>
    h("div", null, h("dt", null, name), h("dd", null, value, more && h("small", null, more))));
}

/**
 * What `once doctor` would say of these numbers.
 * @param {Samples} samples
 */
function warningsOf(samples) {
  const one = (/** @type {string} */ name) => total(samples, name);
  const found = [];
  if ((one("once_store_free_bytes") ?? Infinity) < 2 ** 30) found.push(`The store has only ${bytes(one("once_store_free_bytes") ?? 0)} of disk left.`);
  if (one("once_engine_writes_stopped")) found.push("The storage engine has stopped writes: compactions do not keep up.");
  if ((one("process_max_fds") ?? Infinity) < 4_096) found.push("The server may open fewer than 4,096 files. Raise LimitNOFILE.");
  const errors = total(samples, "idempotency_errors_total", (labels) => labels.reason === "corrupt");
  if (errors) found.push(`${number(errors)} requests met a damaged record. Run once verify.`);
  return found;
}

function outcomeTable() {
  return h("section", null, h("h2", null, "Outcomes a second, by primitive"),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Outcomes by primitive" }, h("table", { "aria-label": "Outcomes a second" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Primitive"), kShown.map((outcome) => h("th", { scope: "col", class: "number" }, outcome.replace("_", " "))))),
      h("tbody", null, kPrimitives.map((primitive) => h("tr", null, h("th", { scope: "row" }, primitive),
        kShown.map((outcome) => h("td", { class: "number" }, number(outcomes[primitive]?.[outcome] ?? 0)))))))));
}

/** @param {string} title @param {string} state @param {import("./api.js").Claim[]} claims */
function claimsBox(title, state, claims) {
  return h("section", { class: "card" }, h("h2", null, title), h("a", { class: "more", href: here("claims", null, { state }), "aria-label": `See all ${state}` }, "See all"),
    claims.length === 0 ? h("p", { class: "muted" }, "None.") : h("ul", { class: "plain" }, claims.map((claim) =>
      h("li", null, keyLink("claims", claim.key), h("span", { class: "muted" },
        claim.state === "abandoned" ? h("span", null, "lease ended ", timeText(claim.lease_until)) : oneLine(claim.failure, 60))))));
}

/** @param {{ key: string, conflicts: number }[]} keys */
function hotBox(keys) {
  return h("section", { class: "card" }, h("h2", null, "Hottest keys"), h("a", { class: "more", href: here("hot"), "aria-label": "See all conflicts" }, "See all"),
    keys.length === 0 ? h("p", { class: "muted" }, "No conflicts of late.") : h("ul", { class: "plain" }, keys.map((one) =>
      h("li", null, h("bdi", { class: "key", dir: "ltr" }, one.key), h("span", { class: "muted" }, ` ${number(one.conflicts)} conflicts`)))));
}

export { kEvery as kSampleEvery };
