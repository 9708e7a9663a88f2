// Builds elements. Text only ever becomes text nodes, so nothing in it is read as HTML.

const namespace = "http://www.w3.org/2000/svg";

/** An element with attributes, listeners (`onclick`) and children: elements, strings, or nothing. */
export function h(name, attributes = {}, ...children) {
    return build(document.createElement(name), attributes, children);
}

/** An SVG element with attributes, listeners and children. */
export function svg(name, attributes = {}, ...children) {
    return build(document.createElementNS(namespace, name), attributes, children);
}

function build(element, attributes, children) {
    for (const [key, value] of Object.entries(attributes)) {
        if (value === undefined || value === null || value === false) continue;
        if (typeof value === "function") element.addEventListener(key.slice(2), value);
        else if (key === "value" || key === "checked") element[key] = value;
        else element.setAttribute(key, value === true ? "" : value);
    }
    fill(element, ...children);
    return element;
}

/** Replaces an element's children. */
export function fill(element, ...children) {
    const nodes = children.flat(3).filter((child) => child !== undefined && child !== null && child !== false && child !== "");
    element.replaceChildren(...nodes.map((child) => (child instanceof Node ? child : document.createTextNode(String(child)))));
    return element;
}

/** Replaces an element's children, and keeps the keyboard focus on the element with the same ID. */
export function refill(element, ...children) {
    const { activeElement } = document;
    const id = element.contains(activeElement) ? activeElement.id : "";
    fill(element, ...children);
    if (!id) return;
    // The focused element may be gone, such as a button that was pressed.
    (document.getElementById(id) ?? element.querySelector("h1"))?.focus({ preventScroll: true });
}

/** Text from others, isolated so that its direction doesn't affect anything around it. */
export function foreign(name, attributes, text) {
    return h(name, { dir: "auto", ...attributes }, text);
}

/** Asks before something that can't be undone. Resolves to whether the person agreed. */
export function confirm({ title, text, action, cancel, isDangerous = true }) {
    return new Promise((resolve) => {
        // Removed at once: the event "close" comes later, when another dialog may already be open.
        const end = (isAgreed) => () => {
            resolve(isAgreed);
            dialog.close();
            dialog.remove();
        };
        const dialog = h("dialog", { class: "dialog", "aria-labelledby": "dialog-title", onclose: end(false) },
        h("h2", { id: "dialog-title" }, title), h("p", {}, text),
        h("div", { class: "buttons end" },
            h("button", { class: "button", type: "button", onclick: end(false) }, cancel),
            h("button", { class: isDangerous ? "button danger" : "button primary", type: "button", onclick: end(true) }, action)));
        document.body.append(dialog);
        dialog.showModal();
    });
}
