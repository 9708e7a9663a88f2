// How the relay names this browser's subscription.
import { encodeHex } from "./library.js";

/** The relay's name for a device: the SHA-256 of its endpoint. */
export async function deviceOf(endpoint) {
    return encodeHex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(endpoint))));
}

/** Whether an entry of the device list, which shows only the end of the name, is this device. */
export function isDevice(entry, device) {
    const end = /[0-9a-f]{8}$/.exec(typeof entry?.device === "string" ? entry.device : "")?.[0];
    return end !== undefined && device?.endsWith(end) === true;
}
