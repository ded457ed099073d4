// The page: navigation, the chosen namespace, the token, and which view is shown.
import { parseAddress } from "./address.js";
import { get, isStep, learnAccess, listeners, session, withQuery } from "./api.js";
import { claimsView, claimView } from "./claims.js";
import { button, field, h, show } from "./dom.js";
import { docsView, docView } from "./docs.js";
import { hotView } from "./hot.js";
import { auditView, logsView, logView } from "./logs.js";
import { kSampleEvery, overviewView, sample } from "./overview.js";
import { eventsView, proxiesView, workersView } from "./operators.js";
import { emptyBox, every, heading, here, itemHeading, messageOf } from "./page.js";
import { talliesView, tallyView } from "./tallies.js";
import { tokensView } from "./tokens.js";

/** @typedef {import("./page.js").Context} Context */
/** @typedef {{ name: string, list: (context: Context) => void, item?: (context: Context) => void }} View */

/** @type {Record<string, View>} */
const kViews = {
  "": { name: "Overview", list: overviewView },
  claims: { name: "Claims", list: claimsView, item: claimView },
  logs: { name: "Logs", list: logsView, item: logView },
  docs: { name: "Documents", list: docsView, item: docView },
  tallies: { name: "Tallies", list: talliesView, item: tallyView },
  hot: { name: "Hot keys", list: hotView },
  events: { name: "Events", list: eventsView },
  workers: { name: "Workers", list: workersView },
  proxies: { name: "Proxies", list: proxiesView },
  tokens: { name: "Tokens", list: tokensView },
  audit: { name: "Audit", list: auditView },
};

/** What shows an item in the shell, by view.
 * @type {Record<string, string>}
 */
const kShell = { claims: "claim show", logs: "log read", docs: "doc get", tallies: "tally read" };

const main = h("main", { id: "main", tabindex: "-1" });
const links = h("ul");
const banner = h("div", { class: "banner", role: "status", hidden: true });
const place = h("div", { class: "place" });
let leaving = new AbortController();
let isFirst = true;

function layOut() {
  show(links, Object.entries(kViews).map(([view, { name }]) => h("li", null, h("a", { href: `#/${view}`, "data-view": view }, name))));
  show(document.body,
    h("a", { class: "skip", href: "#main", onclick: skip }, "Skip to the content"),
    h("header", { class: "top" }, h("a", { class: "brand", href: "#/" }, h("img", { src: "/console/icon.svg", alt: "", width: 24, height: 24 }), "Once"), place),
    h("nav", { class: "views", "aria-label": "Views" }, links), banner, main, h("div", { id: "told", role: "status", "aria-live": "polite" }));
}

/** @param {Event} event */
function skip(event) {
  event.preventDefault();
  main.focus();
}

/** @type {string[]} As far as the server knows them; any other can be typed. */
let namespaces = [];

/** @param {HTMLElement} choices */
async function offerNamespaces(choices) {
  try {
    namespaces = (await get(withQuery("/v1/namespaces", { limit: 100 }), { namespace: "" })).namespaces;
  } catch {
    // They can be typed.
  }
  show(choices, namespaces.map((name) => h("option", { value: name })));
}

/** Where we are and who we are, at the top. */
function showPlace() {
  if (session.access === "none") {
    show(place);
    return;
  }
  const input = h("input", { type: "text", value: session.namespace, placeholder: "default", spellcheck: "false", autocomplete: "off", list: "namespaces" });
  const choices = h("datalist", { id: "namespaces" }, namespaces.map((name) => h("option", { value: name })));
  input.addEventListener("focus", () => offerNamespaces(choices));
  input.addEventListener("change", () => {
    session.namespace = input.value.trim();
    const { view } = parseAddress(location.hash);
    location.hash = here(view);
    route();
  });
  const kinds = { none: "", read: "read-only", write: "read and write", admin: "all rights" };
  show(place,
    session.bound ? h("span", { class: "bound" }, "Namespace ", h("b", null, session.namespace)) : [field("Namespace", input), choices],
    h("span", { class: "tag" }, session.open ? "open to all callers" : kinds[session.access]),
    session.token && button("Sign out", () => {
      session.token = "";
      session.access = "none";  // Nothing is asked for without it, and refused.
      start();
    }));
}

/** Shows the view of the address. */
function route() {
  leaving.abort();
  leaving = new AbortController();
  const address = parseAddress(location.hash);
  if (!session.bound) session.namespace = address.query.ns ?? "";
  showPlace();
  for (const link of links.querySelectorAll("a")) {
    const view = link.getAttribute("data-view") ?? "";
    link.href = here(view);
    if (view === address.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const view = kViews[address.view];
  const draw = address.name !== null ? view?.item : view?.list;
  document.title = `${address.name ?? view?.name ?? "Not found"} · Once`;
  if (!draw) {
    show(main, heading("Not found"), h("p", null, "The console has no such view. ", h("a", { href: "#/" }, "Overview")));
    return;
  }
  if (address.name !== null && isStep(address.name)) {
    show(main, itemHeading(view.name, address.view, address.name), emptyBox("Not in a browser",
      `Browsers take ${address.name} for a step of the path, and would ask for something else. The shell and the clients do not: `,
      h("code", null, `once ${kShell[address.view]} ${address.name}`), "."));
    return;
  }
  draw({ main, address, signal: leaving.signal });
  if (!isFirst) main.querySelector("h1")?.focus();
  isFirst = false;
}

/**
 * Asks for a token, and keeps it in this tab.
 * @param {string} [why]
 */
function askForToken(why) {
  leaving.abort();
  leaving = new AbortController();
  showPlace();
  document.title = "Once";
  const input = h("input", { type: "text", class: "secret", autocomplete: "off", spellcheck: "false", required: true });
  const form = h("form", { class: "gate" }, heading("Sign in"),
    h("p", null, "This server asks for a token. ", h("code", null, "once token new"), " makes one."),
    field("Token", input, "It stays in this tab, and is gone when you close it."),
    why && h("p", { class: "error", role: "alert" }, why), h("div", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, "Sign in")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    session.token = input.value.trim();
    start("The server does not know this token.");
  });
  show(main, form);
  input.focus();
}

/**
 * Finds out who we are; then the view, or the question for a token.
 * @param {string} [why]
 */
async function start(why) {
  try {
    await learnAccess();
  } catch (error) {
    show(main, heading("Once"), h("p", { class: "error", role: "alert" }, messageOf(error)));
    return;
  }
  if (session.access === "none") {
    const had = session.token !== "";
    session.token = "";
    askForToken(had ? why ?? "The token is no longer good." : undefined);
  } else {
    route();
  }
}

let isLost = false;
listeners.unreachable = () => {
  if (isLost) return;
  isLost = true;
  show(banner, "The server does not answer. Trying again…");
  banner.hidden = false;
  const timer = setInterval(async () => {
    if (document.hidden) return;
    try {
      await get("/healthz");
      clearInterval(timer);
      // What somebody is writing stays.
      if (!document.querySelector("main textarea, dialog[open]")) start();
    } catch {
      // Still away.
    }
  }, 1_500);
};
listeners.answered = () => {
  if (!isLost) return;
  isLost = false;
  banner.hidden = true;
};
listeners.unauthorized = () => {
  if (session.access === "none") return;
  session.access = "none";
  start();
};

/**
 * Keys for those who do not use a mouse.
 * @param {KeyboardEvent} event
 */
function onKey(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
  if (event.key === "/") {
    const search = /** @type {HTMLElement | null} */ (main.querySelector("input[type=search]"));
    if (search) event.preventDefault();
    search?.focus();
  }
}

layOut();
window.addEventListener("hashchange", () => (session.access === "none" ? start() : route()));
document.addEventListener("keydown", onKey);
start();
every(kSampleEvery, new AbortController().signal, async () => {
  if (session.access !== "none" && !isLost) await sample();
});

