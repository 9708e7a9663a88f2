// Bytes and their encodings as text. Not every version of React Native has TextEncoder, TextDecoder and atob.

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const sextets = new Map([...alphabet].map((character, value) => [character, value]));

/** Base64url without padding (RFC 4648, section 5). */
export function encodeBase64URL(bytes) {
    let text = "";
    for (let index = 0; index < bytes.length; index += 3) {
        const [first, second = 0, third = 0] = bytes.subarray(index, index + 3);
        const group = (first << 16) | (second << 8) | third;
        const count = Math.min(3, bytes.length - index) + 1;
        for (let digit = 0; digit < count; digit++) text += alphabet[(group >> (18 - 6 * digit)) & 63];
    }
    return text;
}

/** The bytes of canonical base64url without padding, or undefined. */
export function decodeBase64URL(text) {
    if (text.length % 4 === 1) return undefined;
    const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
    let buffer = 0;
    let bits = 0;
    let count = 0;
    for (const character of text) {
        const value = sextets.get(character);
        if (value === undefined) return undefined;
        buffer = ((buffer << 6) | value) & 0xfff;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            bytes[count++] = (buffer >> bits) & 0xff;
        }
    }
    const unused = buffer & ((1 << bits) - 1);
    return unused === 0 ? bytes : undefined;
}

/** UTF-8; an unpaired surrogate becomes U+FFFD. */
export function encodeUTF8(text) {
    const bytes = [];
    for (const character of text) {
        let code = character.codePointAt(0);
        if (code >= 0xd800 && code <= 0xdfff) code = 0xfffd;
        if (code < 0x80) bytes.push(code);
        else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
        else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
        else {
            bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
        }
    }
    return Uint8Array.from(bytes);
}

/** The text of UTF-8 bytes, or undefined if the bytes aren't valid (RFC 3629). Keeps a byte order mark. */
export function decodeUTF8(bytes) {
    let text = "";
    for (let index = 0; index < bytes.length;) {
        const first = bytes[index++];
        const following = first < 0x80 ? 0 : first < 0xc2 ? -1 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : first < 0xf5 ? 3 : -1;
        if (following < 0 || index + following > bytes.length) return undefined;
        let code = following === 0 ? first : first & (0x3f >> following);
        for (let count = 0; count < following; count++) {
            const byte = bytes[index++];
            if ((byte & 0xc0) !== 0x80) return undefined;
            code = (code << 6) | (byte & 63);
        }
        const smallest = [0, 0x80, 0x800, 0x10000][following];
        if (code < smallest || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return undefined;
        text += String.fromCodePoint(code);
    }
    return text;
}

/** Lower-case hexadecimal. */
export function encodeHex(bytes) {
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The bytes of all parts in one array. */
export function concatenate(...parts) {
    const bytes = new Uint8Array(parts.reduce((count, part) => count + part.length, 0));
    let offset = 0;
    for (const part of parts) {
        bytes.set(part, offset);
        offset += part.length;
    }
    return bytes;
}
