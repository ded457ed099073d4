// The page /metrics, read by a person's browser: rates and quantiles of what happened between two looks. Pure.

/** @typedef {{ labels: Record<string, string>, value: number }} Sample */
/** @typedef {Map<string, Sample[]>} Samples */

const kLine = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const kLabel = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/**
 * @param {string} text
 * @returns {Samples}
 */
export function parseMetrics(text) {
  /** @type {Samples} */
  const samples = new Map();
  for (const line of text.split("\n")) {
    const parts = line.startsWith("#") ? null : kLine.exec(line);
    if (!parts) continue;
    /** @type {Record<string, string>} */
    const labels = {};
    for (const [, name, value] of (parts[2] ?? "").matchAll(kLabel)) {
      labels[name] = value.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
    }
    const list = samples.get(parts[1]) ?? [];
    list.push({ labels, value: parts[3] === "+Inf" ? Infinity : Number(parts[3]) });
    samples.set(parts[1], list);
  }
  return samples;
}

/**
 * The sum of all samples of a name that `keep` keeps; nothing if there is none.
 * @param {Samples} samples
 * @param {string} name
 * @param {(labels: Record<string, string>) => boolean} [keep]
 */
export function total(samples, name, keep = () => true) {
  const found = (samples.get(name) ?? []).filter((sample) => keep(sample.labels));
  return found.length === 0 ? undefined : found.reduce((sum, sample) => sum + sample.value, 0);
}

/**
 * How much a counter rose a second. One that fell began anew with the server.
 * @param {number | undefined} before
 * @param {number | undefined} after
 * @param {number} seconds
 */
export function rate(before, after, seconds) {
  if (after === undefined || seconds <= 0) return 0;
  const from = before === undefined || after < before ? 0 : before;
  return (after - from) / seconds;
}

/**
 * The cumulative counts of a histogram, by upper bound.
 * @param {Samples} samples
 * @param {string} name without _bucket
 * @returns {[number, number][]}
 */
export function buckets(samples, name) {
  /** @type {Map<number, number>} */
  const sums = new Map();
  for (const { labels, value } of samples.get(`${name}_bucket`) ?? []) {
    const bound = labels.le === "+Inf" ? Infinity : Number(labels.le);
    sums.set(bound, (sums.get(bound) ?? 0) + value);
  }
  return [...sums].sort((a, b) => a[0] - b[0]);
}

/**
 * The quantile of what was counted between two looks, by linear interpolation; NaN if nothing was.
 * @param {[number, number][]} before
 * @param {[number, number][]} after
 * @param {number} q
 */
export function quantile(before, after, q) {
  const old = new Map(before);
  const fell = after.some(([bound, count]) => count < (old.get(bound) ?? 0));
  const counts = after.map(([bound, count]) => /** @type {const} */ ([bound, count - (fell ? 0 : old.get(bound) ?? 0)]));
  const all = counts.at(-1)?.[1] ?? 0;
  if (all <= 0) return NaN;
  const wanted = q * all;
  let lower = 0;
  let below = 0;
  for (const [bound, count] of counts) {
    if (count >= wanted) {
      if (bound === Infinity) return lower;
      return count === below ? bound : lower + ((bound - lower) * (wanted - below)) / (count - below);
    }
    lower = bound;
    below = count;
  }
  return lower;
}

/** Points of the last quarter of an hour. */
export class History {
  /** @type {{ at: number, values: Record<string, number> }[]} */
  points = [];

  /** @param {number} [span] in milliseconds */
  constructor(span = 15 * 60_000) {
    this.span = span;
  }

  /**
   * @param {number} at
   * @param {Record<string, number>} values
   */
  add(at, values) {
    this.points.push({ at, values });
    while (this.points.length > 0 && this.points[0].at < at - this.span) this.points.shift();
  }

  /** @param {string} name */
  series(name) {
    return this.points.map(({ at, values }) => ({ at, value: values[name] ?? NaN }));
  }
}
