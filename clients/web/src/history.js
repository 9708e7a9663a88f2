// The relay's history of a pairing, if it keeps one.
import { post } from "./api.js";
import { keyOf, membersOfContent } from "./items.js";
import { Envelope } from "./library.js";
import { cut, isObject } from "./message.js";

const itemsPerPage = 50;

/** A page of history: `{ items, next, isOff }`. Throws a `RelayError`. */
export async function historyOf(pairing, { before } = {}) {
    let page;
    try {
        page = await post(pairing, "/v1/history/list", { before, limit: itemsPerPage });
    } catch (error) {
        if (error.code === "history_off") return { items: [], isOff: true };
        throw error;
    }
    const list = Array.isArray(page.items) ? page.items.slice(0, itemsPerPage) : [];
    const items = await Promise.all(list.filter(isObject).map((item) => itemOfHistory(item, pairing)));
    return { items: items.filter(Boolean), next: cut(page.next) };
}

/** One item of the history; undefined if the value isn't an item. */
export async function itemOfHistory(item, pairing) {
    const at = Date.parse(item.createdAt);
    const id = cut(item.id);
    if (id === undefined || !Number.isFinite(at)) return undefined;
    const visible = {
        pairing: pairing.id, historyID: id, at, receivedAt: at, type: cut(item.eventType) ?? "notify", title: cut(item.title),
        body: cut(item.body),
        eventID: cut(item.eventID), sessionID: cut(item.sessionID), serverID: cut(item.serverID), actions: [],
        readAt: Date.parse(item.readAt) || undefined, isSealed: item.sealed !== undefined, isOpened: false,
    };
    const opened = pairing.keys && item.sealed !== undefined ? await open(item, pairing.keys) : {};
    const whole = { ...visible, ...opened };
    return { ...whole, key: keyOf(pairing.id, whole.eventID, id) };
}

async function open({ sealed, eventType }, keys) {
    try {
        const { content } = await Envelope.open({ keys, type: eventType, sealed });
        return { ...membersOfContent(content), isOpened: true };
    } catch {
        return {};
    }
}
