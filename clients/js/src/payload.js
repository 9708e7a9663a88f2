import { isObject } from "./json.js";

/**
 * What a push says besides its text.
 *
 * The relay writes the members three times: flat beside `aps`, in `data`, and in `body`, which is all that Expo's
 * `content.data` shows on iOS. The sealed string is only beside `aps`.
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
    body;
    /** `{ id, code }` of a registration challenge (docs/API.md, Registration modes). */
    challenge;

    /** Reads a whole payload, or only its `data` or `body`. Returns undefined if it isn't from a relay. */
    static read(payload) {
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
        const alert = isObject(payload.aps) ? payload.aps.alert : undefined;
        push.title = isObject(alert) ? own(alert, "title") : undefined;
        push.body = typeof alert === "string" ? alert : isObject(alert) ? own(alert, "body") : undefined;
        const [id, code] = [text("challengeID"), text("challengeCode")];
        push.challenge = id && code ? { id, code } : undefined;
        const isRelays = push.eventType ?? push.kind ?? push.sessionID ?? push.serverID ?? push.sealed ?? push.challenge;
        return isRelays === undefined ? undefined : Object.freeze(push);
    }

    /** Reads a notification of expo-notifications: its whole payload if there is one, otherwise `content.data`. */
    static fromExpo(notification) {
        const request = notification?.request;
        const whole = request?.trigger?.payload;
        return PushPayload.read(isObject(whole) ? whole : request?.content?.data);
    }
}

/** A member of an object itself that is a string and not empty. */
function own(object, name) {
    const value = Object.prototype.hasOwnProperty.call(object, name) ? object[name] : undefined;
    return typeof value === "string" && value !== "" ? value : undefined;
}
