// A list of stored things: search by prefix, filters, pages. The address has all of it.
import { parseAddress } from "./address.js";
import { arrange, button, h, newId, show } from "./dom.js";
import { relative } from "./format.js";
import { emptyBox, emptyRow, errorBox, every, heading, here, isLeft, loadingBox, replaceAddress } from "./page.js";

/** @typedef {import("./dom.js").Child} Child */
/** @typedef {{ rows: any[], cursor: string | null }} Page */
/** @typedef {{ name: string, cell: (row: any) => Child, class?: string }} Column */
/**
 * @typedef {object} Filter
 * @property {string} name in the address
 * @property {string} label
 * @property {string[]} [choices] A text field without.
 */
/**
 * @typedef {object} ListOptions
 * @property {string} view
 * @property {string} title
 * @property {string} what "claims"
 * @property {string} one "claim"
 * @property {Column[]} columns
 * @property {Filter[]} [filters]
 * @property {Child[]} [actions]
 * @property {(query: Record<string, string>, page: { limit: number, cursor: string | null, signal: AbortSignal, onStep?: (calls: number) => void }) => Promise<Page>} load
 * @property {Child | Child[]} empty What to do if there is nothing at all.
 * @property {number} [every] Milliseconds between two looks by itself.
 * @property {(query: Record<string, string>) => Child[]} [below] Controls that depend on the filters.
 */

const kRows = 100;

/**
 * @param {import("./page.js").Context} context
 * @param {ListOptions} options
 */
export function listView(context, options) {
  const { main, address, signal } = context;
  /** @type {Record<string, string>} */
  const query = { ...address.query };
  delete query.ns;
  /** @type {(string | null)[]} Where each page that was seen begins. */
  let starts = [null];
  let at = 0;
  let loading = new AbortController();
  /** @type {Map<string, HTMLElement>} By what they show: a row that stays is the same element. */
  let rows = new Map();

  const body = h("tbody");
  const table = h("table", { "aria-label": options.title }, h("thead", null,
    h("tr", null, options.columns.map((column) => h("th", { scope: "col", class: column.class }, column.name)))), body);
  const note = h("p", { class: "muted count", role: "status" });
  const place = h("div");
  const below = h("div", { class: "bulk" });
  const previous = button("Previous page", () => turn(-1));
  const next = button("Next page", () => turn(1));

  const search = h("input", { type: "search", placeholder: "Starts with…", "aria-label": `Search ${options.what} by prefix`,
    value: query.prefix ?? "", spellcheck: "false", autocomplete: "off" });
  search.addEventListener("input", () => later("prefix", search.value));
  const controls = (options.filters ?? []).map((filter) => control(filter, query[filter.name] ?? "", later));

  show(main, heading(options.title, ...(options.actions ?? [])),
    h("div", { class: "toolbar", role: "search" }, search, controls, button("Refresh", refresh)), below, note, place,
    h("div", { class: "pager" }, previous, next));

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  /** @param {string} name @param {string} value */
  function later(name, value) {
    if (value) query[name] = value;
    else delete query[name];
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const now = parseAddress(location.hash);
      if (signal.aborted || now.view !== options.view || now.name !== null) return;  // Somebody is on the way to another view.
      replaceAddress(here(options.view, null, query));
      refresh();
    }, 150);
  }

  function refresh() {
    starts = [null];
    at = 0;
    load();
  }

  /** @param {number} pages */
  function turn(pages) {
    at += pages;
    load();
  }

  /** @param {boolean} [quietly] */
  async function load(quietly = false) {
    loading.abort();
    const mine = new AbortController();
    loading = mine;
    signal.addEventListener("abort", () => mine.abort(), { signal: mine.signal });
    const slow = setTimeout(() => !quietly && !mine.signal.aborted && show(note, "Loading…"), 150);
    if (!table.isConnected) show(place, loadingBox());
    table.setAttribute("aria-busy", "true");
    try {
      const page = await options.load(query, { limit: kRows, cursor: starts[at], signal: mine.signal,
        onStep: (calls) => show(note, `Searching… ${(calls * 10_000).toLocaleString("en")} looked through`) });
      if (mine.signal.aborted) return;
      clearTimeout(slow);
      starts[at + 1] = page.cursor;
      draw(page, page.cursor !== null);
    } catch (error) {
      clearTimeout(slow);
      if (isLeft(error, mine.signal)) return;
      show(note);
      show(place, errorBox(error, refresh));
    } finally {
      table.removeAttribute("aria-busy");
    }
  }

  /** @param {Page} page @param {boolean} more */
  function draw(page, more) {
    const filtered = Object.keys(query).length > 0;
    previous.hidden = at === 0;
    next.hidden = !more;
    if (options.below) show(below, options.below(query));
    if (page.rows.length === 0) {
      show(note);
      show(body, emptyRow(options.columns.length, filtered ? emptyBox(`No ${options.what} match`, "Try a shorter prefix, or other filters.")
        : emptyBox(`No ${options.what} yet`, options.empty)));
      if (!table.isConnected) show(place, h("div", { class: "scroll" }, table));
      return;
    }
    drawRows(page.rows);
    const paged = more || at > 0 ? ` on page ${at + 1}` : "";
    const what = page.rows.length === 1 ? options.one : options.what;
    show(note, `${page.rows.length} ${what}${paged}${more ? ", and there are more" : ""}`);
    if (!table.isConnected) show(place, h("div", { class: "scroll" }, table));
  }

  /** @param {any[]} found */
  function drawRows(found) {
    const before = rows;
    rows = new Map();
    for (const row of found) {
      const text = JSON.stringify(row);
      const known = before.get(text);
      for (const time of known?.querySelectorAll("time") ?? []) show(time, relative(time.getAttribute("datetime") ?? undefined, Date.now()));
      rows.set(text, known ?? h("tr", null, options.columns.map((column) => h("td", { class: column.class }, column.cell(row)))));
    }
    arrange(body, rows.values());
  }

  load();
  if (options.every) every(options.every, signal, () => (table.hasAttribute("aria-busy") ? undefined : load(true)));
}

/**
 * @param {Filter} filter
 * @param {string} value
 * @param {(name: string, value: string) => void} changed
 */
function control(filter, value, changed) {
  const id = newId();
  const input = filter.choices
    ? h("select", { id }, h("option", { value: "" }, "any"), filter.choices.map((choice) => h("option", { value: choice }, choice)))
    : h("input", { id, type: "text", spellcheck: "false", autocomplete: "off" });
  input.value = value;
  input.addEventListener("input", () => changed(filter.name, input.value));
  return h("span", { class: "filter" }, h("label", { for: id }, filter.label), input);
}
