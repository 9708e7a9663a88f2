// Gathers what the diagnosis judges.
import { devicesOf, keyOf } from "./api.js";
import { WebPush } from "./library.js";
import { hasWebPush, isTabOnIOS } from "./platform.js";
import { values } from "./store.js";
import { isDevice, deviceOf } from "./subscription.js";

const answerMilliseconds = 8_000;

export async function gatherFacts({ registration, pairings }) {
    const subscription = await registration?.pushManager?.getSubscription().catch(() => undefined);
    const device = subscription ? await deviceOf(subscription.endpoint) : undefined;
    return {
        isTab: isTabOnIOS(), hasPush: hasWebPush(), permission: globalThis.Notification?.permission, hasWorker: !!registration?.active,
        service: subscription ? new URL(subscription.endpoint).host : undefined, arrival: await values.get("arrival"),
        pairings: await Promise.all(pairings.map((pairing) => factsOf(pairing, subscription, device))),
    };
}

async function factsOf(pairing, subscription, device) {
    const { name, registration, relayURL } = pairing;
    const known = { name, registration, host: new URL(relayURL).host, faults: [] };
    try {
        const [key, ready] = await Promise.all([keyOf(relayURL), readiness(relayURL)]);
        if (typeof key === "string") return { ...known, relay: key };
        const devices = await devicesOf(pairing).catch(() => undefined);
        return {
            ...known, relay: "ok", ...ready, hasKey: subscription ? WebPush.hasKey(subscription, key.publicKey) : undefined,
            hasList: devices !== undefined, device: devices?.find((entry) => isDevice(entry, device)),
        };
    } catch {
        return { ...known, relay: "unreachable" };
    }
}

/** The checks of `/ready` that failed, and by how much the clocks differ. */
async function readiness(relayURL) {
    const begin = Date.now();
    const response = await fetch(`${relayURL}/ready`, { signal: AbortSignal.timeout(answerMilliseconds), cache: "no-store" });
    const end = Date.now();
    const { checks } = await response.json().catch(() => ({}));
    const relayTime = Date.parse(response.headers.get("date") ?? "");
    const faults = Object.entries(checks ?? {}).filter(([, state]) => state !== "ok").map(([name,
        state]) => `${name} ${String(state).slice(0, 40)}`);
    return {
        faults: response.ok ? [] : faults.slice(0, 8),
        clockMilliseconds: Number.isFinite(relayTime) ? (begin + end) / 2 - relayTime : undefined,
    };
}
