import { decodeBase64URL, encodeBase64URL } from "./bytes.js";
import { checkMembers } from "./members.js";
import { RelayError } from "./relay-error.js";

/** Subscriptions of browsers and of UnifiedPush apps. Each belongs to one public key of a relay. */
export const WebPush = {
    /**
     * The member `webPush` of a registration, from a browser's `PushSubscription` or from its `endpoint` and `keys`.
     *
     * `page` is the address that a tap on the notification opens. Its fragment is left out, because a pairing link's fragment is secret.
     */
    members(subscription, { page = subscription?.page } = {}) {
        const isBrowsers = typeof subscription?.toJSON === "function";
        const { endpoint, keys, ...rest } = (isBrowsers ? subscription.toJSON() : subscription) ?? {};
        if (!isBrowsers) checkMembers(rest, ["endpoint", "keys", "page", "expirationTime"], "webPush");
        if (![endpoint, keys?.p256dh, keys?.auth].every((text) => typeof text === "string" && text !== "")) {
            throw new TypeError("webPush must be a PushSubscription, or have endpoint, keys.p256dh and keys.auth");
        }
        const members = { endpoint, keys: { p256dh: unpadded(keys.p256dh), auth: unpadded(keys.auth) } };
        return page === undefined ? members : { ...members, page: page.replace(/#.*$/s, "") };
    },

    /** Whether a browser's subscription was made with a public key. Browsers that don't report the key are trusted. */
    hasKey(subscription, publicKey) {
        return (publicKeyOf(subscription) ?? publicKey) === publicKey;
    },

    /**
     * Subscribes a browser with a public key, in place of an `old` subscription.
     *
     * Without an old subscription, call it directly in a click: it asks for permission, and Safari ends the user's activation at
     * the first wait.
     */
    subscribe(pushManager, publicKey, old) {
        const options = { userVisibleOnly: true, applicationServerKey: publicKeyBytes(publicKey) };
        if (!options.applicationServerKey) throw new TypeError("publicKey must be that of a relay");
        const begin = () => pushManager.subscribe(options);
        return old ? old.unsubscribe().then(begin) : begin();
    },
};

/** The public key that a browser's subscription was made with, if the browser reports it. */
export function publicKeyOf(subscription) {
    const key = subscription.options?.applicationServerKey;
    return key ? encodeBase64URL(new Uint8Array(key)) : undefined;
}

/** Asks a relay for its public key: `{ publicKey, keyID }`. Throws a `RelayError`, with the code `webpush_off` if it has none. */
export async function requestPublicKey(requests, { signal } = {}) {
    const { publicKey, keyID } = await requests.get("/v1/webpush/key", { signal });
    if (!publicKeyBytes(publicKey)) throw new RelayError("unexpectedAnswer", "The answer has no public key. Check the URL.");
    return { publicKey, keyID };
}

/** The bytes of a public key, which is an uncompressed point, or undefined. */
function publicKeyBytes(text) {
    const bytes = typeof text === "string" ? decodeBase64URL(text) : undefined;
    return bytes?.length === 65 && bytes[0] === 4 ? bytes : undefined;
}

/** Base64url without padding, from any base64. */
function unpadded(text) {
    return text.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
