// Tables, facts and states, as all views show them.
import { foreign, h } from "./dom.js";
import { moment } from "./format.js";

/** A table. Columns are `{ name, isNumber }`; cells are nodes or strings. */
export function table(title, columns, rows, empty) {
    if (rows.length === 0) return h("p", { class: "none" }, empty);
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, h("table", {},
        h("thead", {}, h("tr", {}, columns.map(({ name, isNumber }) => h("th", { scope: "col", class: isNumber && "number" }, name)))),
        h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell, place) => h("td", { class: columns[place].isNumber && "number" }, cell)))))));
}

/** A section with a heading. */
export const section = (title, ...children) => h("section", { class: "card" }, h("h2", {}, title), children);

/** A word with the colour of a state. */
export const badge = (tone, text) => h("span", { class: `badge ${tone}` }, text);

/** Text that somebody else chose. */
export const other = (text, name = "span") => foreign(name, { class: "other" }, text);

/** A time on one line. */
export const when = (time) => h("time", { class: "moment" }, moment(time));
