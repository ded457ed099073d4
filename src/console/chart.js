// Charts in SVG. Colours come from the style sheet, by class.
import { h, svg } from "./dom.js";
import { clock } from "./format.js";

/** @typedef {{ at: number, value: number }} Point */
/** @typedef {{ name: string, points: Point[] }} Series */

const kHeight = 140;
const kLeft = 56;
const kBottom = 22;

/**
 * The next higher round number.
 * @param {number} value
 */
export function niceCeiling(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  for (const step of [1, 2, 2.5, 5, 10]) if (value <= step * power) return step * power;
  return 10 * power;
}

/** @param {number} time @param {number} span */
function timeLabel(time, span) {
  const text = clock(new Date(time).toISOString());
  return span > 2 * 86_400_000 ? text.slice(5, 10) : text.slice(11, 16);
}

/** @param {number} width @param {number} top @param {number} from @param {number} to @param {(value: number) => string} format */
function axes(width, top, from, to, format) {
  const parts = [];
  for (const share of [0, 0.5, 1]) {
    const y = 8 + (1 - share) * (kHeight - kBottom - 8);
    parts.push(svg("line", { x1: kLeft, x2: width, y1: y, y2: y, class: "grid" }));
    parts.push(svg("text", { x: kLeft - 8, y: y + 4, "text-anchor": "end" }, format(top * share)));
  }
  for (const [share, anchor] of /** @type {[number, string][]} */ ([[0, "start"], [0.5, "middle"], [1, "end"]])) {
    const x = kLeft + share * (width - kLeft);
    parts.push(svg("text", { x, y: kHeight - 5, "text-anchor": anchor }, timeLabel(from + share * (to - from), to - from)));
  }
  return parts;
}

/**
 * The line through points, broken where a value is missing. A point between two gaps is a dot.
 * @param {Point[]} points
 * @param {(at: number) => number} x
 * @param {(value: number) => number} y
 */
export function pathOf(points, x, y) {
  let path = "";
  let before = NaN;
  for (const { at, value } of points) {
    const point = `${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    if (Number.isFinite(value)) path += Number.isFinite(before) ? `L${point}` : `M${point}h0`;
    before = value;
  }
  return path || "M0 0";
}

/**
 * Lines over time, with a legend that has the latest values.
 * @param {{ label: string, series: Series[], from: number, to: number, format: (value: number) => string }} options
 */
export function lineChart(options) {
  const chartWidth = 380;
  const { series, from, to, format } = options;
  const values = series.flatMap((one) => one.points.map((point) => point.value)).filter(Number.isFinite);
  const top = niceCeiling(Math.max(0, ...values));
  const x = (/** @type {number} */ at) => kLeft + ((at - from) / Math.max(1, to - from)) * (chartWidth - kLeft);
  const y = (/** @type {number} */ value) => 8 + (1 - value / top) * (kHeight - kBottom - 8);
  const lines = series.map((one, number) => svg("path", { d: pathOf(one.points, x, y), class: `line s${number}` }));
  const latest = series.map((one) => {
    const last = one.points.filter((point) => Number.isFinite(point.value)).at(-1);
    return last ? format(last.value) : "–";
  });
  return h("figure", { class: "chart" },
    h("figcaption", null, h("span", { class: "label" }, options.label),
      h("span", { class: "legend" }, series.map((one, number) => h("span", { class: `s${number}` }, `${one.name} `, h("b", null, latest[number]))))),
    svg("svg", { viewBox: `0 0 ${chartWidth} ${kHeight}`, role: "img",
      "aria-label": `${options.label}: ${series.map((one, number) => `${one.name} ${latest[number]}`).join(", ")}` },
    axes(chartWidth, top, from, to, format), lines));
}

/**
 * A bar for each bucket of time.
 * @param {{ label: string, points: Point[], width: number, from: number, to: number, format: (value: number) => string }} options
 */
export function bucketChart(options) {
  const chartWidth = 900;
  const { points, from, to, format } = options;
  const top = niceCeiling(Math.max(0, ...points.map((point) => point.value)));
  const room = kHeight - kBottom - 8;
  const scale = (chartWidth - kLeft) / Math.max(1, to - from);
  const bars = points.map(({ at, value }) => {
    const height = Math.max(0, (value / top) * room);
    const bar = svg("rect", { x: kLeft + (at - from) * scale, y: 8 + room - height, width: Math.max(1.5, options.width * scale - 1), height, class: "bar s0" });
    bar.append(svg("title", null, `${clock(new Date(at).toISOString())}: ${format(value)}`));
    return bar;
  });
  return h("figure", { class: "chart" }, h("figcaption", null, h("span", { class: "label" }, options.label)),
    svg("svg", { viewBox: `0 0 ${chartWidth} ${kHeight}`, role: "img", "aria-label": `${options.label}, ${points.length} buckets` },
      axes(chartWidth, top, from, to, format), bars));
}
