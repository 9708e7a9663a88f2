// The browser's subscription at its push service. It belongs to one key of one relay.
import { publicKeyBytesOf } from "./api.js";
import { encodeBase64URL, encodeHex } from "./library.js";

/** Whether a subscription was made with a key. Browsers that don't tell are trusted. */
export function hasKey(subscription, publicKey) {
    const used = subscription.options?.applicationServerKey;
    return !used || encodeBase64URL(new Uint8Array(used)) === publicKey;
}

/**
 * Subscribes with a key, in place of another one.
 *
 * Without an old subscription it must be called directly in a click: it asks for the permission, and Safari's activation ends at
 * the first wait.
 */
export function subscribe(manager, publicKey, old) {
    const begin = () => manager.subscribe({ userVisibleOnly: true, applicationServerKey: publicKeyBytesOf(publicKey) });
    return old ? old.unsubscribe().then(begin) : begin();
}

/** The members of a registration. */
export function webPushOf(subscription) {
    const { endpoint, keys } = subscription.toJSON();
    return { endpoint, keys: { p256dh: unpadded(keys.p256dh), auth: unpadded(keys.auth) } };
}

function unpadded(text) {
    return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The relay's name of a device: the SHA-256 of its endpoint. */
export async function deviceOf(endpoint) {
    return encodeHex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(endpoint))));
}

/** Whether an entry of the device list, which shows only the end of the name, is this device. */
export function isDevice(entry, device) {
    const end = /[0-9a-f]{8}$/.exec(typeof entry?.device === "string" ? entry.device : "")?.[0];
    return end !== undefined && device?.endsWith(end) === true;
}
