// Parts that views share: headings, messages, badges, dialogs, polling.
import { addressOf } from "./address.js";
import { Problem, Unreachable, session } from "./api.js";
import { button, h, newId, show } from "./dom.js";
import { clock, cut, hasUnseen, oneLine, pretty, relative, visible } from "./format.js";

/** @typedef {import("./dom.js").Child} Child */
/**
 * What a view gets: where to draw, which address, and a signal that ends when it is left.
 * @typedef {object} Context
 * @property {HTMLElement} main
 * @property {import("./address.js").Address} address
 * @property {AbortSignal} signal
 */

/**
 * The head of a view.
 * @param {Child | Child[]} title
 * @param {...Child} actions
 */
export function heading(title, ...actions) {
  return h("header", { class: "head" }, h("h1", { tabindex: "-1" }, title), h("div", { class: "actions" }, actions));
}

/**
 * The head of an item's view, with its key.
 * @param {string} kind
 * @param {string} list the view that it is from
 * @param {string} key
 * @param {...Child} actions
 */
export function itemHeading(kind, list, key, ...actions) {
  return [
    h("p", { class: "crumbs" }, h("a", { href: here(list) }, "← Back to the list")),
    heading([h("span", { class: "kind" }, `${kind} `), keyText(key)], ...actions),
    hasUnseen(key) &&
      h("p", { class: "warning" }, "This name has marks that cannot be seen. It is ", h("code", null, visible(key)), "."),
  ];
}

/**
 * A stored name: text, whose direction does not reach beyond it.
 * @param {string} key
 */
export function keyText(key) {
  return h("bdi", { class: "key", dir: "ltr" }, key);
}

/**
 * An address in the namespace that is chosen.
 * @param {string} view
 * @param {string | null} [name]
 * @param {Record<string, string | undefined>} [query]
 */
export function here(view, name, query = {}) {
  return addressOf(view, name, { ...query, ns: session.bound ? undefined : session.namespace });
}

/**
 * @param {string} view
 * @param {string} key
 */
export function keyLink(view, key) {
  const link = h("a", { href: here(view, key), class: "key" }, h("bdi", { dir: "ltr" }, cut(key, 160)));
  return hasUnseen(key) ? h("span", null, link, " ", h("span", { class: "tag warn" }, "unseen marks")) : link;
}

/** @param {string} state */
export function stateBadge(state) {
  return h("span", { class: `badge ${state}` }, state);
}

/**
 * A time, exact and relative.
 * @param {string | undefined} time
 */
export function timeText(time) {
  if (!time) return h("span", { class: "muted" }, "–");
  return h("time", { datetime: time, title: clock(time) + " UTC" }, relative(time, Date.now()));
}

/**
 * @param {string | undefined} time
 */
export function fullTime(time) {
  return time ? h("span", null, clock(time), h("span", { class: "muted" }, " UTC, ", timeText(time))) : h("span", null, "–");
}

/**
 * A stored value as text, folded if it is long.
 * @param {unknown} value
 * @param {string} name
 */
export function valueText(value, name) {
  const text = pretty(value);
  const most = 20_000;
  const box = h("pre", { class: "value", tabindex: "0", role: "region", "aria-label": name }, cut(text, most));
  if (text.length <= most) return box;
  const more = button(`Show all ${text.length.toLocaleString("en")} characters`, () => {
    show(box, text);
    more.remove();
  });
  return h("div", null, box, more);
}

/**
 * JSON that can be folded.
 * @param {unknown} value
 * @param {number} [depth]
 * @returns {Node}
 */
export function jsonTree(value, depth = 0) {
  const isList = Array.isArray(value);
  if (value === null || typeof value !== "object") {
    return h("span", { class: `json ${value === null ? "null" : typeof value}` },
      typeof value === "string" ? JSON.stringify(visible(cut(value, 20_000))) : String(value));
  }
  const entries = Object.entries(/** @type {Record<string, unknown>} */ (value));
  if (entries.length === 0) return h("span", { class: "json" }, isList ? "[]" : "{}");
  const most = 200;
  const details = h("details", { class: "tree", open: depth < 2 },
    h("summary", null, isList ? `[ ${entries.length} ]` : `{ ${oneLine(Object.keys(value).join(", "), 80)} }`));
  let filled = false;
  const fill = () => {
    if (filled || !details.open) return;
    filled = true;
    for (const [name, inner] of entries.slice(0, most)) {
      details.append(h("div", { class: "member" }, h("span", { class: "name" }, `${visible(cut(name, 200))}: `), jsonTree(inner, depth + 1)));
    }
    if (entries.length > most) details.append(h("div", { class: "muted" }, `… and ${entries.length - most} more`));
  };
  details.addEventListener("toggle", fill);
  fill();
  return details;
}

/** @param {unknown} error */
export function messageOf(error) {
  if (error instanceof Problem) {
    if (error.status === 403) return `Not allowed: ${error.message}.`;
    if (error.status === 404) return "There is no such thing here, or no longer.";
    return `The server refused (${error.status}): ${error.message}.`;
  }
  if (error instanceof Unreachable) return "The server does not answer.";
  return error instanceof Error ? error.message : String(error);
}

/**
 * @param {unknown} error
 * @param {() => void} [again]
 */
export function errorBox(error, again) {
  return h("div", { class: "error", role: "alert" }, h("p", null, messageOf(error)), again && button("Load again", again));
}

/**
 * @param {Child} title
 * @param {...(Child | Child[])} text
 */
export function emptyBox(title, ...text) {
  return h("div", { class: "empty" }, h("p", { class: "title" }, title), h("p", null, text.flat()));
}

/**
 * What a table has in place of rows.
 * @param {number} columns
 * @param {Node} box
 */
export function emptyRow(columns, box) {
  return h("tr", { class: "none" }, h("td", { colspan: columns }, box));
}

export function loadingBox() {
  return h("p", { class: "loading", role: "status" }, "Loading…");
}

/**
 * Says in the corner what was done, also to those who listen.
 * @param {string} text
 */
export function tell(text) {
  const box = document.getElementById("told");
  if (!box) return;
  const note = h("p", null, text);
  box.append(note);
  while (box.children.length > 3) box.firstChild?.remove();
  setTimeout(() => note.remove(), 6_000);
}

/**
 * Whether an error only says that the view was left.
 * @param {unknown} error
 * @param {AbortSignal} signal
 */
export function isLeft(error, signal) {
  return signal.aborted || (error instanceof DOMException && error.name === "AbortError");
}

/**
 * Runs `work` now and then, only while the tab can be seen, one at a time.
 * @param {number} milliseconds
 * @param {AbortSignal} signal
 * @param {() => void | Promise<void>} work
 */
export function every(milliseconds, signal, work) {
  let busy = false;
  const run = async () => {
    if (busy || document.hidden || signal.aborted) return;
    busy = true;
    try {
      await work();
    } catch {
      // The next one may do better; the banner says if the server does not answer.
    } finally {
      busy = false;
    }
  };
  const timer = setInterval(run, milliseconds);
  document.addEventListener("visibilitychange", run, { signal });
  signal.addEventListener("abort", () => clearInterval(timer));
}

/**
 * @typedef {object} Question
 * @property {string} title
 * @property {(Child | Child[])} text
 * @property {string} action The name of the button that does it.
 * @property {boolean} [danger]
 * @property {() => Promise<void>} run
 */

/**
 * Asks before something is done, and says why if it fails.
 * @param {Question} question
 */
export function ask(question) {
  const failure = h("div", { role: "alert" });
  const title = h("h2", { id: newId() }, question.title);
  const act = button(question.action, run, { class: question.danger ? "danger" : "primary" });
  const cancel = button("Cancel", () => dialog.close(), { autofocus: true });
  const dialog = h("dialog", { "aria-labelledby": title.id }, title, h("div", { class: "text" }, question.text), failure,
    h("div", { class: "buttons" }, cancel, act));
  async function run() {
    act.disabled = true;
    try {
      await question.run();
      dialog.close();
    } catch (error) {
      show(failure, h("p", { class: "error" }, messageOf(error)));
      act.disabled = false;
    }
  }
  openDialog(dialog);
}

/**
 * @param {HTMLDialogElement} dialog
 */
export function openDialog(dialog) {
  const before = document.activeElement;
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (before instanceof HTMLElement && before.isConnected) before.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
}

/** Changes the address without a new entry in the history, nor a new view.
 * @param {string} address
 */
export function replaceAddress(address) {
  history.replaceState(null, "", address);
}
