// Logs: the list, and one log as it grows. Only the rows on the screen are in the document.
import { encoded, follow, get, listPage, post, Problem, session, withQuery } from "./api.js";
import { arrange, button, h, show } from "./dom.js";
import { clock, number, oneLine } from "./format.js";
import { listView } from "./list.js";
import { ask, emptyBox, errorBox, heading, isLeft, itemHeading, jsonTree, keyLink, messageOf, tell } from "./page.js";
import { Tail, visibleRows } from "./stream.js";

/** @typedef {import("./stream.js").LogEvent} LogEvent */
/** @typedef {import("./page.js").Context} Context */

const kRowHeight = 26;
const kFirst = 500;
const kMostDownload = 100_000;

/** @param {Context} context */
export function logsView(context) {
  listView(context, {
    view: "logs",
    title: "Logs",
    what: "logs",
    one: "log",
    columns: [
      { name: "Stream", cell: (log) => keyLink("logs", log.stream) },
      { name: "Events", cell: (log) => number(log.next - log.oldest), class: "number" },
      { name: "Oldest", cell: (log) => log.oldest, class: "number" },
      { name: "Next", cell: (log) => log.next, class: "number" },
      { name: "State", cell: (log) => h("span", { class: "tag" }, log.closed ? "closed" : "open") },
    ],
    load: (query, page) => listPage("/v1/logs", "logs", { prefix: query.prefix }, page),
    empty: ["A log appears with its first event: ", h("code", null, "once log append STREAM TEXT"), "."],
  });
}

/** @param {Context} context */
export function logView(context) {
  const stream = context.address.name ?? "";
  const buttons = session.mayWrite && [button("Close log", () => askToClose(stream))];
  const room = h("div");
  show(context.main, itemHeading("Log", "logs", stream, ...(buttons || [])), room);
  drawTail(room, context, stream, undefined);
}

/**
 * What was forgotten, removed or made by whom: a log of the server's own.
 * @param {Context} context
 */
export function auditView(context) {
  const room = h("div");
  if (session.bound) {
    show(context.main, heading("Audit"), emptyBox("Not for this token", "The audit is read with a token for all namespaces."));
    return;
  }
  show(context.main, heading("Audit"),
    h("p", { class: "muted" }, "Forgets, removals, imports and changes of tokens of the last 30 days: what, which key, by which token, from where."), room);
  drawTail(room, context, "audit", "once");
}

/** @param {string} stream */
function askToClose(stream) {
  ask({
    title: "Close this log?",
    text: h("p", null, "Nothing can be appended to it from then on. What is there stays, and followers are told that it ended. This cannot be undone."),
    action: "Close",
    danger: true,
    run: async () => {
      await post(`/v1/logs/${encoded(stream)}/close`, {});
      tell(`${stream} was closed`);
    },
  });
}

/**
 * @param {HTMLElement} room
 * @param {Context} context
 * @param {string} stream
 * @param {string | undefined} namespace in place of the chosen one
 */
function drawTail(room, { signal }, stream, namespace) {
  const path = `/v1/logs/${encoded(stream)}`;
  const tail = new Tail();
  const state = h("span", { class: "tag", role: "status" }, "loading");
  const pause = button("Pause", () => (following ? stop("paused") : goLive()), { "aria-pressed": "false" });
  const jump = h("input", { type: "text", placeholder: "index or time", size: 22, spellcheck: "false", autocomplete: "off" });
  const form = h("form", { class: "filter" }, h("label", { for: "jump" }, "Jump to"), jump, h("button", { type: "submit" }, "Jump"));
  jump.id = "jump";
  const spacer = h("div", { role: "rowgroup" });
  const box = h("div", { class: "tail", role: "table", tabindex: "0", "aria-label": "Events", "aria-rowcount": -1 }, spacer);
  const details = h("section", { class: "details", hidden: true });
  const note = h("p", { class: "muted count" });
  show(room, h("div", { class: "toolbar" }, state, pause, button("Newest", goLive), form, button("Download", download)), note, box, details);

  let following = false;
  let stick = true;
  let asked = false;
  let chosen = 0;
  /** @type {Map<number, HTMLElement>} By index. A row that stays on the screen stays the same element, so that it can be clicked while others come. */
  let rows = new Map();
  let ending = new AbortController();
  signal.addEventListener("abort", () => ending.abort());

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    jumpTo(jump.value.trim());
  });
  box.addEventListener("scroll", () => {
    stick = box.scrollTop + box.clientHeight >= box.scrollHeight - kRowHeight;
    draw();
  }, { passive: true });
  box.addEventListener("keydown", onKey);
  new ResizeObserver(draw).observe(box);

  function draw() {
    if (asked || signal.aborted) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      if (signal.aborted) return;
      spacer.style.setProperty("height", `${tail.length * kRowHeight}px`);
      box.style.setProperty("height", `min(62vh, ${Math.max(4, tail.length) * kRowHeight + 2}px)`);
      if (stick && following) box.scrollTop = box.scrollHeight;
      const { first, last } = visibleRows(tail.length, kRowHeight, box.scrollTop, box.clientHeight);
      drawRows(first, last);
      show(note, tail.length === 0 ? "No events here." : `${number(tail.length)} events, ${tail.first} to ${tail.last}`);
    });
  }

  /** @param {number} first @param {number} last */
  function drawRows(first, last) {
    const before = rows;
    rows = new Map();
    for (let at = first; at < last; at += 1) {
      const event = tail.at(at);
      const row = before.get(event.index) ?? rowOf(event);
      row.style.setProperty("top", `${at * kRowHeight}px`);
      row.className = event.index === chosen ? "row chosen" : "row";
      rows.set(event.index, row);
    }
    arrange(spacer, rows.values());
  }

  /** @param {LogEvent} event */
  function rowOf(event) {
    return h("div", { role: "row", onclick: () => choose(event) },
      h("span", { role: "cell", class: "index" }, event.index), h("span", { role: "cell", class: "time" }, clock(event.time)),
      h("span", { role: "cell" }, oneLine(event.data, 300)));
  }

  /** @param {LogEvent} event */
  function choose(event) {
    chosen = event.index;
    details.hidden = false;
    show(details, h("h2", null, `Event ${event.index}`), h("p", { class: "muted" }, `${clock(event.time)} UTC`),
      h("div", { class: "value", tabindex: "0", role: "region", "aria-label": `Event ${event.index}` }, jsonTree(event.data)));
    draw();
  }

  /**
   * Arrows choose the event before or behind.
   * @param {KeyboardEvent} event
   */
  function onKey(event) {
    const step = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    if (step === 0 || tail.length === 0) return;
    event.preventDefault();
    const at = Math.max(0, Math.min(tail.length - 1, chosen === 0 ? tail.length - 1 : chosen - tail.first + step));
    const top = at * kRowHeight;
    if (top < box.scrollTop || top + kRowHeight > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 2;
    choose(tail.at(at));
  }

  /** @param {string} text */
  function stop(text) {
    ending.abort();
    following = false;
    show(state, text);
    show(pause, text === "closed" ? "Follow" : "Continue");
    pause.setAttribute("aria-pressed", "true");
  }

  /** @param {LogEvent[]} events */
  function take(events) {
    for (const event of events) tail.push(event, JSON.stringify(event.data)?.length ?? 0);
  }

  /** The newest, and from then on what comes. */
  async function goLive() {
    ending.abort();
    ending = new AbortController();
    const mine = ending.signal;
    tail.clear();
    rows = new Map();
    stick = true;
    try {
      const newest = await get(withQuery(path, { limit: kFirst, order: "desc" }), { signal: mine, namespace });
      take(newest.events.reverse());
      draw();
      following = true;
      show(pause, "Pause");
      pause.setAttribute("aria-pressed", "false");
      show(state, "live");
      await keepFollowing(mine);
    } catch (error) {
      if (isLeft(error, mine)) return;
      stop("not followed");
      show(note, errorBox(error, goLive));
    }
  }

  /** @param {AbortSignal} mine */
  async function keepFollowing(mine) {
    while (!mine.aborted) {
      const end = await follow(stream, tail.last + 1, { signal: mine, namespace, take: (event, size) => {
        const dropped = tail.push(event, size);
        if (dropped && !stick) box.scrollTop -= dropped * kRowHeight;
        draw();
      } }).catch((error) => {
        if (error instanceof Problem || isLeft(error, mine)) throw error;
        return /** @type {"lost"} */ ("lost");
      });
      if (end === "end") return stop("closed");
      show(state, "connecting");
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      if (!mine.aborted) show(state, "live");
    }
  }

  /** @param {string} where */
  async function jumpTo(where) {
    if (!where) return;
    const isIndex = /^\d+$/.test(where);
    const time = isIndex ? NaN : Date.parse(/Z|[+-]\d\d:\d\d$/.test(where) ? where : `${where.replace(" ", "T")}Z`);
    if (!isIndex && Number.isNaN(time)) {
      show(note, h("span", { class: "error", role: "alert" }, "Neither an index nor a time such as 2026-11-16 04:13."));
      return;
    }
    stop("paused");
    try {
      const range = isIndex ? { from: where } : { since: new Date(time).toISOString() };
      const page = await get(withQuery(path, { ...range, limit: kFirst }), { signal, namespace });
      tail.clear();
      rows = new Map();
      take(page.events);
      box.scrollTop = 0;
      stick = false;
      if (tail.length > 0) choose(tail.at(0));
      draw();
    } catch (error) {
      if (!isLeft(error, signal)) show(note, h("span", { class: "error", role: "alert" }, messageOf(error)));
    }
  }

  /** All that is kept, up to a bound, as a file with an event a line. */
  async function download() {
    /** @type {string[]} */
    const lines = [];
    let from = 1;
    try {
      for (;;) {
        const page = await get(withQuery(path, { from, limit: 1_000 }), { signal, namespace });
        for (const event of page.events) lines.push(JSON.stringify(event));
        if (page.events.length === 0 || lines.length >= kMostDownload) break;
        from = page.next;
      }
      const link = h("a", { href: URL.createObjectURL(new Blob([lines.join("\n"), "\n"], { type: "application/x-ndjson" })), download: `${stream.replace(/[^\w.-]+/g, "_")}.ndjson` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
      tell(`${number(lines.length)} events downloaded`);
    } catch (error) {
      if (!isLeft(error, signal)) tell(messageOf(error));
    }
  }

  goLive();
}

