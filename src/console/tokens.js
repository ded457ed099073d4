// Tokens: who may come in. A new one is shown once.
import { call, encoded, get, learnAccess, post, session } from "./api.js";
import { button, field, h, newId, show } from "./dom.js";
import { isDuration, oneLine } from "./format.js";
import { ask, emptyBox, emptyRow, errorBox, heading, isLeft, loadingBox, messageOf, openDialog, tell, timeText } from "./page.js";

/** @typedef {import("./api.js").Token} Token */

/** @param {import("./page.js").Context} context */
export function tokensView({ main, signal }) {
  const room = h("div", null, loadingBox());
  const make = session.isAdmin && button("New token", () => askForNew(load), { class: "primary" });
  show(main, heading("Tokens", make), room);
  if (!session.isAdmin) {
    show(room, emptyBox("Not for this token", "Tokens are seen and made with one that is for all namespaces and not read-only."));
    return;
  }

  async function load() {
    try {
      const answer = await get("/v1/tokens", { signal });
      show(room, answer.damaged && h("p", { class: "warning" }, `${answer.damaged.length} tokens have damaged records: once token revoke ID removes them.`),
        tableOf(answer.tokens, load));
    } catch (error) {
      if (!isLeft(error, signal)) show(room, errorBox(error, load));
    }
  }
  load();
}

/** @param {Token[]} tokens @param {() => void} changed */
function tableOf(tokens, changed) {
  const names = ["Label", "Namespace", "Rights", "Made", "Expires", "Id", "Action"];
  return h("div", { class: "scroll" }, h("table", { "aria-label": "Tokens" },
    h("thead", null, h("tr", null, names.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", null, tokens.length === 0 && emptyRow(names.length, emptyBox("No tokens yet", session.open
      ? "Every caller on this machine may do everything. The first token closes the server to callers without one, for good."
      : "Nobody can come in.")), tokens.map((token) => h("tr", null,
      h("td", null, token.label ? h("bdi", null, oneLine(token.label, 80)) : h("span", { class: "muted" }, "–")),
      h("td", null, token.namespace ?? h("span", { class: "tag" }, "all")),
      h("td", null, token.read_only ? "read" : "read and write"),
      h("td", null, timeText(token.created_at)),
      h("td", null, token.expires_at ? timeText(token.expires_at) : "never"),
      h("td", { class: "mono muted", title: token.id }, `${token.id.slice(0, 12)}…`),
      h("td", null, button("Revoke", () => askToRevoke(token, changed), { class: "danger" })))))));
}

/** @param {Token} token @param {() => void} changed */
function askToRevoke(token, changed) {
  ask({
    title: "Revoke this token?",
    text: [h("p", null, h("bdi", null, oneLine(token.label || "without a label", 80)), h("span", { class: "muted mono" }, ` ${token.id.slice(0, 12)}…`)),
      h("p", null, "Whoever uses it is refused from now on. This cannot be undone. The server stays closed to callers without a token.")],
    action: "Revoke",
    danger: true,
    run: async () => {
      await call("DELETE", `/v1/tokens/${encoded(token.id)}`);
      tell("The token was revoked");
      await learnAccess();
      if (session.access === "none") location.reload();
      else changed();
    },
  });
}

/** @param {() => void} changed */
function askForNew(changed) {
  const label = h("input", { type: "text", maxlength: 200, autocomplete: "off" });
  const namespace = h("input", { type: "text", placeholder: "all", autocomplete: "off", spellcheck: "false" });
  const expires = h("input", { type: "text", placeholder: "never", autocomplete: "off" });
  const readOnly = h("input", { type: "checkbox" });
  const failure = h("div", { role: "alert" });
  const title = h("h2", { id: newId() }, "New token");
  const check = field("Read-only", readOnly);
  check.classList.add("check");
  const dialog = h("dialog", { "aria-labelledby": title.id });
  const form = h("form", null, title, field("Label", label), field("For namespace", namespace, "Empty: for all of them."),
    field("Expires after", expires, "Such as 90d or 12h."), check, failure,
    h("div", { class: "buttons" }, button("Cancel", () => dialog.close()), h("button", { type: "submit", class: "primary" }, "Create")));
  dialog.append(form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const life = expires.value.trim();
    if (life && !isDuration(life)) {
      show(failure, h("p", { class: "error" }, "A duration is a number and a unit, such as 90d."));
      return;
    }
    try {
      /** @type {Token} */
      const token = await post("/v1/tokens", { label: label.value, read_only: readOnly.checked,
        ...(namespace.value.trim() && { namespace: namespace.value.trim() }), ...(life && { expires: life }) });
      await made(token, dialog, changed);
    } catch (error) {
      show(failure, h("p", { class: "error" }, messageOf(error)));
    }
  });
  openDialog(dialog);
}

/**
 * The first token closes the server: then this tab uses it, if it may see all.
 * @param {Token} token
 * @param {HTMLDialogElement} dialog
 * @param {() => void} changed
 */
async function made(token, dialog, changed) {
  const isFirst = session.open;
  if (isFirst && !token.read_only && token.namespace === null) session.token = token.token ?? "";
  const title = h("h2", { id: newId() }, "Your new token");
  dialog.setAttribute("aria-labelledby", title.id);
  show(dialog, title, h("p", null, "Copy it now. It is shown once, and stored nowhere: only its hash is."),
    h("code", { class: "once" }, token.token),
    isFirst && h("p", { class: "warning" }, "It is the first: from now on every caller of this server needs a token."),
    h("div", { class: "buttons" }, button("Copy", () => navigator.clipboard?.writeText(token.token ?? "").then(() => tell("Copied"), () => {})),
      button("Done", () => dialog.close(), { class: "primary" })));
  await learnAccess();
  if (session.access === "none") dialog.addEventListener("close", () => location.reload());
  else changed();
}
