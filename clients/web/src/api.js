// Requests to the relays (docs/reference/api.md).
import { requestPublicKey, Requests } from "./library.js";

/** Requests give up early: the page shows what is known and tries again later. */
const options = { deadline: 15_000, attempts: 2 };

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
 * A relay's public key: `{ publicKey, keyID }`, `off` if Web Push is switched off there, `old` if the relay doesn't know Web Push.
 * Throws if it can't be reached.
 */
export async function keyOf(relayURL) {
    try {
        return await requestPublicKey(new Requests(relayURL, options));
    } catch (error) {
        if (error.code === "webpush_off") return "off";
        if (error.status === 404) return "old";
        throw error;
    }
}
