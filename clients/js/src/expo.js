import { encodeBase64URL, encodeHex } from "./bytes.js";
import { cryptography } from "./cryptography.js";
import { checkMembers } from "./members.js";
import { Relay } from "./relay.js";

const entry = "apn-relay.expo";
let last = Promise.resolve();

/**
 * Replaces expo-notifications' `getExpoPushTokenAsync`: registers the app's own device token with a relay, and returns
 * `{ type: "expo", data: "ExponentPushToken[…]" }`, whose `data` servers send to with one of Expo's SDKs.
 *
 * Call it each time the app starts and when the token changes; the name stays the same as long as the relay has it. `secrets` keeps
 * a secret and the name's token, so it must be in the Keychain. Returns undefined if the relay has sent a challenge; call it
 * again with the push's `challengeCode` as a member of the device.
 */
export function expoPushToken(device, { url, secrets, signal, ...options }) {
    if (!secrets) throw new TypeError("secrets is required; it must be in the Keychain");
    checkMembers(options, ["registrationKey", "secretInHeader", "deadline", "attempts", "fetch", "now", "sleep", "random"], "options");
    // Two concurrent calls would create two names.
    const result = last.then(() => name(device, url, secrets, signal, options));
    last = result.catch(() => {});
    return result;
}

async function name(device, url, secrets, signal, options) {
    const kept = await stored(url, secrets);
    const relay = new Relay({ url, secret: kept.secret, ...options });
    const answer = await relay.register({ deviceID: kept.deviceID, ...device }, { signal });
    if (!answer.registered) return undefined;
    // The relay forgets a secret's tokens when its last device is unregistered.
    const isKnown = kept.tokenID !== undefined && (await relay.tokens({ signal })).some(({ tokenID }) => tokenID === kept.tokenID);
    if (!isKnown) {
        Object.assign(kept, await relay.createToken({ scope: "send", name: "Expo" }, { signal }));
        await secrets.set(entry, JSON.stringify(kept));
    }
    return { type: "expo", data: `ExponentPushToken[${kept.token}]` };
}

/** What was stored for this relay: the secret, the installation's ID, and the token if there is one. */
async function stored(url, secrets) {
    // A store that can't be read now must not be taken for an empty one.
    const text = await secrets.get(entry);
    try {
        const kept = JSON.parse(text || "{}");
        if (kept.url === url && typeof kept.secret === "string") return kept;
    } catch {
        // Not written by this library: start over.
    }
    const [secret, deviceID] = await Promise.all([cryptography().randomBytes(32), cryptography().randomBytes(16)]);
    const made = { url, secret: encodeBase64URL(secret), deviceID: encodeHex(deviceID) };
    // Stored before the registration, so that the secret isn't lost if the app ends now.
    await secrets.set(entry, JSON.stringify(made));
    return made;
}
