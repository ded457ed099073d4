// The last quarter of an hour: as the server remembers it (GET /v1/history), or as it was seen here. Pure.

/** @typedef {{ at: string, seconds: number, p50_seconds: number | null, p99_seconds: number | null, outcomes: Record<string, Record<string, number>> }} Sample */
/** @typedef {{ time: string, every_seconds: number, samples: Sample[] }} HistoryAnswer */
/** @typedef {import("./chart.js").Point} Point */

const kSpan = 15 * 60_000;

/**
 * How many of these outcomes there were; without `outcome`, of all.
 * @param {Record<string, number> | undefined} counts
 * @param {string} [outcome]
 */
function sumOf(counts, outcome) {
  if (outcome !== undefined) return counts?.[outcome] ?? 0;
  return Object.values(counts ?? {}).reduce((sum, one) => sum + one, 0);
}

export class History {
  /** @type {(Sample & { time: number })[]} the oldest first */
  samples = [];
  every = 5_000;
  /** The server's clock less ours, in milliseconds. */
  ahead = 0;

  /** What to ask for next: samples after this time, or all. */
  get after() {
    return this.samples.at(-1)?.at;
  }

  /**
   * @param {HistoryAnswer} answer
   * @param {number} now in milliseconds, by our clock
   */
  take(answer, now) {
    const there = Date.parse(answer.time);
    this.every = answer.every_seconds * 1000;
    this.ahead = there - now;
    // A clock that was set back: what we have would hide what is new.
    this.samples = this.samples.filter((one) => one.time > there - kSpan && one.time <= there);
    const last = this.samples.at(-1)?.time ?? -Infinity;
    for (const sample of answer.samples) {
      const time = Date.parse(sample.at);
      if (time > last) this.samples.push({ ...sample, time });
    }
  }

  /**
   * Where a chart begins and ends, by the server's clock: what there is, two minutes at least.
   * @param {number} now in milliseconds, by our clock
   */
  range(now) {
    const to = now + this.ahead;
    const first = this.samples[0] ? this.samples[0].time - this.every : to;
    return { from: Math.max(to - kSpan, Math.min(first, to - 120_000)), to };
  }

  /**
   * A line, which is broken where samples are missing, as while the server was stopped.
   * @param {(sample: Sample) => number} value
   * @returns {Point[]}
   */
  line(value) {
    /** @type {Point[]} */
    const points = [];
    let before = NaN;
    for (const sample of this.samples) {
      if (sample.time - before > 3 * this.every) points.push({ at: before + 1, value: NaN });
      points.push({ at: sample.time, value: value(sample) });
      before = sample.time;
    }
    return points;
  }

  /**
   * How many a second.
   * @param {{ primitive?: string, outcome?: string }} which
   */
  rates({ primitive, outcome }) {
    return this.line((sample) => {
      const counts = primitive === undefined ? Object.values(sample.outcomes) : [sample.outcomes[primitive]];
      return counts.reduce((sum, one) => sum + sumOf(one, outcome), 0) / sample.seconds;
    });
  }

  /** @param {"p50_seconds" | "p99_seconds"} name */
  latencies(name) {
    return this.line((sample) => sample[name] ?? NaN);
  }

  /** The primitives that were asked for, by name. */
  primitives() {
    return [...new Set(this.samples.flatMap((sample) => Object.keys(sample.outcomes)))].sort();
  }

  /**
   * What came of a primitive: the most frequent outcomes, by name.
   * @param {string} primitive
   * @param {number} most
   */
  outcomesOf(primitive, most) {
    /** @type {Map<string, number>} */
    const sums = new Map();
    for (const { outcomes } of this.samples) {
      for (const [outcome, count] of Object.entries(outcomes[primitive] ?? {})) sums.set(outcome, (sums.get(outcome) ?? 0) + count);
    }
    return [...sums].sort((a, b) => b[1] - a[1]).slice(0, most).map(([outcome]) => outcome).sort();
  }
}

/** Points that were seen in the last quarter of an hour. */
export class SeenPoints {
  /** @type {{ at: number, values: Record<string, number> }[]} */
  points = [];

  /** @param {number} [span] in milliseconds */
  constructor(span = kSpan) {
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
