// Keys of pairings as the page stores them: CryptoKeys that can't be exported, in place of the pairing secret.
import { setCryptography, webCryptography } from "./library.js";

const uses = { notificationKey: ["encrypt", "decrypt"], replyKey: ["encrypt"], replyResultKey: ["decrypt"] };

/** The keys of a pairing in a form that IndexedDB keeps and `Envelope`, `SealedReply` and `SealedResult` accept. */
export async function storedKeys(keys, { subtle } = globalThis.crypto) {
    const entries = Object.entries(uses).map(async ([name, use]) => [
        name, await subtle.importKey("raw", keys[name], "AES-GCM", false, use),
    ]);
    return { id: keys.id, ...Object.fromEntries(await Promise.all(entries)) };
}

/** Lets the library seal and open with stored keys. */
export function useStoredKeys(crypto = globalThis.crypto) {
    const { subtle } = crypto;
    const primitives = webCryptography(crypto);
    const parameters = (iv, additionalData) => ({ name: "AES-GCM", iv, additionalData, tagLength: 128 });
    setCryptography({
        ...primitives,
        async sealAES256GCM(key, nonce, plaintext, data) {
            if (ArrayBuffer.isView(key)) return primitives.sealAES256GCM(key, nonce, plaintext, data);
            return new Uint8Array(await subtle.encrypt(parameters(nonce, data), key, plaintext));
        },
        async openAES256GCM(key, nonce, sealed, data) {
            if (ArrayBuffer.isView(key)) return primitives.openAES256GCM(key, nonce, sealed, data);
            return new Uint8Array(await subtle.decrypt(parameters(nonce, data), key, sealed));
        },
    });
}
