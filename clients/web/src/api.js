// Requests to the relays (docs/reference/api.md).
import { decodeBase64URL, Requests } from "./library.js";

/** Quick answers: the page shows what is known and tries again later. */
const options = { deadline: 15_000, attempts: 2 };
const publicKeyBytes = 65;

/** Posts to a relay with a pairing's secret. `seconds` is how long the relay may wait. Throws a `RelayError`. */
export function post({ relayURL, relaySecret: secret }, path, members = {}, { bearer, signal, seconds = 0 } = {}) {
    return new Requests(relayURL, options).post(path, { secret, ...members }, { bearer, signal, longer: seconds * 1000 });
}

/** The pairing's devices. */
export async function devicesOf(pairing) {
    const { devices } = await post(pairing, "/v1/device/list");
    return Array.isArray(devices) ? devices.filter((device) => typeof device === "object" && device !== null) : [];
}

/**
 * A relay's public key: `{ publicKey, keyID }`, `off` if it has Web Push switched off, `old` if it doesn't know it.
 * Throws if it can't be reached.
 */
export async function keyOf(relayURL) {
    const response = await fetch(`${relayURL}/v1/webpush/key`, { signal: AbortSignal.timeout(options.deadline), redirect: "error" });
    const answer = await response.json().catch(() => ({}));
    if (answer?.code === "webpush_off") return "off";
    if (response.status === 404) return "old";
    if (answer?.ok !== true) throw new TypeError("not a relay's answer");
    publicKeyBytesOf(answer.publicKey);
    return { publicKey: answer.publicKey, keyID: String(answer.keyID ?? "") };
}

/** The bytes of a public key: an uncompressed point. Throws if it isn't one. */
export function publicKeyBytesOf(text) {
    const bytes = typeof text === "string" ? decodeBase64URL(text) : undefined;
    if (bytes?.length !== publicKeyBytes || bytes[0] !== 4) throw new TypeError("not a public key");
    return bytes;
}
