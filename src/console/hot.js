// The keys with most conflicts of late.
import { get, withQuery } from "./api.js";
import { h } from "./dom.js";
import { number } from "./format.js";
import { listView } from "./list.js";
import { keyLink, keyText } from "./page.js";

/** @param {import("./page.js").Context} context */
export function hotView(context) {
  listView(context, {
    view: "hot",
    title: "Hot keys",
    what: "hot keys",
    one: "hot key",
    columns: [
      { name: "Key", cell: (one) => linkOf(one.key) },
      { name: "Kind", cell: (one) => one.key.slice(0, one.key.indexOf("/")) },
      { name: "Conflicts", cell: (one) => number(one.conflicts), class: "number" },
      { name: "Share", cell: (one) => h("div", { class: "meter" }, h("div", { class: "fill", style: { width: `${one.share * 100}%` } })), class: "wide" },
    ],
    load: async (query, page) => {
      const { keys } = await get(withQuery("/v1/hot", { prefix: query.prefix }), { signal: page.signal });
      const most = Math.max(1, ...keys.map((/** @type {{ conflicts: number }} */ one) => one.conflicts));
      return { rows: keys.map((/** @type {{ conflicts: number }} */ one) => ({ ...one, share: one.conflicts / most })), cursor: null };
    },
    empty: "Callers that meet at one key are counted here; a count halves every minute.",
  });
}

/**
 * "claims/a" leads to the claim a.
 * @param {string} text
 */
function linkOf(text) {
  const at = text.indexOf("/");
  const view = text.slice(0, at);
  return ["claims", "docs", "logs", "tallies"].includes(view) ? keyLink(view, text.slice(at + 1)) : keyText(text);
}

