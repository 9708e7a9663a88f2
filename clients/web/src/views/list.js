// The list of what rang.
import { confirm, fill, foreign, h, refill } from "../dom.js";
import { icon, typeIcon } from "../icons.js";
import { byDay, filtered, kindOf, offeredActions, sessionsOf, unreadCount } from "../items.js";
import { isFinal } from "../answering.js";
import { hrefOfItem } from "../routes.js";
import { texts } from "../texts.js";

const kinds = [[undefined, texts.list.all], ["unread", texts.list.onlyUnread], ["permission", texts.list.requests],
    ["complete", texts.list.done], ["error", texts.list.errors]];
const previewCharactersMax = 240;

/** The list: `update` redraws it. */
export function listView(app, { announce }) {
    const head = h("div", { class: "head" });
    const tools = h("div", { class: "tools" });
    const banner = h("div", {});
    const content = h("div", { class: "items" });
    const element = h("div", { class: "scroll" }, head, banner, tools, content);

    const choose = (change) => {
        app.filter = { ...app.filter, ...change };
        app.changed();
    };
    const clear = async () => {
        const { clearTitle: title, clearText: text, clear: action, cleared } = texts.list;
        if (!(await confirm({ title, text, action, cancel: texts.cancel }))) return;
        await app.clearItems();
        announce(cleared);
    };

    function update(selected) {
        const { items, filter } = app;
        const shown = filtered(items, filter);
        const unread = unreadCount(items);
        refill(head,
            h("div", {}, h("h1", { id: "list-title", tabindex: "-1" }, texts.list.heading),
                h("p", { class: "quiet" }, unread > 0 ? texts.list.unread(unread) : texts.list.allRead)),
            h("div", { class: "buttons" },
                h("button", { id: "read-all", class: "button small", type: "button", disabled: unread === 0,
                    onclick: () => app.markRead(app.items) }, texts.list.markAllRead),
                h("button", { id: "clear", class: "button small", type: "button", disabled: items.length === 0, onclick: clear },
                    texts.list.clear)));
        fill(banner, ringBanner(app));
        refill(tools, items.length > 0 && filters(app, choose));
        refill(content, body(app, shown, selected, choose));
    }
    return { element, update };
}

/** Says that this device doesn't ring, and leads to the settings. */
function ringBanner({ ring, pairings }) {
    const words = ["offline", "unsupported"].includes(ring) ? undefined : texts.ring.hints[ring];
    if (!words || pairings.length === 0) return undefined;
    return h("a", { class: "banner", href: "#/settings" }, icon("notify"), h("span", {}, words), icon("next"));
}

function filters({ items, filter }, choose) {
    const sessions = sessionsOf(items);
    const session = sessions.length > 1 && h("select", {
        id: "filter-session", "aria-label": texts.list.session, onchange: ({ target }) => choose({ session: target.value || undefined }),
    }, h("option", { value: "" }, texts.list.allSessions),
    ...sessions.slice(0, 100).map(({ id, name }) => h("option", { value: id, selected: filter.session === id }, name?.slice(0, 60) ?? "")));
    return [
        h("div", { class: "chips", role: "group", "aria-label": texts.list.filters }, ...kinds.map(([kind, text]) => h("button", {
            id: `filter-${kind ?? "all"}`, class: "chip", type: "button", "aria-pressed": String(filter.kind === kind),
            onclick: () => choose({ kind }),
        }, text))),
        session,
    ];
}

function body(app, shown, selected, choose) {
    if (app.items.length === 0) {
        return h("div", { class: "empty" }, h("div", { class: "disc" }, icon("inbox")), h("h2", {}, texts.list.emptyTitle),
            h("p", {}, texts.list.emptyText), app.isHistoryOff && h("p", { class: "quiet" }, texts.list.historyOff));
    }
    if (shown.length === 0) {
        return h("div", { class: "empty" }, h("h2", {}, texts.list.noneTitle), h("p", {}, texts.list.noneText),
            h("button", { class: "button", type: "button", onclick: () => choose({ kind: undefined, session: undefined }) },
                texts.list.showAll));
    }
    return [
        ...byDay(shown).map(({ day, items }) => h("section", { "aria-label": texts.day(day) }, h("h2", { class: "day" }, texts.day(day)),
            h("ul", {}, ...items.map((item) => h("li", {}, row(app, item, item.key === selected)))))),
        app.hasOlder && h("button", { id: "older", class: "button wide", type: "button", onclick: () => app.loadOlder() },
            texts.list.older),
        app.isHistoryOff && h("p", { class: "quiet foot" }, texts.list.historyOff),
    ];
}

function row(app, item, isSelected) {
    const pairing = app.pairing(item.pairing);
    const general = texts.general(item.type);
    const isOpen = offeredActions(item, pairing).length > 0 && !item.reply && !item.outcome;
    const { reply } = item;
    const tag = isOpen ? h("span", { class: "tag waiting" }, texts.list.waiting)
        : reply && h("span", { class: `tag ${isFinal(reply.fate) && reply.fate !== "taken" ? "failed" : "done"}` },
            texts.list.answered(reply.action));
    return h("a", {
        id: `row-${item.key}`, class: "row", href: hrefOfItem(item.key), "data-type": item.type,
        "data-unread": item.readAt ? undefined : "yes",
        "aria-current": isSelected ? "true" : undefined,
    },
    h("span", { class: "disc" }, typeIcon(kindOf(item))),
    h("span", { class: "words" },
        h("span", { class: "line" }, !item.readAt && h("span", { class: "dot" },
            h("span", { class: "hidden" }, `${texts.list.isUnread}. `)),
            foreign("strong", {}, item.title ?? general.title),
            h("time", { datetime: new Date(item.at).toISOString() }, texts.clock(item.at))),
        foreign("span", { class: "preview" }, (item.body ?? general.body).slice(0, previewCharactersMax)),
        h("span", { class: "tags" }, tag, item.asked?.isCut && h("span", { class: "tag" }, texts.cut),
            item.replay && h("span", { class: "tag" }, texts.replay(item.replay)),
            pairing?.keys && !item.isSealed && h("span", { class: "tag failed" }, texts.notEncrypted),
            app.pairings.length > 1 && pairing && foreign("span", { class: "tag" }, pairing.name))));
}
