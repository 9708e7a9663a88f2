import { encodeHex } from "./bytes.js";

/** A device token in lower-case hexadecimal, from bytes or hexadecimal in any case. */
export function deviceTokenText(token) {
    const text = token instanceof Uint8Array ? encodeHex(token) : String(token).trim().toLowerCase();
    if (!/^([0-9a-f]{2}){1,200}$/.test(text)) {
        throw new TypeError("a device token must be an iOS app's APNs token, as bytes or hexadecimal");
    }
    return text;
}

/** Like `deviceTokenText`, for a token that may be absent, null (the system hasn't given it yet) or empty (to remove it). */
export function optionalTokenText(token) {
    return token === undefined || token === null || token === "" ? token : deviceTokenText(token);
}
