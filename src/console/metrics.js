// The page /metrics, read by a person's browser. Pure.

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
