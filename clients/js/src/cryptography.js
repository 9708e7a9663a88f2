// The four primitives that the rest is built on. An app without Web Crypto supplies them.
import { concatenate } from "./bytes.js";

let chosen;

/** Makes everything use these primitives from now on; see `Cryptography` in index.d.ts. */
export function setCryptography(cryptography) {
    chosen = cryptography;
}

/** The primitives in use: the ones that were set, or the global Web Crypto's. */
export function cryptography() {
    chosen ??= globalThis.crypto?.subtle ? webCryptography(globalThis.crypto) : undefined;
    if (!chosen) throw new Error("This JavaScript engine has no Web Crypto. Call setCryptography() first.");
    return chosen;
}

/** The primitives on top of a Web Crypto object, such as `globalThis.crypto`. */
export function webCryptography(crypto) {
    const { subtle } = crypto;
    const aes = (key, usage) => subtle.importKey("raw", key, "AES-GCM", false, [usage]);
    const parameters = (iv, additionalData) => ({ name: "AES-GCM", iv, additionalData, tagLength: 128 });
    return {
        randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
        async hmacSHA256(key, data) {
            const algorithm = { name: "HMAC", hash: "SHA-256" };
            const imported = await subtle.importKey("raw", key, algorithm, false, ["sign"]);
            return new Uint8Array(await subtle.sign("HMAC", imported, data));
        },
        async sealAES256GCM(key, nonce, plaintext, associatedData) {
            const imported = await aes(key, "encrypt");
            return new Uint8Array(await subtle.encrypt(parameters(nonce, associatedData), imported, plaintext));
        },
        async openAES256GCM(key, nonce, sealed, associatedData) {
            const imported = await aes(key, "decrypt");
            return new Uint8Array(await subtle.decrypt(parameters(nonce, associatedData), imported, sealed));
        },
    };
}

/** HKDF-SHA-256 (RFC 5869). */
export async function hkdf(secret, salt, info, count) {
    const { hmacSHA256 } = cryptography();
    const key = await hmacSHA256(salt.length > 0 ? salt : new Uint8Array(32), secret);
    let output = new Uint8Array(0);
    let block = output;
    for (let number = 1; output.length < count; number++) {
        block = await hmacSHA256(key, concatenate(block, info, Uint8Array.of(number)));
        output = concatenate(output, block);
    }
    return output.subarray(0, count);
}
