// Sealed notifications, version 1 (docs/reference/encryption.md).
import { concatenate, decodeBase64URL, decodeUTF8, encodeBase64URL, encodeHex, encodeUTF8 } from "./bytes.js";
import { checkedContent, checkedReply, checkedResult, contentOf, membersOf } from "./content.js";
import { cryptography } from "./cryptography.js";

const version = 1;
const keyIDBytes = 4;
const nonceBytes = 12;
const tagBytes = 16;
const headerBytes = 1 + keyIDBytes + nonceBytes;
const blockBytes = 256;
const sealedCharactersMax = 3600;
const plaintextBytesMax = 10 * blockBytes - 1;
const label = encodeUTF8("apn-relay/1\0");

const messages = {
    malformed: "The sealed string is not an envelope.",
    unsupportedVersion: "The envelope has a version that this app does not know.",
    unknownKey: "No key has the envelope's key id.",
    notAuthentic: "The envelope was changed, or belongs to another type.",
    badPadding: "The envelope's padding is wrong.",
    badContent: "The envelope's content is not valid.",
    tooLarge: `The content has more than ${plaintextBytesMax} bytes of JSON. Shorten the body.`,
};

/** Why an envelope can't be sealed or opened. `reason` is one of the refusals in docs/reference/encryption.md, or `tooLarge`. */
export class EnvelopeError extends Error {
    constructor(reason, options) {
        super(messages[reason], options);
        this.name = "EnvelopeError";
        this.reason = reason;
    }
}

/** Seals and opens the texts of notifications. */
export const Envelope = Object.freeze({
    /** Seals a content for one type. Returns the string for the request's member `sealed`. */
    async seal({ keys, type, content }) {
        const eventID = content.eventID ?? encodeHex(await cryptography().randomBytes(16));
        const sentAt = content.sentAt ?? Math.floor(Date.now() / 1000);
        const members = membersOf({ ...content, eventID, sentAt });
        if (!checkedContent(members)) throw new EnvelopeError("badContent");
        const nonce = await cryptography().randomBytes(nonceBytes);
        return sealPlaintext(keys, type, JSON.stringify(members, wholeCharacters), nonce);
    },

    /**
     * Opens a sealed string with the key that matches its key ID.
     *
     * Doesn't detect replays; see `Replay`.
     */
    async open({ keys, type, sealed }) {
        const { members, keys: key } = await openMembers(keys, "notificationKey", type, sealed);
        if (!checkedContent(members)) throw new EnvelopeError("badContent");
        return { content: contentOf(members), keys: key };
    },
});

/** Seals and opens replies to events (docs/reference/encryption.md, Replies). */
export const SealedReply = Object.freeze({
    /** Seals a reply to an event. Returns the value of `sealed` for `Relay.reply`. */
    async seal({ keys, eventID, action, text, answers, sentAt = Math.floor(Date.now() / 1000) }) {
        const members = { a: action, at: sentAt, b: text, q: answers };
        if (!checkedReply(members)) throw new EnvelopeError("badContent");
        const nonce = await cryptography().randomBytes(nonceBytes);
        return sealPlaintext(keys, replyType(eventID), JSON.stringify(members, wholeCharacters), nonce, "replyKey");
    },

    /** Opens the reply to an event with the key that matches its key ID. The sender must accept only one reply per event. */
    async open({ keys, eventID, sealed }) {
        const { members, keys: key } = await openMembers(keys, "replyKey", replyType(eventID), sealed);
        if (!checkedReply(members)) throw new EnvelopeError("badContent");
        const { a: action, b: text, q: answers, at: sentAt } = members;
        return { action, text, ...(answers && { answers }), sentAt, keys: key };
    },
});

/** Seals and opens the results of replies (docs/reference/encryption.md, Results of replies). */
export const SealedResult = Object.freeze({
    /**
     * Seals the result of the sealed reply to an event. Returns the value of `sealed` for `/v1/reply/result`.
     *
     * Without `reply`, it is the result of every reply to an event that was over before a reply arrived.
     */
    async seal({ keys, eventID, reply, outcome, reason, sentAt = Math.floor(Date.now() / 1000) }) {
        const members = { o: outcome, at: sentAt, c: reason, r: reply === undefined ? undefined : await replyDigest(reply) };
        if (!checkedResult(members)) throw new EnvelopeError("badContent");
        const nonce = await cryptography().randomBytes(nonceBytes);
        return sealPlaintext(keys, resultType(eventID), JSON.stringify(members), nonce, "replyResultKey");
    },

    /**
     * Opens the result of the reply to an event.
     *
     * `reply` is the sealed reply that this phone sent: the result of another reply is `notAuthentic`. Omit it if this
     * phone sent no reply, for example for the history.
     */
    async open({ keys, eventID, reply, sealed }) {
        const { members, keys: key } = await openMembers(keys, "replyResultKey", resultType(eventID), sealed);
        if (!checkedResult(members)) throw new EnvelopeError("badContent");
        const { o: outcome, c: reason, at: sentAt, r: digest } = members;
        if (reply !== undefined && digest !== undefined && digest !== await replyDigest(reply)) {
            throw new EnvelopeError("notAuthentic");
        }
        return { outcome, reason, sentAt, keys: key };
    },
});

/** The members of an envelope's plaintext, and the keys that opened it. */
async function openMembers(keys, name, type, sealed) {
    const envelope = decoded(sealed);
    const id = encodeHex(envelope.subarray(1, 1 + keyIDBytes));
    const candidates = (Array.isArray(keys) ? keys : [keys]).filter((key) => key.id === id);
    if (candidates.length === 0) throw new EnvelopeError("unknownKey");
    let failure;
    for (const key of candidates) {
        let padded;
        try {
            padded = await decrypted(envelope, key[name], type);
        } catch (error) {
            failure = error;
            continue;
        }
        return { members: parsed(padded), keys: key };
    }
    throw new EnvelopeError("notAuthentic", { cause: failure });
}

/** A reply's place in the associated data binds it to its event. */
function replyType(eventID) {
    return "reply/" + eventID;
}

/** A result's place in the associated data binds it to its event. */
function resultType(eventID) {
    return "reply-result/" + eventID;
}

/** Identifies a sealed reply within its result. */
async function replyDigest(sealed) {
    return encodeBase64URL(await cryptography().hmacSHA256(encodeUTF8("apn-relay reply"), encodeUTF8(sealed)));
}

/** Seals a plaintext as it is. For `Envelope.seal` and tests only: a nonce must never be used twice. */
export async function sealPlaintext(keys, type, plaintext, nonce, name = "notificationKey") {
    const bytes = encodeUTF8(plaintext);
    if (bytes.length > plaintextBytesMax) throw new EnvelopeError("tooLarge");
    const padded = new Uint8Array((Math.floor(bytes.length / blockBytes) + 1) * blockBytes);
    padded.set(bytes);
    padded[bytes.length] = 0x80;
    const header = concatenate(Uint8Array.of(version), keyIDOf(keys), nonce);
    const data = associatedData(keyIDOf(keys), type);
    return encodeBase64URL(concatenate(
        header, await cryptography().sealAES256GCM(keys[name], nonce, padded, data)));
}

/** Replaces unpaired surrogates, which JSON.stringify would write as escapes that other readers refuse. */
function wholeCharacters(_, value) {
    return typeof value === "string" ? value.replace(/[\ud800-\udfff]/gu, "\ufffd") : value;
}

function keyIDOf(keys) {
    return Uint8Array.from(keys.id.match(/../g), (digits) => parseInt(digits, 16));
}

/** The type comes last and is the only part of variable length. */
function associatedData(keyID, type) {
    return concatenate(label, keyID, encodeUTF8(type));
}

function decoded(sealed) {
    if (typeof sealed !== "string" || sealed.length > sealedCharactersMax) throw new EnvelopeError("malformed");
    const envelope = decodeBase64URL(sealed);
    if (envelope === undefined || envelope.length === 0) throw new EnvelopeError("malformed");
    if (envelope[0] !== version) throw new EnvelopeError("unsupportedVersion");
    const paddedBytes = envelope.length - headerBytes - tagBytes;
    if (paddedBytes <= 0 || paddedBytes % blockBytes !== 0) throw new EnvelopeError("malformed");
    return envelope;
}

/** The padded plaintext. Throws what the app's cryptography throws if the envelope isn't authentic. */
async function decrypted(envelope, key, type) {
    const nonce = envelope.slice(1 + keyIDBytes, headerBytes);
    const data = associatedData(envelope.subarray(1, 1 + keyIDBytes), type);
    const padded = await cryptography().openAES256GCM(
        key, nonce, envelope.slice(headerBytes), data);
    if (!padded) throw new Error("not authentic");
    return padded;
}

/** The members of a padded plaintext. */
function parsed(padded) {
    const end = padded.lastIndexOf(0x80);
    const padding = padded.subarray(end + 1);
    if (end < 0 || padding.length >= blockBytes || padding.some((byte) => byte !== 0)) {
        throw new EnvelopeError("badPadding");
    }
    const text = decodeUTF8(padded.subarray(0, end));
    try {
        return JSON.parse(text);
    } catch {
        throw new EnvelopeError("badContent");
    }
}
