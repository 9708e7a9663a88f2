import { isObject } from "./json.js";

const eventMembers = ["serverID", "eventType", "sessionID", "eventID", "data", "body"];
const relayMembers = ["aps", "sealed", "kind", "actions", "clear", "challengeID", "challengeCode"];
/** What expo-notifications adds to the data that it gives to background tasks. */
const expoMembers = ["dataString", "categoryId", "threadIdentifier"];

/**
 * What a push contains besides its text.
 *
 * The relay writes the members of an event three times: flat beside `aps`, in `data`, and in `body`, which is all that
 * Expo's `content.data` shows on iOS. The sealed string is only beside `aps`.
 */
export class PushPayload {
    /** What the relay sees of the notification's purpose; opening an envelope needs it. */
    type;
    eventType;
    kind;
    sessionID;
    serverID;
    /** The event's ID, for `Relay.acknowledge` and `Relay.reply`; a sealed event has it in its content. */
    eventID;
    sealed;
    title;
    subtitle;
    body;
    /** Selects the app's buttons. */
    category;
    threadID;
    interruptionLevel;
    /** The number for the app's icon. */
    badge;
    /** Whether a notification by Web Push makes no sound. */
    isSilent;
    /** The values that the sender accepts as a reply's `action`; empty if it doesn't specify any. */
    actions;
    /** The sender's own members of a notification (`notification.data`); empty for events. */
    data;
    /** `{ eventID }` if the app is to remove that event's notification. */
    clear;
    /** `{ id, code }` of a registration challenge (docs/reference/api.md, Registration modes). */
    challenge;

    /** Reads a full payload, or only the `data` or `body` of an event. Returns undefined if it is neither. */
    static read(payload) {
        return PushPayload.#read(payload, false);
    }

    static #read(payload, isSilent) {
        if (!isObject(payload)) return undefined;
        const nested = [payload.data, payload.body].filter(isObject);
        const text = (name) => [payload, ...nested].map((part) => own(part, name)).find((value) => value !== undefined);
        const push = new PushPayload();
        push.eventType = text("eventType");
        push.kind = text("kind");
        push.sessionID = text("sessionID");
        push.serverID = text("serverID");
        push.eventID = text("eventID");
        push.sealed = own(payload, "sealed");
        push.type = own(payload, "eventType") ?? own(payload, "kind") ?? "notify";
        const aps = isObject(payload.aps) ? payload.aps : undefined;
        const alert = aps?.alert;
        push.title = isObject(alert) ? own(alert, "title") : undefined;
        push.body = typeof alert === "string" ? alert : isObject(alert) ? own(alert, "body") : undefined;
        push.subtitle = isObject(alert) ? own(alert, "subtitle") : undefined;
        push.category = aps && own(aps, "category");
        push.threadID = aps && own(aps, "thread-id");
        push.interruptionLevel = aps && own(aps, "interruption-level");
        push.badge = Number.isInteger(aps?.badge) ? aps.badge : undefined;
        push.isSilent = isSilent;
        push.actions = Object.freeze(
            Array.isArray(payload.actions) ? payload.actions.filter((action) => typeof action === "string") : []);
        const [id, code] = [text("challengeID"), text("challengeCode")];
        push.challenge = id && code ? { id, code } : undefined;
        const others = own(payload, "eventType") || push.challenge ? [...relayMembers, ...eventMembers] : relayMembers;
        push.data = Object.freeze(aps ? Object.fromEntries(
            Object.entries(payload).filter(([name]) => !others.includes(name))) : {});
        const cleared = isObject(payload.clear) ? own(payload.clear, "eventID") : undefined;
        push.clear = cleared && { eventID: cleared };
        const isPush = aps ?? push.eventType ?? push.kind ?? push.sessionID ?? push.serverID ?? push.sealed ?? push.clear
            ?? push.challenge;
        return isPush === undefined ? undefined : Object.freeze(push);
    }

    /**
     * Reads a service worker's push event, or the JSON of a Web Push message: the text is in `notification`, and the members
     * of APNs' payload are in its `data`. Returns undefined if it is neither, but a push must always show something.
     */
    static fromWebPush(value) {
        const message = typeof value?.waitUntil === "function" ? messageOf(value) : value;
        if (!isObject(message?.notification)) return PushPayload.read(message);
        const { web_push, mutable, app_badge, notification: declared, ...others } = message;
        const members = { ...(isObject(declared.data) ? declared.data : {}), ...others };
        const aps = isObject(members.aps) ? members.aps : {};
        const alert = isObject(aps.alert) ? aps.alert : {};
        const { title = alert.title, body = alert.body } = declared;
        return PushPayload.#read({ ...members, aps: { ...aps, alert: { ...alert, title, body } } }, declared.silent === true);
    }

    /**
     * Reads what expo-notifications hands out: a notification, a response to one, or the data of a background task. On iOS,
     * they contain the full payload; otherwise, at least `content.data`.
     */
    static fromExpo(value) {
        const request = (value?.notification ?? value)?.request;
        if (request) {
            const whole = request.trigger?.payload;
            return PushPayload.read(isObject(whole) ? whole : request.content?.data);
        }
        if (!isObject(value?.aps) || !isObject(value.data)) return undefined;
        const members = Object.entries(value.data).filter(([name]) => !expoMembers.includes(name));
        return PushPayload.read({ ...Object.fromEntries(members), aps: value.aps });
    }
}

/** The message of a push event. Safari has a notification instead of data if the message is declarative. */
function messageOf(event) {
    try {
        return event.data ? event.data.json() : { notification: event.notification };
    } catch {
        return undefined;
    }
}

/** An object's own member, if it is a non-empty string. */
function own(object, name) {
    const value = Object.prototype.hasOwnProperty.call(object, name) ? object[name] : undefined;
    return typeof value === "string" && value !== "" ? value : undefined;
}
