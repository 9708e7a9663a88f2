// Reads a push message. Everything in it comes from others, so each part is checked and truncated.
import { PushPayload } from "./library.js";

const textCharactersMax = 8_192;
const actionsMax = 8;
const levels = ["passive", "active", "time-sensitive", "critical"];

/**
 * Reads a push message: the members of APNs' payload, those of declarative Web Push, or both. Never throws.
 *
 * @param value The push event, the message's JSON as a value, or anything else.
 */
export function readMessage(value) {
    const push = PushPayload.fromWebPush(value);
    const text = (value) => (value?.trim() ? cut(value) : undefined);
    return {
        title: text(push?.title),
        subtitle: text(push?.subtitle),
        body: text(push?.body),
        type: cut(push?.type ?? "notify"),
        eventID: cut(push?.eventID),
        sessionID: cut(push?.sessionID ?? push?.threadID),
        serverID: cut(push?.serverID),
        sealed: push?.sealed,
        category: cut(push?.category),
        actions: actionsOf(push?.actions),
        level: levelOf(push?.interruptionLevel),
        isSilent: push?.isSilent === true,
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

/** A string truncated to a bounded length, without unpaired surrogates, which addresses can't contain; undefined for other values. */
export function cut(value) {
    if (typeof value !== "string" || value === "") return undefined;
    return value.slice(0, textCharactersMax).replace(/[\ud800-\udfff]/gu, "\ufffd");
}

export function isObject(value) {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}
