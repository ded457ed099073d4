// Claims: the list, one claim's story, and what an operator may do about it.
import { call, encoded, get, inBulk, listPage, Problem, session } from "./api.js";
import { button, h, show } from "./dom.js";
import { duration, number, oneLine } from "./format.js";
import { listView } from "./list.js";
import { ask, emptyBox, errorBox, every, fullTime, here, isLeft, itemHeading, keyLink, loadingBox, stateBadge, tell, timeText,
  valueText } from "./page.js";

/** @typedef {import("./api.js").Claim} Claim */
/** @typedef {import("./page.js").Context} Context */
/**
 * @typedef {object} Action
 * @property {"Forget" | "Retry" | "Release"} name
 * @property {string} path of the bulk operation
 * @property {string} field of its answer
 * @property {string} done
 * @property {string} meaning
 * @property {boolean} danger
 * @property {string[]} states that it is for
 */

/** @type {Action[]} */
const kActions = [
  { name: "Retry", path: "/v1/bulk/claims/retry", field: "retried", done: "retried", danger: false,
    states: ["failed", "abandoned"],
    meaning: "The key becomes free, and the next worker that asks for it gets it as another attempt. The failure and the number of attempts are kept." },
  { name: "Release", path: "/v1/bulk/claims/release", field: "released", done: "released", danger: true,
    states: ["busy", "abandoned"],
    meaning: "The key becomes free at once. If its holder is still alive it is fenced: it can no longer complete or renew, but what it does outside of Once goes on." },
  { name: "Forget", path: "/v1/bulk/claims/forget", field: "forgotten", done: "forgotten", danger: true,
    states: ["busy", "abandoned", "done", "failed", "free", "corrupt"],
    meaning: "The record goes, with its result or failure. The key may be claimed anew as if for the first time, so the work may be done again." },
];

/**
 * What is abandoned has no failure to keep: it is released.
 * @param {Action} action
 * @param {string | undefined} state
 */
function stepOf(action, state) {
  const release = action.name === "Retry" && state === "abandoned";
  return release ? kActions[1] : action;
}

/** @param {Context} context */
export function claimsView(context) {
  listView(context, {
    view: "claims",
    title: "Claims",
    what: "claims",
    one: "claim",
    filters: [{ name: "state", label: "State", choices: ["busy", "abandoned", "failed", "done", "free"] }, { name: "owner", label: "Owner" }],
    columns: [
      { name: "Key", cell: (claim) => keyLink("claims", claim.key) },
      { name: "State", cell: (claim) => stateBadge(claim.state) },
      { name: "Owner", cell: (claim) => h("bdi", null, oneLine(claim.owner ?? "", 32)), class: "short" },
      { name: "Attempt", cell: (claim) => claim.attempt ?? "–", class: "number" },
      { name: "Claimed", cell: (claim) => timeText(claim.claimed_at) },
      { name: "Details", cell: reasonOf, class: "wide" },
    ],
    load: (query, page) => listPage("/v1/claims", "claims", { prefix: query.prefix, state: query.state, owner: query.owner }, page),
    empty: ["A claim appears when a worker takes a key: ", h("code", null, "once run KEY -- COMMAND"), "."],
    below: (query) => bulkButtons(query, context),
  });
}

/**
 * What is to know of it in one line.
 * @param {Claim} claim
 */
function reasonOf(claim) {
  if (claim.state === "failed" || claim.state === "free") return oneLine(claim.failure, 120);
  if (claim.state === "abandoned") return h("span", null, "its lease ended ", timeText(claim.lease_until));
  if (claim.state === "busy") return h("span", null, "its lease ends ", timeText(claim.lease_until));
  if (claim.state === "corrupt") return "its record is damaged";
  return h("span", { class: "muted" }, oneLine(claim.result, 120));
}

/**
 * The same for all that match, counted before it is done.
 * @param {Record<string, string>} query
 * @param {Context} context
 */
function bulkButtons(query, context) {
  if (!session.mayWrite || (!query.prefix && !query.state)) return [];
  return kActions.filter((action) => !query.state || action.states.includes(query.state)).map((action) => {
    const step = stepOf(action, query.state);
    const body = { prefix: query.prefix, state: query.state, owner: query.owner };
    return button(`${action.name} all that match…`, async () => {
      try {
        const count = await inBulk(step.path, step.field, { ...body, dry_run: true }, context.signal);
        askForAll(action, step, body, count);
      } catch (error) {
        if (!isLeft(error, context.signal)) tell(String(error));
      }
    });
  });
}

/** @param {Action} action @param {Action} step @param {Record<string, unknown>} body @param {number} count */
function askForAll(action, step, body, count) {
  ask({
    title: `${action.name} ${number(count)} claims?`,
    text: [h("p", null, action.meaning), h("p", null, `This is for the ${number(count)} claims that match now.`)],
    action: action.name,
    danger: action.danger,
    run: async () => {
      const changed = await inBulk(step.path, step.field, body);
      tell(`${number(changed)} claims ${action.done}`);
      window.dispatchEvent(new HashChangeEvent("hashchange"));
    },
  });
}

/** @param {Context} context */
export function claimView(context) {
  const { main, address, signal } = context;
  const key = address.name ?? "";
  const buttons = h("span", { class: "actions" });
  const story = h("div", null, loadingBox());
  show(main, itemHeading("Claim", "claims", key, buttons), story);
  let shown = "";
  let gone = false;
  let isChanging = false;
  let looking = new AbortController();
  signal.addEventListener("abort", () => looking.abort());

  async function load() {
    if (gone || isChanging) return;
    looking.abort();
    const mine = new AbortController();
    looking = mine;
    try {
      /** @type {Claim} */
      const claim = await get(`/v1/claims/${encoded(key)}`, { signal: mine.signal });
      const text = JSON.stringify(claim);
      if (text === shown) return;
      shown = text;
      show(buttons, session.mayWrite && kActions.filter((action) => action.states.includes(claim.state)).map((action) =>
        button(action.name, () => askForOne(action, claim, change), { class: action.danger ? "danger" : "primary" })));
      show(story, storyOf(claim, signal));
    } catch (error) {
      if (isLeft(error, mine.signal)) return;
      gone = error instanceof Problem && error.status === 404;
      show(buttons);
      shown = "";
      show(story, gone ? emptyBox("No such claim", "It was released, forgotten, or its time is over. ", h("a", { href: here("claims") }, "All claims"))
        : errorBox(error, load));
    }
  }

  /**
   * Nothing looks at the claim meanwhile: one that is being forgotten would be reported as missing.
   * @param {Action} action
   * @param {() => Promise<void>} work
   */
  async function change(action, work) {
    isChanging = true;
    looking.abort();
    try {
      await work();
    } finally {
      isChanging = false;
    }
    tell(`${key} was ${action.done}`);
    gone = action.name === "Forget";
    if (gone) location.hash = here("claims");
    else load();
  }

  load();
  every(3_000, signal, load);
}

/** @param {Action} action @param {Claim} claim @param {(action: Action, work: () => Promise<void>) => Promise<void>} change */
function askForOne(action, claim, change) {
  const step = stepOf(action, claim.state);
  ask({
    title: `${action.name} this claim?`,
    text: [h("p", null, h("bdi", { class: "key", dir: "ltr" }, claim.key), " is ", stateBadge(claim.state)), h("p", null, action.meaning)],
    action: action.name,
    danger: action.danger,
    run: () => change(action, async () => {
      if (action.name === "Forget") await call("DELETE", `/v1/claims/${encoded(claim.key)}`);
      else if ((await inBulk(step.path, step.field, { key: claim.key, state: claim.state })) === 0) throw new Error("It has changed meanwhile.");
    }),
  });
}

/** @param {Claim} claim @param {AbortSignal} signal */
function storyOf(claim, signal) {
  const rows = /** @type {[string, import("./dom.js").Child][]} */ ([
    ["State", stateBadge(claim.state)],
    ["Owner", claim.owner ? h("bdi", null, oneLine(claim.owner)) : h("span", { class: "muted" }, "not named")],
    ["Attempt", claim.attempt],
    ["Fence", claim.fence],
    ["Claimed", fullTime(claim.claimed_at)],
    ["Lease until", claim.lease_until && fullTime(claim.lease_until)],
    ["Completed", claim.completed_at && fullTime(claim.completed_at)],
    ["Failed", claim.failed_at && fullTime(claim.failed_at)],
    ["Kept until", claim.kept_until && fullTime(claim.kept_until)],
  ]).filter(([, value]) => value !== undefined && value !== "");
  return h("div", { class: "story" },
    h("p", { class: `summary ${claim.state}` }, summaryOf(claim)),
    claim.state === "busy" && leaseBar(claim, signal),
    h("dl", { class: "facts" }, rows.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value)))),
    "failure" in claim && h("section", null, h("h2", null, claim.state === "free" ? "Failure of the last attempt" : "Failure"), valueText(claim.failure, "Failure")),
    "result" in claim && h("section", null, h("h2", null, "Result"), valueText(claim.result, "Result")),
    claim.previous && h("section", null, h("h2", null, `Failure of attempt ${claim.previous.attempt}`), valueText(claim.previous.failure, "Previous failure")));
}

/** @param {Claim} claim */
function summaryOf(claim) {
  switch (claim.state) {
    case "abandoned":
      return ["Stuck: its lease ended ", timeText(claim.lease_until), " and its holder neither finished nor gave up. The next worker that asks takes it over."];
    case "busy": return ["A worker has it. Others are told to come back until the lease ends."];
    case "failed": return ["It failed for good. Every caller gets this failure until the record ends, or somebody retries it."];
    case "free": return ["Free for another attempt, after one that failed."];
    case "done": return ["Done. Every caller gets this result until the record ends."];
    default: return ["Its record is damaged. Forget it to make the key usable again."];
  }
}

/** @param {Claim} claim @param {AbortSignal} signal */
function leaseBar(claim, signal) {
  const start = Date.parse(claim.claimed_at ?? "");
  const end = Date.parse(claim.lease_until ?? "");
  const inner = h("div", { class: "fill" });
  const text = h("span", { class: "muted" });
  const bar = h("div", { class: "bar", role: "progressbar", "aria-label": "Lease", "aria-valuemin": 0, "aria-valuemax": 100 }, inner);
  const draw = () => {
    const left = Math.max(0, Math.min(1, (end - Date.now()) / Math.max(1, end - start)));
    inner.style.setProperty("width", `${left * 100}%`);
    bar.setAttribute("aria-valuenow", String(Math.round(left * 100)));
    show(text, end > Date.now() ? `${duration((end - Date.now()) / 1000)} of its lease are left` : "its lease is over");
  };
  draw();
  const timer = setInterval(() => (bar.isConnected ? !document.hidden && draw() : clearInterval(timer)), 500);
  signal.addEventListener("abort", () => clearInterval(timer));
  return h("div", { class: "lease" }, bar, text);
}
