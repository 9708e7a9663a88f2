// The frame around the views: header, navigation, the list beside the details, and announcements for screen readers.
import { fill, h } from "../dom.js";
import { icon } from "../icons.js";
import { hrefOf } from "../routes.js";
import { texts } from "../texts.js";

const links = [["list", "inbox", texts.inbox], ["settings", "settings", texts.settings.heading]];

/** Builds the frame: `{ list, detail, select, announce, setOffline }`. */
export function shell(body) {
    const list = h("section", { class: "pane list", "aria-label": texts.inbox });
    const detail = h("section", { class: "pane detail" });
    const status = h("div", { class: "hidden", role: "status", "aria-live": "polite" });
    const notice = h("p", { class: "notice", hidden: true }, texts.offline);
    const items = links.map(([page, name, text]) => h("a", { href: hrefOf({ page }), "data-page": page }, icon(name), h("span", {}, text)));
    const nav = h("nav", { "aria-label": texts.navigation }, ...items);
    fill(body,
        h("a", { class: "skip", href: "#main", onclick: (event) => {
            event.preventDefault();
            document.getElementById("main").focus();
        } }, texts.skip),
        h("header", {}, h("a", { class: "brand", href: hrefOf({ page: "list" }) },
            h("img", { src: "icons/icon.svg", alt: "", width: "28", height: "28" }), h("span", {}, texts.name)), nav),
        notice, h("main", { id: "main", tabindex: "-1" }, list, detail), status);
    return {
        list, detail,
        /** Shows which page is open; `isBare` hides list and navigation. */
        select(page, isBare) {
            body.dataset.page = page;
            body.dataset.bare = isBare;
            for (const item of items) {
                const isCurrent = item.dataset.page === (page === "item" ? "list" : page === "list" ? "list" : "settings");
                if (isCurrent) item.setAttribute("aria-current", "page");
                else item.removeAttribute("aria-current");
            }
        },
        announce(text) {
            // A new node is read even if it says the same.
            fill(status, h("span", {}, text));
        },
        setOffline(isOffline) {
            notice.hidden = !isOffline;
        },
    };
}
