// What works beside what is stored: routes of events, workers on queues, and proxies.
import { get, listPage, session } from "./api.js";
import { h, show } from "./dom.js";
import { duration, number, visible } from "./format.js";
import { listView } from "./list.js";
import { emptyBox, errorBox, every, heading, here, isLeft, keyLink, loadingBox, timeText } from "./page.js";

/** @typedef {import("./page.js").Context} Context */
/** @typedef {import("./api.js").EventRoute} EventRoute */
/** @typedef {import("./api.js").Worker} Worker */

const kEvery = 5_000;

/** @param {Context} context */
export function eventsView({ main, signal }) {
  const room = h("div", null, loadingBox());
  show(main, heading("Events"), h("p", { class: "muted" }, "Where events go by their type, and what came of them since the server started. The first route that matches counts."), room);
  if (session.bound) {
    show(room, emptyBox("Not for this token", "Routes are seen with a token for all namespaces."));
    return;
  }
  async function load() {
    try {
      const { routes } = await get("/v1/routes", { signal });
      show(room, tableOf(routes));
    } catch (error) {
      if (!isLeft(error, signal)) show(room, errorBox(error, load));
    }
  }
  load();
  every(kEvery, signal, load);
}

const kNone = () => h("span", { class: "muted" }, "–");

/** @param {EventRoute[]} routes */
function tableOf(routes) {
  if (routes.length === 0) {
    return emptyBox("No routes", "Events are known again by their id, and go nowhere. Routes are in the server's file: ", h("code", null, "[[route]]"), ".");
  }
  const names = ["Type", "Forwarded to", "Log", "Tally"];
  const counts = /** @type {const} */ (["processed", "skipped", "busy", "failed"]);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Routes of events" }, h("table", { "aria-label": "Routes" },
    h("thead", null, h("tr", null, names.map((name) => h("th", { scope: "col" }, name)),
      counts.map((name) => h("th", { scope: "col", class: "number" }, name[0].toUpperCase() + name.slice(1))))),
    h("tbody", null, routes.map((route) => h("tr", null,
      h("td", null, h("bdi", { class: "key", dir: "ltr" }, visible(route.type))),
      h("td", null, route.forward ? h("bdi", { class: "mono", dir: "ltr" }, visible(route.forward)) : kNone()),
      h("td", null, route.log ? keyLink("logs", route.log) : kNone()),
      h("td", null, route.tally ? keyLink("tallies", route.tally) : kNone()),
      counts.map((name) => h("td", { class: name === "failed" && route.failed > 0 ? "number bad" : "number" }, number(route[name]))))))));
}

/**
 * What it is for, who it is and since when.
 * @param {Worker} one
 */
const whoOf = (one) => h("div", null, h("bdi", { class: "key", dir: "ltr" }, visible(one.name)),
  h("div", { class: "muted small" }, h("bdi", null, visible(one.host)), `, process ${one.pid}, started `, timeText(one.started_at), ", told ", timeText(one.at)));

/** @param {string} name @param {(one: Worker) => import("./dom.js").Child} cell */
const numberColumn = (name, cell) => ({ name, cell, class: "number" });

/** @param {Context} context */
export function workersView(context) {
  listView(context, {
    view: "workers",
    title: "Workers",
    what: "workers",
    one: "worker",
    every: kEvery,
    columns: [
      { name: "Queue", cell: whoOf },
      numberColumn("Waiting", (one) => (one.waiting === null ? kNone() : number(one.waiting))),
      numberColumn("Lag", (one) => (one.lag_seconds === null ? kNone() : h("span", { class: "short" }, duration(one.lag_seconds)))),
      numberColumn("In flight", (one) => number(one.in_flight)),
      numberColumn("Handled", (one) => number(one.done)),
      numberColumn("Duplicates", (one) => number(one.duplicates)),
      numberColumn("Failed", (one) => number(one.failed)),
      numberColumn("Dead letters", (one) => (one.dead > 0 ? h("a", { href: here("claims", null, { state: "failed" }), class: "bad" }, number(one.dead)) : number(0))),
    ],
    load: (query, page) => listPage("/v1/workers", "workers", { prefix: `work/${query.prefix ?? ""}` }, page),
    empty: ["A worker appears some seconds after it starts in this namespace: ", h("code", null, "once work QUEUE -- COMMAND"), ". It is searched by its host."],
  });
}

/** @param {Context} context */
export function proxiesView(context) {
  listView(context, {
    view: "proxies",
    title: "Proxies",
    what: "proxies",
    one: "proxy",
    every: kEvery,
    columns: [
      { name: "Upstream", cell: whoOf },
      numberColumn("In flight", (one) => number(one.in_flight)),
      numberColumn("Answered", (one) => number(one.done)),
      numberColumn("Replayed", (one) => number(one.duplicates)),
      numberColumn("Failed", (one) => number(one.failed)),
    ],
    load: (query, page) => listPage("/v1/workers", "workers", { prefix: `proxy/${query.prefix ?? ""}` }, page),
    empty: ["A proxy appears some seconds after it starts in this namespace: ", h("code", null, "once proxy --upstream URL"), ". It is searched by its host."],
  });
}
