import { decodeBase64URL, encodeBase64URL, encodeHex, encodeUTF8 } from "./bytes.js";
import { cryptography, hkdf } from "./cryptography.js";

const salt = encodeUTF8("apn-relay pairing v1");
const pairingSecretBytes = 32;
const privateSessionIDBytes = 16;

/**
 * Everything that is derived from a pairing secret (docs/reference/encryption.md, Keys).
 *
 * The secrets are in private fields, so that printing the object doesn't show them.
 */
export class PairingKeys {
    #pairingSecret;
    #relaySecret;
    #notificationKey;
    #replyKey;
    #replyResultKey;
    #sessionIDKey;

    /** The key's id in envelopes: 8 hexadecimal digits. */
    id;

    /** Derives the keys from a pairing secret: 32 bytes, or their 43 characters of base64url. */
    static async derive(pairingSecret) {
        const secret = typeof pairingSecret === "string" ? decodeBase64URL(pairingSecret) : pairingSecret;
        if (secret?.length !== pairingSecretBytes) {
            throw new TypeError("a pairing secret must be 32 bytes, or 43 characters of base64url");
        }
        const derived = (info, count) => hkdf(secret, salt, encodeUTF8(info), count);
        const keys = new PairingKeys();
        keys.#pairingSecret = Uint8Array.from(secret);
        keys.#relaySecret = encodeBase64URL(await derived("relay secret", 24));
        keys.#notificationKey = await derived("notification key", 32);
        keys.#replyKey = await derived("reply key", 32);
        keys.#replyResultKey = await derived("reply result key", 32);
        keys.#sessionIDKey = await derived("session id key", 32);
        keys.id = encodeHex(await derived("notification key id", 4));
        return Object.freeze(keys);
    }

    /** Keys of a new random pairing secret. */
    static async generate() {
        return PairingKeys.derive(await cryptography().randomBytes(pairingSecretBytes));
    }

    /** The pairing secret in base64url: the member `key` of a pairing link. */
    get pairingSecret() {
        return encodeBase64URL(this.#pairingSecret);
    }

    /** The `secret` of every request to the relay. */
    get relaySecret() {
        return this.#relaySecret;
    }

    /** The AES-256-GCM key of envelopes. */
    get notificationKey() {
        return Uint8Array.from(this.#notificationKey);
    }

    /** The AES-256-GCM key of sealed replies. */
    get replyKey() {
        return Uint8Array.from(this.#replyKey);
    }

    /** The AES-256-GCM key of sealed results of replies. */
    get replyResultKey() {
        return Uint8Array.from(this.#replyResultKey);
    }

    /** What a sender can use as `sessionID` so that the relay doesn't learn the real one. */
    async privateSessionID(sessionID) {
        const code = await cryptography().hmacSHA256(this.#sessionIDKey, encodeUTF8(sessionID));
        return encodeBase64URL(code.subarray(0, privateSessionIDBytes));
    }
}
