// The overview: what runs here, how it goes, what is stuck.
import { call, get, session, withQuery } from "./api.js";
import { lineChart } from "./chart.js";
import { h, show } from "./dom.js";
import { bytes, duration, latency, number, oneLine, visible } from "./format.js";
import { History } from "./history.js";
import { parseMetrics, total } from "./metrics.js";
import { every, heading, here, isLeft, keyLink, timeText } from "./page.js";

/** @typedef {import("./api.js").Finding} Finding */
/** @typedef {import("./metrics.js").Samples} Samples */

const kEvery = 3_000;
const kShown = ["executed", "replayed", "busy", "mismatch", "fenced", "taken_over"];
const kPrimitives = ["claims", "seen", "log", "documents", "tallies", "effects", "events"];
const kLines = 6;  // As many as there are colours.

const history = new History();
/** @type {Samples | null} */
let latest = null;
const drawn = new EventTarget();

/** Looks at /metrics; to be called now and then while the tab is seen. */
export async function sample() {
  const text = await (await call("GET", "/metrics", { headers: { Accept: "text/plain" } })).text();
  latest = parseMetrics(text);
  drawn.dispatchEvent(new Event("drawn"));
}

/** @param {string} name */
const words = (name) => name.replaceAll("_", " ");

/** @param {import("./page.js").Context} context */
export function overviewView({ main, signal }) {
  const warnings = h("div", { class: "warnings" });
  const facts = h("dl", { class: "tiles" });
  const charts = h("div", { class: "charts" });
  const counts = h("div");
  const stuck = h("div", { class: "columns" });
  show(main, heading("Overview"), warnings, facts, stuck, charts, counts);

  const drawFacts = () => signal.aborted || show(facts, factsOf(latest ?? undefined));

  function drawCharts() {
    if (signal.aborted) return;
    const range = history.range(Date.now());
    /** @param {string} label @param {import("./chart.js").Series[]} series @param {(value: number) => string} format */
    const chart = (label, series, format) => lineChart({ label, series, ...range, format });
    show(charts,
      chart("Operations a second", [{ name: "all", points: history.rates({}) }], number),
      chart("Latency of requests", [{ name: "p50", points: history.latencies("p50_seconds") }, { name: "p99", points: history.latencies("p99_seconds") }], latency),
      chart("Outcomes a second", kShown.map((outcome) => ({ name: words(outcome), points: history.rates({ outcome }) })), number),
      history.primitives().map((primitive) => chart(`Outcomes of ${primitive} a second`,
        history.outcomesOf(primitive, kLines).map((outcome) => ({ name: words(outcome), points: history.rates({ primitive, outcome }) })), number)));
    show(counts, outcomeTable(history.samples.at(-1)));
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

  async function lookBack() {
    history.take(await get(withQuery("/v1/history", { after: history.after }), { signal, namespace: "" }), Date.now());
    drawCharts();
  }

  async function examine() {
    const { findings } = await get("/v1/doctor", { signal, namespace: "" });
    if (!signal.aborted) show(warnings, findingsBox(findings));
  }

  drawFacts();
  drawn.addEventListener("drawn", drawFacts, { signal });
  look().catch(() => {});
  every(15_000, signal, look);
  sample().catch(() => {});
  if (session.bound) {
    show(charts, h("p", { class: "muted" }, "Charts and warnings are those of the whole server: they are seen with a token for all namespaces."));
    return;
  }
  drawCharts();
  lookBack().catch(() => {});
  every(history.every, signal, lookBack);
  examine().catch(() => {});
  every(15_000, signal, examine);
}

/**
 * What `once doctor` warns of, with the remedies.
 * @param {Finding[]} findings
 */
function findingsBox(findings) {
  const wrong = findings.filter((one) => one.level !== "ok");
  if (wrong.length === 0) return h("p", { class: "muted" }, h("code", null, "once doctor"), " finds nothing to warn of.");
  return h("ul", { class: "findings", "aria-label": "Warnings of once doctor" }, wrong.map((one) =>
    h("li", { class: one.level === "problem" ? "warning problem" : "warning" },
      h("span", null, h("b", null, `${visible(one.check)}: `), h("bdi", null, visible(one.detail))),
      one.remedy && h("span", null, "Remedy: ", h("bdi", null, visible(one.remedy))))));
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

/** @param {import("./history.js").Sample | undefined} latest */
function outcomeTable(latest) {
  return h("section", null, h("h2", null, "Outcomes a second, by primitive"),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Outcomes by primitive" }, h("table", { "aria-label": "Outcomes a second" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Primitive"), kShown.map((outcome) => h("th", { scope: "col", class: "number" }, words(outcome))))),
      h("tbody", null, kPrimitives.map((primitive) => h("tr", null, h("th", { scope: "row" }, primitive),
        kShown.map((outcome) => h("td", { class: "number" }, number((latest?.outcomes[primitive]?.[outcome] ?? 0) / (latest?.seconds ?? 1))))))))));
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
