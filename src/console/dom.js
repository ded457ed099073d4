// Elements, made of text and other elements. Nothing stored is ever parsed as markup.

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, any>} Properties */

/**
 * @param {Element} element
 * @param {Properties} properties `on…` are listeners, `style` goes through CSSOM, the rest are attributes.
 */
function apply(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else if (name === "style") {
      for (const [property, text] of Object.entries(value)) {
        /** @type {HTMLElement} */ (element).style.setProperty(property, String(text));
      }
    } else if (name === "value") {
      /** @type {HTMLInputElement} */ (element).value = value;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

/**
 * @param {Element} element
 * @param {(Child | Child[])[]} children
 */
function fill(element, children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Properties | null} [properties]
 * @param {(Child | Child[])[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  if (properties) apply(element, properties);
  fill(element, children);
  return element;
}

/**
 * @param {string} tag
 * @param {Properties | null} [properties]
 * @param {(Child | Child[])[]} children
 * @returns {SVGElement}
 */
export function svg(tag, properties, ...children) {
  const element = /** @type {SVGElement} */ (document.createElementNS("http://www.w3.org/2000/svg", tag));
  if (properties) apply(element, properties);
  fill(element, children);
  return element;
}

/**
 * Replaces what an element has.
 * @param {Element} element
 * @param {(Child | Child[])[]} children
 */
export function show(element, ...children) {
  element.replaceChildren();
  fill(element, children);
}

/**
 * Makes these the children, in this order, and leaves those alone that are in place: what is pressed on can then be clicked.
 * @param {Element} element
 * @param {Iterable<Element>} children
 */
export function arrange(element, children) {
  const kept = new Set(children);
  for (const child of [...element.children]) if (!kept.has(child)) child.remove();
  let next = element.firstElementChild;
  for (const child of kept) {
    if (child === next) next = next.nextElementSibling;
    else element.insertBefore(child, next);
  }
}

let ids = 0;
/** An id that no other element has. */
export function newId() {
  ids += 1;
  return `n${ids}`;
}

/**
 * A labelled field.
 * @param {string} label
 * @param {HTMLElement} control
 * @param {string} [hint]
 */
export function field(label, control, hint) {
  if (!control.id) control.id = newId();
  const note = hint ? h("span", { class: "hint", id: newId() }, hint) : null;
  if (note) control.setAttribute("aria-describedby", note.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, note);
}

/**
 * @param {string} text
 * @param {() => void} act
 * @param {Properties} [more]
 */
export function button(text, act, more = {}) {
  return h("button", { type: "button", onclick: act, ...more }, text);
}
