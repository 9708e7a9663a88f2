// From a push to the item that is shown. It never fails: at worst the item has a general text.
import { Envelope } from "./library.js";
import { keyOf, membersOfContent } from "./items.js";

/** Less than the 10 seconds after which iOS shows nothing at all. */
export const openingMilliseconds = 5_000;

/**
 * The item of a message.
 *
 * @param message From `readMessage`.
 * @param load Returns the pairings.
 * @param check Returns whether an opened text is `fresh`, `stale` or `repeated`.
 */
export async function itemOf(message, { load, check, now = Date.now(), random = randomID(), milliseconds = openingMilliseconds }) {
    const visible = {
        title: message.title, subtitle: message.subtitle, body: message.body, type: message.type, eventID: message.eventID,
        sessionID: message.sessionID, serverID: message.serverID, category: message.category, actions: message.actions,
        level: message.level, isSilent: message.isSilent, at: now, receivedAt: now, isSealed: message.sealed !== undefined,
        isOpened: false,
    };
    const opened = await inTime(open(message, load, check), milliseconds).catch(() => ({}));
    const item = { ...visible, ...opened };
    return { ...item, key: keyOf(item.pairing, item.eventID, random) };
}

async function open(message, load, check) {
    const pairings = await load();
    if (message.sealed === undefined) return { pairing: pairingOf(message, pairings)?.id };
    const keys = pairings.flatMap((pairing) => pairing.keys ?? []);
    const { content, keys: used } = await Envelope.open({ keys, type: message.type, sealed: message.sealed });
    const pairing = pairings.find((pairing) => pairing.keys === used);
    // A record that can't be read must not hide the text.
    const freshness = await check({ content, keys: used }).catch(() => "fresh");
    return {
        ...membersOfContent(content), isOpened: true, pairing: pairing.id,
        replay: freshness === "fresh" ? undefined : freshness,
    };
}

/** The pairing of a readable push, which names only its server: a pairing with this server, or else the only pairing. */
function pairingOf({ serverID }, pairings) {
    const same = pairings.filter((pairing) => serverID !== undefined && pairing.serverID === serverID);
    if (same.length > 0) return same.length === 1 ? same[0] : undefined;
    return pairings.length === 1 ? pairings[0] : undefined;
}

function inTime(promise, milliseconds) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error("too late")), milliseconds);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function randomID() {
    return [...globalThis.crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
