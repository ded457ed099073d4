// What a live log is made of: server-sent events, and a bounded store of the last of them. Pure.

/** @typedef {{ index: number, time: string, data: unknown }} LogEvent */
/** @typedef {{ event: string, id: string, data: string }} ServerEvent */

/** Takes text in any pieces, and gives the events that are complete. */
export class EventParser {
  #rest = "";

  /**
   * @param {string} text
   * @returns {ServerEvent[]}
   */
  push(text) {
    this.#rest += text;
    const blocks = this.#rest.split(/\r?\n\r?\n/);
    this.#rest = blocks.pop() ?? "";
    return blocks.map(parseBlock).filter((one) => one.data !== "" || one.event !== "message");
  }
}

/** @param {string} block */
function parseBlock(block) {
  const found = { event: "message", id: "", data: "" };
  /** @type {string[]} */
  const data = [];
  for (const line of block.split(/\r?\n/)) {
    const at = line.indexOf(":");
    const name = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
    if (name === "data") data.push(value);
    if (name === "event") found.event = value;
    if (name === "id") found.id = value;
  }
  found.data = data.join("\n");
  return found;
}

/** The last events of a log, bounded in number and in characters. */
export class Tail {
  /** @type {{ event: LogEvent, size: number }[]} */
  #items = [];
  #start = 0;
  #characters = 0;

  /**
   * @param {number} [most]
   * @param {number} [mostCharacters]
   */
  constructor(most = 20_000, mostCharacters = 16_000_000) {
    this.most = most;
    this.mostCharacters = mostCharacters;
  }

  get length() {
    return this.#items.length - this.#start;
  }

  /** @param {number} position from 0, the oldest that is kept. */
  at(position) {
    return this.#items[this.#start + position]?.event;
  }

  get first() {
    return this.at(0)?.index ?? 0;
  }

  get last() {
    return this.at(this.length - 1)?.index ?? 0;
  }

  clear() {
    this.#items = [];
    this.#start = 0;
    this.#characters = 0;
  }

  /**
   * Adds one behind the others; how many old ones were dropped for it.
   * @param {LogEvent} event
   * @param {number} size in characters
   */
  push(event, size) {
    if (this.length > 0 && event.index <= this.last) return 0;
    this.#items.push({ event, size });
    this.#characters += size;
    let dropped = 0;
    while (this.length > 1 && (this.length > this.most || this.#characters > this.mostCharacters)) {
      this.#characters -= this.#items[this.#start].size;
      this.#start += 1;
      dropped += 1;
    }
    // Memory is given back now and then, not for each event.
    if (this.#start > this.most) {
      this.#items = this.#items.slice(this.#start);
      this.#start = 0;
    }
    return dropped;
  }
}

/**
 * Which rows of a long list are on the screen, with a few around them.
 * @param {number} count
 * @param {number} height of a row
 * @param {number} top how far it is scrolled
 * @param {number} room of the window
 */
export function visibleRows(count, height, top, room) {
  const before = 8;
  const first = Math.max(0, Math.min(count, Math.floor(top / height)) - before);
  const last = Math.min(count, first + Math.ceil(room / height) + 2 * before);
  return { first, last };
}
