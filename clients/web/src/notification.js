// How an item is shown as a notification.
import { kindOf, offeredActions } from "./items.js";
import { hrefOfItem } from "./routes.js";
import { texts } from "./texts.js";

const bodyCharactersMax = 600;
/** The longest request that can be allowed from its notification: systems show a few lines of it. */
const requestCharactersMax = 400;
/**
 * The replies that an item's notification may offer. Never `always`, which would outlast the request and could be sent by mistake;
 * `once` only for short text, and not for an agent's full request, which can be allowed only where it is shown in full.
 */
export function quickActionsOf(item, pairing) {
    const isShort = item.asked === undefined && (item.body ?? "").length <= requestCharactersMax;
    return (isShort ? ["once", "reject"] : ["reject"]).filter((action) => offeredActions(item, pairing).includes(action));
}

/**
 * The title and options for `showNotification`.
 *
 * @param pairing The item's pairing, if known.
 * @param isNamed Whether to name the pairing, because there are several.
 */
export function notificationOf(item, { pairing, isNamed = false, base = "" }) {
    const general = texts.general(item.type);
    const marks = [texts.replay(item.replay), pairing?.keys && !item.isOpened && !item.isSealed ? texts.notEncrypted : undefined,
        item.asked?.isCut ? texts.cut : undefined];
    const lines = [
        [...marks, isNamed ? pairing?.name : undefined].filter(Boolean).join(" · "), item.subtitle,
        item.body ?? (item.title ? undefined : general.body),
    ];
    const text = lines.filter(Boolean).join("\n");
    const quick = quickActionsOf(item, pairing);
    const isUrgent = item.type === "permission" || item.level === "time-sensitive" || item.level === "critical";
    return {
        title: item.title ?? general.title,
        options: {
            body: text.length > bodyCharactersMax ? `${text.slice(0, bodyCharactersMax)}… (${texts.cut})` : text,
            tag: tagOf(item), renotify: true, silent: item.isSilent === true || item.level === "passive",
            requireInteraction: isUrgent && item.level !== "passive", timestamp: item.at,
            icon: base + "icons/icon-192.png", badge: base + "icons/badge.png", lang: "en", dir: "auto",
            // Safari requires it to replace a declared notification, and opens it if the worker doesn't.
            navigate: base + hrefOfItem(item.key),
            data: { item },
            ...(quick.length > 0 ? { actions: quick.map((action) => ({ action, title: texts.action(action) })) } : {}),
        },
    };
}

/**
 * The tag of an item's notification. A new notification replaces the last one of its session. A request that is waiting for an
 * answer has its own tag, so that nothing else replaces its notification.
 */
export function tagOf(item) {
    if (item.actions.length > 0 || kindOf(item) === "question" || item.sessionID === undefined) return `item ${item.key}`;
    return `session ${item.pairing ?? "-"} ${item.sessionID}`.slice(0, 256);
}
