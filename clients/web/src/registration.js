// Keeps this browser registered with the relay of each pairing, and unregistered from those that were removed.
import { keyOf, post } from "./api.js";
import { WebPush } from "./library.js";
import { deviceName } from "./platform.js";
import { localZone } from "./preferences.js";
import { pairings, values } from "./store.js";
import { deviceOf } from "./subscription.js";

const forgottenMax = 16;
const forgottenMilliseconds = 30 * 86_400_000;

/** The ID of this installation, which stays when the subscription changes. */
export async function installationID() {
    return values.update("deviceID", (id) => id ?? crypto.randomUUID());
}

/** Registers a subscription for one pairing. Stores and returns the result: `{ state, reason, ignored, device, at }`. */
export async function register(pairing, subscription, { registrationKey, challengeCode } = {}) {
    const { endpoint } = subscription;
    const device = await deviceOf(endpoint);
    const members = {
        // The page's folder, also from the worker. Safari opens it if the worker fails.
        webPush: WebPush.members(subscription, { page: new URL("./", location.href).href }), deviceID: await installationID(),
        deviceName: ((await values.get("deviceName")) || deviceName()).slice(0, 60),
        preferences: { timeZone: localZone(), ...pairing.preferences },
        ...(pairing.keys ? { sealed: [1] } : {}), ...(challengeCode ? { challengeCode } : {}),
    };
    // Stored before the request, so that the registration can be removed even after the browser has forgotten the subscription.
    await pairings.update(pairing.id, ({ endpoints = [] }) => ({ endpoints: [...new Set([...endpoints, endpoint])].slice(-4) }));
    let registration = { device, at: Date.now() };
    try {
        const answer = await post(pairing, "/v1/device/register", members, { bearer: registrationKey });
        registration = answer.registered === false
            ? { ...registration, state: "challenged", challengeID: String(answer.challengeID) }
            : { ...registration, state: "registered", ignored: answer.ignored };
    } catch (error) {
        registration = { ...registration, state: "failed", reason: reasonOf(error), message: messageOf(error) };
    }
    await pairings.update(pairing.id, () => ({ registration }));
    // The next registration retries what fails.
    if (registration.state === "registered") await unregisterOld(pairing.id, endpoint).catch(() => {});
    return registration;
}

async function unregisterOld(id, current) {
    const pairing = await pairings.get(id);
    for (const endpoint of pairing?.endpoints ?? []) {
        if (endpoint === current) continue;
        await post(pairing, "/v1/device/unregister", { webPush: { endpoint } });
        await pairings.update(id, ({ endpoints }) => ({ endpoints: endpoints.filter((other) => other !== endpoint) }));
    }
}

/**
 * Brings the registrations up to date. Never asks for permission.
 *
 * Returns `{ ring, results }`: `ring` is `on`, `off` (no subscription), `renew` (the relay's key changed, and only a click can
 * subscribe again), `off-at-relay`, `old` or `offline`.
 */
export async function sync(registration, list) {
    await unregisterForgotten();
    if (list.length === 0) return { ring: "off", results: [] };
    let subscription = await registration?.pushManager?.getSubscription();
    if (!subscription) return { ring: "off", results: [] };
    const keys = new Map();
    for (const { relayURL } of list) if (!keys.has(relayURL)) keys.set(relayURL, await keyOf(relayURL).catch(() => "offline"));
    const known = [...keys.values()].filter((key) => typeof key === "object");
    if (known.length === 0) return { ring: { off: "off-at-relay", old: "old" }[keys.get(list[0].relayURL)] ?? "offline", results: [] };
    if (!known.some(({ publicKey }) => WebPush.hasKey(subscription, publicKey))) {
        try {
            subscription = await WebPush.subscribe(registration.pushManager, known[0].publicKey, subscription);
        } catch {
            return { ring: "renew", results: [] };
        }
    }
    const results = [];
    for (const pairing of list) {
        const { publicKey } = keys.get(pairing.relayURL);
        // A browser has one subscription for the page, and a subscription one key.
        const isOther = publicKey !== undefined && !WebPush.hasKey(subscription, publicKey);
        const isKnown = publicKey !== undefined && !isOther;
        results.push({ pairing, ...(isKnown ? await register(pairing, subscription) : { state: "failed",
            reason: isOther ? "other_relay" : "unreachable" }) });
    }
    return { ring: "on", results };
}

/** Registers with the code of a challenge push. Returns whether one of the pairings was waiting for it. */
export async function answerChallenge({ id, code }, subscription) {
    const waiting = (await pairings.all()).find(({ registration }) => registration?.challengeID === id);
    if (!waiting || !subscription) return false;
    return (await register(waiting, subscription, { challengeCode: code })).state === "registered";
}

/** Removes a pairing here, and its registration at the relay: now, or when the relay can be reached. Returns whether it was removed now. */
export async function unpair(pairing) {
    const endpoints = pairing.endpoints ?? [];
    const entry = { id: pairing.id, relayURL: pairing.relayURL, relaySecret: pairing.relaySecret, endpoints, at: Date.now() };
    // Stored before the request, so that it isn't lost if the page closes now.
    if (endpoints.length > 0) {
        await values.update("forgotten", (list = []) => [...list.filter(({ id }) => id !== pairing.id), entry].slice(-forgottenMax));
    }
    await pairings.remove(pairing.id);
    return unregisterForgotten();
}

/** Unregisters pairings that were removed. Returns whether none are left. */
export async function unregisterForgotten() {
    const list = (await values.get("forgotten")) ?? [];
    if (list.length === 0) return true;
    const present = new Set((await pairings.all()).map(({ id }) => id));
    for (const entry of list) {
        const isDone = present.has(entry.id) || entry.at + forgottenMilliseconds < Date.now() || await isUnregistered(entry);
        if (isDone) await values.update("forgotten", (now = []) => now.filter(({ id, at }) => id !== entry.id || at !== entry.at));
    }
    return ((await values.get("forgotten")) ?? []).length === 0;
}

async function isUnregistered(entry) {
    try {
        for (const endpoint of entry.endpoints) await post(entry, "/v1/device/unregister", { webPush: { endpoint } });
        return true;
    } catch (error) {
        return error.kind === "refused" && !error.isTemporary && error.status !== 404;
    }
}

function reasonOf(error) {
    if (error.kind !== "refused") return error.kind ?? "other";
    return typeof error.code === "string" ? error.code : `status_${error.status}`;
}

function messageOf(error) {
    return error.kind === "refused" && error.name === "RelayError" ? error.message : undefined;
}
