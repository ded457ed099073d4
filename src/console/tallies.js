// Tallies: the list, and one tally as a number, a chart, a list of the heaviest, or a question.
import { call, encoded, get, listPage, session, withQuery } from "./api.js";
import { bucketChart, lineChart } from "./chart.js";
import { button, field, h, show } from "./dom.js";
import { number, oneLine } from "./format.js";
import { SeenPoints } from "./history.js";
import { listView } from "./list.js";
import { ask, emptyBox, errorBox, every, here, isLeft, itemHeading, keyLink, loadingBox, messageOf, replaceAddress, tell } from "./page.js";

/** @typedef {import("./api.js").Tally} Tally */
/** @typedef {import("./page.js").Context} Context */
/** @typedef {{ item: string, count: number, error: number }} Heavy */

const kRanges = ["1h", "6h", "24h", "7d", "30d"];

/** @param {Context} context */
export function talliesView(context) {
  listView(context, {
    view: "tallies",
    title: "Tallies",
    what: "tallies",
    one: "tally",
    columns: [
      { name: "Key", cell: (tally) => keyLink("tallies", tally.key) },
      { name: "Kind", cell: (tally) => tally.kind },
      { name: "Window", cell: (tally) => tally.window ?? h("span", { class: "muted" }, "none") },
    ],
    load: (query, page) => listPage("/v1/tallies", "tallies", { prefix: query.prefix }, page),
    empty: ["A tally appears with its first number: ", h("code", null, "once tally add KEY N"), "."],
  });
}

/**
 * The one of this very key.
 * @param {string} key
 * @param {AbortSignal} signal
 * @returns {Promise<Tally | undefined>}
 */
async function find(key, signal) {
  /** @type {{ rows: Tally[] }} */
  const { rows } = await listPage("/v1/tallies", "tallies", { prefix: key }, { limit: 100, cursor: null, signal });
  return rows.find((tally) => tally.key === key);
}

/** @param {Context} context */
export function tallyView({ main, address, signal }) {
  const key = address.name ?? "";
  const buttons = h("span", { class: "actions" });
  const room = h("div", null, loadingBox());
  let looking = new AbortController();
  signal.addEventListener("abort", () => looking.abort());
  show(main, itemHeading("Tally", "tallies", key, buttons), room);

  async function start() {
    looking = new AbortController();
    try {
      const tally = await find(key, signal);
      if (!tally) {
        show(room, emptyBox("No such tally", "It was removed, or all of it has expired. ", h("a", { href: here("tallies") }, "All tallies")));
        return;
      }
      show(buttons, session.mayWrite && button("Delete", () => askToDelete(key, () => looking.abort(), start), { class: "danger" }));
      if (tally.kind === "bloom") drawBloom(room, key, signal);
      else drawValue(tally);
    } catch (error) {
      if (!isLeft(error, signal)) show(room, errorBox(error, start));
    }
  }

  /** @param {Tally} tally */
  function drawValue(tally) {
    const body = h("div", null, loadingBox());
    const range = h("select", null, h("option", { value: "" }, "all that is kept"), kRanges.map((one) => h("option", { value: one }, `last ${one}`)));
    range.value = address.query.last ?? "";
    range.addEventListener("change", () => {
      replaceAddress(here("tallies", key, { last: range.value }));
      load();
    });
    show(room, h("p", { class: "muted" }, `${tally.kind}${tally.window ? `, one for each ${tally.window}` : ""}`), tally.window && field("Range", range), body);
    const seen = new SeenPoints();
    const mine = looking.signal;
    const load = async () => {
      try {
        const path = `/v1/tallies/${encoded(key)}`;
        const options = { signal: mine };
        const value = await get(withQuery(path, { last: range.value, limit: tally.kind === "top" ? 50 : undefined }), options);
        const series = tally.window && tally.kind !== "top" ? await get(withQuery(path, { last: range.value, series: "true" }), options) : null;
        seen.add(Date.now(), { value: Number(value.value) });
        show(body, tally.kind === "top" ? topBars(value.value) : h("p", { class: "big" }, exact(value.value)),
          series && seriesChart(tally, series.series), !series && tally.kind !== "top" && h("div", { class: "charts" }, valueChart(seen)));
      } catch (error) {
        if (!isLeft(error, mine)) show(body, errorBox(error, load));
      }
    };
    load();
    every(5_000, mine, load);
  }

  start();
}

/**
 * Every digit.
 * @param {unknown} value
 */
function exact(value) {
  return typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 6 }) : oneLine(value);
}

/**
 * A tally without windows has no past: it is drawn from when this view was opened.
 * @param {SeenPoints} seen
 */
function valueChart(seen) {
  const to = Date.now();
  const from = Math.min(seen.points[0]?.at ?? to, to - 60_000);
  return lineChart({ label: "Since this view was opened", series: [{ name: "value", points: seen.series("value") }], from, to, format: number });
}

const kWindows = /** @type {Record<string, number>} */ ({ minute: 60_000, hour: 3_600_000, day: 86_400_000 });

/**
 * How long a bucket is.
 * @param {string} window
 */
export function windowLength(window) {
  if (kWindows[window]) return kWindows[window];
  const parts = /^(\d+)(ms|s|m|h|d)$/.exec(window);
  const units = /** @type {Record<string, number>} */ ({ ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 });
  return parts ? Number(parts[1]) * units[parts[2]] : 60_000;
}

/** @param {Tally} tally @param {{ at: string, value: number }[]} series */
function seriesChart(tally, series) {
  const width = windowLength(tally.window ?? "");
  const points = series.slice(-2_000).map((one) => ({ at: Date.parse(one.at), value: Number(one.value) }));
  if (points.length === 0) return emptyBox("Nothing in this range", "Choose a longer one.");
  const to = points[points.length - 1].at + width;
  const from = Math.min(points[0].at, to - 20 * width);
  return h("div", null, bucketChart({ label: `${tally.kind} by ${tally.window}`, points, width, from, to, format: number }),
    h("details", null, h("summary", null, "As a table"), h("div", { class: "scroll" }, h("table", { "aria-label": "Buckets" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "From"), h("th", { scope: "col", class: "number" }, tally.kind))),
      h("tbody", null, series.slice(-200).reverse().map((one) => h("tr", null, h("td", null, one.at), h("td", { class: "number" }, exact(one.value)))))))));
}

/** @param {Heavy[]} items */
function topBars(items) {
  const most = Math.max(1, ...items.map((one) => one.count));
  return h("ol", { class: "bars" }, items.map((one) => h("li", null, h("bdi", { class: "key" }, oneLine(one.item, 120)),
    h("div", { class: "meter" }, h("div", { class: "fill", style: { width: `${(one.count / most) * 100}%` } })),
    h("span", { class: "number" }, number(one.count), one.error > 0 && h("span", { class: "muted" }, ` (at most ${number(one.error)} too many)`)))));
}

/** @param {HTMLElement} room @param {string} key @param {AbortSignal} signal */
function drawBloom(room, key, signal) {
  const item = h("input", { type: "text", required: true, spellcheck: "false", autocomplete: "off" });
  const answer = h("p", { role: "status" });
  const form = h("form", null, field("Item", item), h("button", { type: "submit", class: "primary" }, "Check"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const { value } = await get(withQuery(`/v1/tallies/${encoded(key)}`, { item: item.value }), { signal });
      show(answer, h("span", { class: value ? "badge busy" : "badge" }, value ? "probably in it" : "certainly not in it"), " ", h("bdi", { class: "key" }, oneLine(item.value, 120)));
    } catch (error) {
      if (!isLeft(error, signal)) show(answer, h("span", { class: "error" }, messageOf(error)));
    }
  });
  show(room, h("p", { class: "muted" }, "A bloom filter cannot be listed; it answers whether an item was added to it."), form, answer);
}

/**
 * Nothing looks at the tally meanwhile: one that is being deleted would be reported as missing.
 * @param {string} key @param {() => void} stop @param {() => void} goOn
 */
function askToDelete(key, stop, goOn) {
  ask({
    title: "Delete this tally?",
    text: h("p", null, "Its numbers and the ids that it counted go. An id that comes again is counted again. This cannot be undone."),
    action: "Delete",
    danger: true,
    run: async () => {
      stop();
      try {
        await call("DELETE", `/v1/tallies/${encoded(key)}`);
      } catch (error) {
        goOn();
        throw error;
      }
      tell(`${key} was deleted`);
      location.hash = here("tallies");
    },
  });
}
