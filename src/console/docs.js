// Documents: the list, one document, and its change under the ETag that was seen.
import { call, encoded, listPage, Problem, session } from "./api.js";
import { button, field, h, newId, show } from "./dom.js";
import { bytes, visible } from "./format.js";
import { listView } from "./list.js";
import { ask, emptyBox, errorBox, here, isLeft, itemHeading, keyLink, loadingBox, messageOf, openDialog, tell } from "./page.js";

/** @typedef {import("./page.js").Context} Context */
/** @typedef {{ etag: string, type: string, bytes: Uint8Array, text: string | null }} Content A text of null: these bytes are none. */

const kMostShown = 200_000;

/** @param {Context} context */
export function docsView(context) {
  listView(context, {
    view: "docs",
    title: "Documents",
    what: "documents",
    one: "document",
    actions: [session.mayWrite && button("New document", askForNew)],
    columns: [
      { name: "Key", cell: (doc) => keyLink("docs", doc.key) },
      { name: "Type", cell: (doc) => visible(doc.content_type) },
      { name: "Size", cell: (doc) => bytes(doc.bytes), class: "number" },
      { name: "ETag", cell: (doc) => h("span", { class: "mono muted" }, doc.etag) },
    ],
    load: (query, page) => listPage("/v1/docs", "docs", { prefix: query.prefix }, page),
    empty: ["A document appears when it is put: ", h("code", null, "once doc put KEY --create TEXT"), "."],
  });
}

function askForNew() {
  const key = h("input", { type: "text", required: true, spellcheck: "false", autocomplete: "off" });
  const type = h("input", { type: "text", value: "application/json", spellcheck: "false" });
  const content = h("textarea", { rows: 8, spellcheck: "false" });
  const failure = h("div", { role: "alert" });
  const title = h("h2", { id: newId() }, "New document");
  const dialog = h("dialog", { "aria-labelledby": title.id });
  const form = h("form", null, title, field("Key", key), field("Content type", type), field("Content", content), failure,
    h("div", { class: "buttons" }, button("Cancel", () => dialog.close()), h("button", { type: "submit", class: "primary" }, "Create")));
  dialog.append(form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await call("PUT", `/v1/docs/${encoded(key.value)}`, { body: content.value, headers: { "If-None-Match": "*", "Content-Type": type.value } });
      dialog.close();
      location.hash = here("docs", key.value);
    } catch (error) {
      const isTaken = error instanceof Problem && error.status === 412;
      show(failure, h("p", { class: "error" }, isTaken ? "There is a document of this key already." : messageOf(error)));
    }
  });
  openDialog(dialog);
}

/**
 * @param {string} key
 * @param {AbortSignal} signal
 * @returns {Promise<Content>}
 */
async function read(key, signal) {
  const response = await call("GET", `/v1/docs/${encoded(key)}`, { signal, headers: { Accept: "*/*" } });
  const content = new Uint8Array(await response.arrayBuffer());
  /** @type {string | null} */
  let text = null;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    // Bytes that are no text.
  }
  return { etag: response.headers.get("ETag") ?? "", type: response.headers.get("Content-Type") ?? "", bytes: content, text };
}

/**
 * As it is, if it is not JSON.
 * @param {Content} content
 */
function indented(content) {
  if (content.text === null || !/json/.test(content.type) || content.text.length > kMostShown) return content.text ?? "";
  try {
    return JSON.stringify(JSON.parse(content.text), null, 2);
  } catch {
    return content.text;
  }
}

/** @param {Context} context */
export function docView({ main, address, signal }) {
  const key = address.name ?? "";
  const buttons = h("span", { class: "actions" });
  const room = h("div", null, loadingBox());
  show(main, itemHeading("Document", "docs", key, buttons), room);

  async function load() {
    try {
      draw(await read(key, signal));
    } catch (error) {
      if (isLeft(error, signal)) return;
      show(buttons);
      const isGone = error instanceof Problem && error.status === 404;
      show(room, isGone ? emptyBox("No such document", "It was removed, or its time is over. ", h("a", { href: here("docs") }, "All documents")) : errorBox(error, load));
    }
  }

  /** @param {Content} content */
  function draw(content) {
    show(buttons, button("Refresh", load), button("Download", () => download(key, content)),
      session.mayWrite && content.text !== null && button("Edit", () => edit(content, indented(content)), { class: "primary" }),
      session.mayWrite && button("Delete", () => askToDelete(key, content), { class: "danger" }));
    show(room, factsOf(content), contentBox(content, "Content"));
  }

  /** @param {Content} seen @param {string} text */
  function edit(seen, text) {
    const area = h("textarea", { rows: Math.max(8, Math.min(28, text.split("\n").length + 1)), spellcheck: "false", value: text });
    const failure = h("div", { role: "alert" });
    const save = button("Save", () => put(seen, area.value, save, failure), { class: "primary" });
    show(buttons);
    show(room, factsOf(seen), field("Content", area), failure, h("div", { class: "buttons" }, button("Cancel", load), save));
    area.focus();
  }

  /**
   * Writes over what was seen, and nothing else.
   * @param {Content} seen @param {string} text @param {HTMLButtonElement} save @param {HTMLElement} failure
   */
  async function put(seen, text, save, failure) {
    if (/json/.test(seen.type)) {
      try {
        JSON.parse(text);
      } catch (error) {
        show(failure, h("p", { class: "error" }, `This is not JSON: ${error instanceof Error ? error.message : ""}`));
        return;
      }
    }
    save.disabled = true;
    try {
      const now = await read(key, signal);
      if (now.etag !== seen.etag) return conflict(now, text);
      await call("PUT", `/v1/docs/${encoded(key)}`, { body: text, headers: { "If-Match": seen.etag, "Content-Type": seen.type } });
      tell(`${key} was saved`);
      await load();
    } catch (error) {
      if (isLeft(error, signal)) return;
      if (error instanceof Problem && error.status === 412) {
        return conflict(await read(key, signal), text);
      }
      show(failure, h("p", { class: "error" }, messageOf(error)));
    } finally {
      save.disabled = false;
    }
  }

  /**
   * Both, side by side.
   * @param {Content} now
   * @param {string} mine
   */
  function conflict(now, mine) {
    const area = h("textarea", { rows: 12, spellcheck: "false", value: mine });
    const failure = h("div", { role: "alert" });
    const save = button("Save mine over it", () => put(now, area.value, save, failure), { class: "danger" });
    show(buttons);
    show(room, h("p", { class: "warning", role: "alert" }, "Conflict: somebody else has changed this document while you edited it. Nothing was written."),
      h("div", { class: "sides" }, field("Yours", area), h("div", { class: "field" }, h("span", { class: "muted" }, "Stored now"), contentBox(now, "Stored now"))),
      failure, h("div", { class: "buttons" }, button("Take what is stored", load), save));
    area.focus();
  }

  load();
}

/** @param {Content} content */
function factsOf(content) {
  const facts = [["Type", visible(content.type)], ["Size", bytes(content.bytes.length)], ["ETag", content.etag]];
  return h("dl", { class: "facts" }, facts.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", { class: name === "ETag" ? "mono" : "" }, value))));
}

/** @param {Content} content @param {string} name */
function contentBox(content, name) {
  const text = content.text === null ? hexOf(content.bytes) : visible(indented(content).slice(0, kMostShown));
  const isCut = content.text !== null && content.text.length > kMostShown;
  return h("div", { class: "content" }, h("pre", { class: "value", tabindex: "0", role: "region", "aria-label": name }, text),
    isCut && h("p", { class: "muted" }, `The first ${kMostShown.toLocaleString("en")} characters. Download has all of it.`));
}

/**
 * The first bytes, for what is no text.
 * @param {Uint8Array} content
 */
function hexOf(content) {
  const lines = [];
  for (let at = 0; at < Math.min(content.length, 1_024); at += 16) {
    const row = [...content.subarray(at, at + 16)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = row.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${hex.padEnd(47)}  ${text}`);
  }
  return lines.join("\n");
}

/** @param {string} key @param {Content} content */
function download(key, content) {
  const link = h("a", { href: URL.createObjectURL(new Blob([content.bytes], { type: "application/octet-stream" })), download: key.replace(/[^\w.-]+/g, "_") });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** @param {string} key @param {Content} content */
function askToDelete(key, content) {
  ask({
    title: "Delete this document?",
    text: h("p", null, "It goes, if nobody has changed it since you saw it. This cannot be undone."),
    action: "Delete",
    danger: true,
    run: async () => {
      await call("DELETE", `/v1/docs/${encoded(key)}`, { headers: { "If-Match": content.etag } });
      tell(`${key} was deleted`);
      location.hash = here("docs");
    },
  });
}
