// Times, numbers and texts as people read them. Pure.

const kUnits = /** @type {const} */ ([["d", 86_400], ["h", 3_600], ["m", 60], ["s", 1]]);

/**
 * 93 s are "1m 33s"; at most two units.
 * @param {number} seconds
 */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  let rest = Math.round(Math.abs(seconds));
  if (rest === 0) return Math.abs(seconds) > 0.0005 ? `${Math.round(Math.abs(seconds) * 1000)}ms` : "0s";
  /** @type {string[]} */
  const parts = [];
  for (const [unit, size] of kUnits) {
    const count = Math.floor(rest / size);
    if (count === 0) {
      if (parts.length > 0) break;
      continue;
    }
    parts.push(`${count}${unit}`);
    rest -= count * size;
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

/**
 * How long ago, or in how long.
 * @param {string | undefined} time
 * @param {number} now in milliseconds
 */
export function relative(time, now) {
  if (!time) return "–";
  const at = Date.parse(time);
  if (Number.isNaN(at)) return time;
  const seconds = (at - now) / 1000;
  if (Math.abs(seconds) < 1) return "now";
  return seconds < 0 ? `${duration(seconds)} ago` : `in ${duration(seconds)}`;
}

/**
 * "2026-11-16 04:13:39.578": RFC 3339 without what is always the same.
 * @param {string | undefined} time
 */
export function clock(time) {
  return time ? time.replace("T", " ").replace("Z", "") : "–";
}

/** @param {number} value */
export function number(value) {
  if (!Number.isFinite(value)) return "–";
  return value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0 });
}

/** @param {number} value */
export function bytes(value) {
  if (!Number.isFinite(value)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`;
}

/** @param {number} seconds */
export function latency(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 1) return `${number(seconds * 1000)} ms`;
  return `${number(seconds)} s`;
}

// Marks that change the direction of text, have no width, or are controls: what is shown need not be what is stored.
const kUnseen = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;

/** @param {string} text */
export function hasUnseen(text) {
  kUnseen.lastIndex = 0;
  return kUnseen.test(text);
}

/**
 * The same text with names in place of what cannot be seen: a NUL is "⟨U+0000⟩".
 * @param {string} text
 */
export function visible(text) {
  return text.replace(kUnseen, (mark) => `⟨U+${mark.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/**
 * At most so many characters, with a sign that there was more.
 * @param {string} text
 * @param {number} most
 */
export function cut(text, most) {
  return text.length <= most ? text : `${text.slice(0, most)}…`;
}

/**
 * A stored JSON value on one line.
 * @param {unknown} value
 * @param {number} [most]
 */
export function oneLine(value, most = 400) {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  return visible(cut(text, most).replace(/[\r\n\t]+/g, " "));
}

/**
 * A stored JSON value over several lines.
 * @param {unknown} value
 */
export function pretty(value) {
  return visible(typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "");
}

/**
 * A duration as the API takes it, or nothing.
 * @param {string} text
 */
export function isDuration(text) {
  return /^\d+(ms|s|m|h|d)$/.test(text);
}
