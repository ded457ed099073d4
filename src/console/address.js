// Addresses of views: "#/claims/a%2Fb?state=failed". Pure.

/**
 * @typedef {object} Address
 * @property {string} view "" is the overview.
 * @property {string | null} name Of the claim, log, document or tally; null in a list.
 * @property {Record<string, string>} query
 */

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * @param {string} hash
 * @returns {Address}
 */
export function parseAddress(hash) {
  const text = hash.replace(/^#?\/?/, "");
  const at = text.indexOf("?");
  const path = at < 0 ? text : text.slice(0, at);
  /** @type {Record<string, string>} */
  const query = {};
  for (const [name, value] of new URLSearchParams(at < 0 ? "" : text.slice(at + 1))) query[name] = value;
  const slash = path.indexOf("/");
  const rest = slash < 0 ? "" : path.slice(slash + 1);
  return { view: slash < 0 ? path : path.slice(0, slash), name: rest === "" ? null : decoded(rest), query };
}

/**
 * @param {string} view
 * @param {string | null} [name]
 * @param {Record<string, string | undefined>} [query] What is empty is left out.
 */
export function addressOf(view, name, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value);
  const parameters = new URLSearchParams(/** @type {[string, string][]} */ (kept)).toString();
  const path = name === null || name === undefined ? view : `${view}/${encodeURIComponent(name)}`;
  return `#/${path}${parameters ? `?${parameters}` : ""}`;
}
