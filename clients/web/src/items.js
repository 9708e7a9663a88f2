// The items of the list: what rang. An item comes from a push, from the relay's history, or from both.
import { actionsOf, cut, isObject, levelOf } from "./message.js";
import { askedOf } from "./questions.js";

export const itemsMax = 500;
const aheadMilliseconds = 86_400_000;

/** The key of an item: the same for the push and for the history's item of one event. */
export function keyOf(pairingID, eventID, fallback) {
    return `${pairingID ?? "-"}.${eventID ?? fallback}`;
}

/** The members that an opened text replaces. What the relay says isn't authentic, so these members keep none of it. */
export function membersOfContent(content) {
    const notification = isObject(content.notification) ? content.notification : {};
    return {
        title: cut(content.title), subtitle: cut(notification.subtitle), body: cut(content.body), eventID: cut(content.eventID),
        sessionID: cut(content.sessionID), serverID: cut(content.serverID), category: cut(notification.category),
        actions: actionsOf(notification.actions), level: levelOf(notification.interruptionLevel),
        asked: askedOf(content.request),
        // A wrong clock must not keep an item at the top for ever.
        at: Math.min(content.sentAt * 1000, Date.now() + aheadMilliseconds),
    };
}

/** How an item's text travelled: `sealed` (opened here), `locked` (can't be opened), `open` (readable by the relay). */
export function protectionOf({ isSealed, isOpened }) {
    return isSealed ? (isOpened ? "sealed" : "locked") : "open";
}

/** Replies that allow something, so the sender's seal must prove what they allow. */
const approvals = ["once", "always", "answer"];

/**
 * What a person may reply to an item. A pairing with a key approves only what its sender sealed: the relay could show a
 * harmless text with another request's ID. Other readable questions get readable replies, which no sender with a key
 * accepts. A request that isn't shown in full can only be rejected, and questions have the action `answer`.
 */
export function offeredActions(item, pairing, now = Date.now()) {
    const { asked, actions } = item;
    if (!item.eventID || !pairing || isOver(item, now)) return [];
    if (pairing.keys && !item.isOpened) return item.isSealed || actions.some((action) => approvals.includes(action)) ? [] : actions;
    if (asked?.isCut) return actions.filter((action) => action === "reject");
    return pairing.keys && asked?.questions.length > 0 ? [...new Set(["answer", ...actions])] : actions;
}

/** What an item is shown as: its type, or a question. */
export function kindOf({ type, asked }) {
    return asked?.questions.length > 0 ? "question" : type;
}

/** Whether the sender is no longer waiting for an answer. */
export function isOver({ asked }, now = Date.now()) {
    return asked?.end !== undefined && asked.end * 1000 <= now;
}

const contentNames = [
    "title", "subtitle", "body", "type", "eventID", "sessionID", "serverID", "category", "actions", "level", "at", "isSealed", "isOpened",
    "asked",
];

/** An item with what another source says about the same event. An opened text is never mixed with what the relay says. */
export function merged(own, other) {
    if (!own) return other;
    const { readAt, historyID, replay, reply, outcome } = own;
    return {
        ...other, ...own, ...contentOf(own, other), readAt: readAt ?? other.readAt, historyID: historyID ?? other.historyID,
        replay: replay ?? other.replay, reply: reply ?? other.reply, outcome: outcome ?? other.outcome,
    };
}

function contentOf(own, other) {
    const content = (item) => contentNames.map((name) => [name, item[name]]);
    if (own.isOpened || other.isOpened) return Object.fromEntries(content(other.isOpened ? other : own));
    const known = content(other).filter(([, value]) => value !== undefined && value?.length !== 0);
    return { ...Object.fromEntries(content(own)), ...Object.fromEntries(known) };
}

/** Newest first. Sealed times are whole seconds, so the order of arrival decides among equal times. */
export function sorted(items) {
    const order = (one, other) => other.at - one.at || (other.receivedAt ?? 0) - (one.receivedAt ?? 0) || (one.key < other.key ? 1 : -1);
    return [...items].sort(order);
}

/** Items that pass a filter: `kind` (an event type, or `unread`), `session`, `pairing`; each may be absent. */
export function filtered(items, { kind, session, pairing }) {
    return items.filter((item) =>
        (!kind || (kind === "unread" ? !item.readAt : item.type === kind))
        && (!session || sessionOf(item) === session) && (!pairing || item.pairing === pairing));
}

/** Identifies an item's session among all pairings; undefined if it has none. */
export function sessionOf({ pairing, sessionID }) {
    return sessionID === undefined ? undefined : `${pairing ?? "-"} ${sessionID}`;
}

/** The sessions of these items, the latest first: `{ id, name }`. */
export function sessionsOf(items) {
    const names = new Map();
    for (const item of sorted(items)) {
        const id = sessionOf(item);
        if (id !== undefined && !names.has(id)) names.set(id, titleOfSession(item));
    }
    return [...names].map(([id, name]) => ({ id, name }));
}

/** The bridge writes the kind of event before the session's title. */
function titleOfSession({ title, sessionID }) {
    return title?.replace(/^(Action needed|Question|Error): /i, "") ?? sessionID;
}

export function unreadCount(items) {
    return items.filter((item) => !item.readAt).length;
}

/** Groups of items by local day, for headings: `[{ day, items }]`, where `day` is the day's first moment. */
export function byDay(items) {
    const groups = [];
    for (const item of items) {
        const day = new Date(item.at).setHours(0, 0, 0, 0);
        if (groups.at(-1)?.day !== day) groups.push({ day, items: [] });
        groups.at(-1).items.push(item);
    }
    return groups;
}
