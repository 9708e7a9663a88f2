// What a push message says. Everything in it comes from others, so each part is checked and cut.
import { PushPayload } from "./library.js";

const textCharactersMax = 8_192;
const actionsMax = 8;
const levels = ["passive", "active", "time-sensitive", "critical"];

/**
 * Reads a push message: the members of APNs' payload, those of declarative Web Push, or both. Never throws.
 *
 * @param value The message's JSON as a value, or anything else.
 */
export function readMessage(value) {
    const whole = isObject(value) ? value : {};
    const declared = isObject(whole.notification) ? whole.notification : {};
    const { web_push, mutable, notification, app_badge, ...members } = whole;
    const payload = { ...(isObject(declared.data) ? declared.data : {}), ...members };
    const push = PushPayload.read(payload);
    const aps = isObject(payload.aps) ? payload.aps : {};
    const alert = isObject(aps.alert) ? aps.alert : {};
    const text = (...values) => cut(values.find((value) => typeof value === "string" && value.trim() !== ""));
    return {
        title: text(declared.title, push?.title, payload.title),
        subtitle: text(alert.subtitle, payload.subtitle),
        body: text(declared.body, push?.body, payload.body),
        type: cut(push?.type ?? "notify"),
        eventID: cut(push?.eventID),
        sessionID: cut(push?.sessionID ?? aps["thread-id"]),
        serverID: cut(push?.serverID),
        sealed: push?.sealed,
        category: cut(push?.category ?? payload.category),
        actions: actionsOf(push?.actions),
        level: levelOf(aps["interruption-level"] ?? payload.interruptionLevel),
        isSilent: declared.silent === true,
        clear: push?.clear,
        challenge: push?.challenge,
    };
}

/** The replies that a sender accepts: short words without spaces, each once. */
export function actionsOf(value) {
    if (!Array.isArray(value)) return [];
    const words = value.filter((action) => typeof action === "string" && /^[!-~]{1,64}$/.test(action));
    return [...new Set(words)].slice(0, actionsMax);
}

export function levelOf(value) {
    return levels.includes(value) ? value : undefined;
}

/** A text of bounded length, without unpaired surrogates, which addresses can't have; undefined if it isn't one. */
export function cut(value) {
    if (typeof value !== "string" || value === "") return undefined;
    return value.slice(0, textCharactersMax).replace(/[\ud800-\udfff]/gu, "\ufffd");
}

export function isObject(value) {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}
