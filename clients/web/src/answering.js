// Sends a person's answer to an event, and finds out what became of it.
import { post } from "./api.js";
import { offeredActions } from "./items.js";
import { SealedReply, SealedResult } from "./library.js";
import { items } from "./store.js";

const waitSeconds = 25;
const waitsMax = 6;
const textBytesMax = 2_000;
/** Fates after which nothing more happens. */
const finalFates = ["taken", "answered_elsewhere", "too_late", "refused", "not_delivered", "elsewhere", "expired", "unproven",
    "rejected", "other"];

export function isFinal(fate) {
    return finalFates.includes(fate);
}

/** The request that sends a reply; the reply is sealed if the event was. */
export async function requestOf({ item, pairing, action, text, answers }) {
    if (!offeredActions(item, pairing).includes(action)) throw new TypeError("the event doesn't allow this action");
    const words = text?.trim() ? cutBytes(text.trim()) : undefined;
    if (!pairing.keys || !item.isOpened) return { action, text: words };
    return { sealed: await SealedReply.seal({ keys: pairing.keys, eventID: item.eventID, action, text: words, answers }) };
}

/** The fate that a result reports: `{ fate, reason }`. With keys, only sealed results are trusted. */
export async function fateOf(result, { keys, eventID, request }) {
    let opened = result;
    if (keys) {
        if (typeof result.sealed !== "string") return { fate: "unproven" };
        try {
            opened = await SealedResult.open({ keys, eventID, reply: request?.sealed, sealed: result.sealed });
        } catch {
            return { fate: "unproven" };
        }
    }
    const { outcome, reason } = opened;
    const isKnown = ["taken", "answered_elsewhere", "too_late", "refused", "not_delivered"].includes(outcome);
    return isKnown ? { fate: outcome, reason } : { fate: "other", outcome: String(outcome).slice(0, 32), reason };
}

/** The fate that a failed request means. */
export function fateOfError(error) {
    if (error.code === "already_replied") return { fate: "elsewhere" };
    if (error.code === "unknown_event") return { fate: "expired" };
    if (error.kind === "refused" && !error.isTemporary) return { fate: "rejected", reason: error.message };
    return { fate: "unsent" };
}

/** Answers an item and stores what becomes of it. Returns the last known fate. */
export async function answer({ item, pairing, action, text, answers, waits = waitsMax }) {
    const request = await requestOf({ item, pairing, action, text, answers });
    // Stored before it is sent, so that the same reply can be repeated: a different reply would be a second answer.
    await setReply(item.key, { action, answers, request, at: Date.now(), fate: "sending" });
    return follow({ item, pairing, waits });
}

/** Sends an item's stored reply again, which changes nothing if it has arrived, and waits for its fate. */
export async function follow({ item: { key }, pairing, waits = waitsMax, signal }) {
    const { reply, eventID } = await items.get(key);
    for (let wait = 0; wait < waits; wait++) {
        const known = { keys: reply.request.sealed && pairing.keys, eventID, request: reply.request };
        try {
            const timeout = wait === 0 ? 0 : waitSeconds;
            const { result } = await post(pairing, "/v1/reply", { eventID, ...reply.request, timeout }, { signal, seconds: timeout });
            await setReply(key, { fate: "waiting", ...(result && await fateOf(result, known)) });
            if (result) break;
        } catch (error) {
            if (error.kind === "aborted") break;
            await setReply(key, fateOfError(error));
            break;
        }
    }
    return (await items.get(key))?.reply;
}

function setReply(key, change) {
    return items.update(key, ({ reply, readAt, isReadUntold }) => ({
        reply: { ...reply, ...change }, readAt: readAt ?? Date.now(), isReadUntold: readAt ? isReadUntold : true,
    }));
}

/** Finds out whether an event was answered by others. Returns `{ fate, reason }`, or undefined while it is open. */
export async function outcomeElsewhere({ item, pairing, timeout = 0, signal }) {
    const members = { eventID: item.eventID, timeout };
    const { reply, result } = await post(pairing, "/v1/reply/wait", members, { signal, seconds: timeout });
    if (result) return fateOf(result, { keys: item.isSealed ? pairing.keys : undefined, eventID: item.eventID });
    return reply ? { fate: "elsewhere" } : undefined;
}

function cutBytes(text) {
    let cut = text.slice(0, textBytesMax);
    while (new TextEncoder().encode(JSON.stringify(cut)).length > textBytesMax) cut = cut.slice(0, -16);
    return cut;
}
