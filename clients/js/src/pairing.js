import { decodeBase64URL, encodeHex, encodeUTF8 } from "./bytes.js";
import { cryptography } from "./cryptography.js";
import { isObject } from "./json.js";
import { PairingKeys } from "./keys.js";
import { checkMembers } from "./members.js";

const textCharactersMax = 16_384;
const secretBytesMax = 512;
const keyBytes = 32;
const idBytes = 8;
const memberNames = ["serverID", "relayURL", "relaySecret", "hosts", "key"];
const otherNames = ["v", "code"];
const schemeDefault = "mobilevoice";

const messages = {
    notPairing: "This is not a pairing link.",
    unsupportedVersion: "The pairing link has a version that this app does not know.",
    invalid: "The pairing link is incomplete or damaged.",
    secretMismatch: "The pairing link's relay secret does not belong to its key. Do not use it.",
};

/** Why a string isn't a pairing. `reason` is `notPairing`, `unsupportedVersion`, `invalid` or `secretMismatch`. */
export class PairingError extends Error {
    constructor(reason, field) {
        super(field ? `${messages[reason]} Wrong member: ${field}` : messages[reason]);
        this.name = "PairingError";
        this.reason = reason;
        this.field = field;
    }
}

/** A phone's relation to an OpenCode server and its relay, as the QR code describes it. */
export class Pairing {
    #relaySecret;
    #keys;
    #code;

    /** Identifies the pairing in an app's storage: 16 hexadecimal digits that reveal nothing about its secrets. */
    id;
    /** Addresses of the OpenCode server, at least one. */
    hosts;
    /** The OpenCode server's ID, if known. */
    serverID;
    /** The relay's base URL without a trailing slash, or undefined for the app's default. */
    relayURL;

    constructor({ id, relaySecret, keys, code, hosts, serverID, relayURL }) {
        this.id = id;
        this.#relaySecret = relaySecret;
        this.#keys = keys;
        this.#code = code;
        this.hosts = Object.freeze([...hosts]);
        this.serverID = serverID;
        this.relayURL = relayURL;
        Object.freeze(this);
    }

    /** The `secret` of requests to the relay. */
    get relaySecret() {
        return this.#relaySecret;
    }

    /** The keys of sealed notifications, or undefined if the link had no `key`. */
    get keys() {
        return this.#keys;
    }

    /** The one-time code that logs a phone in to the OpenCode server, for five minutes; undefined if the link has none. It isn't in `json()`. */
    get code() {
        return this.#code;
    }

    /** Where the code opens OpenCode, one address per host; empty without a code. The first request uses up the code. */
    get connectURLs() {
        if (this.#code === undefined) return [];
        return this.hosts.map(urlOf).filter((url) => isWebURL(url)).map((url) => `${url}/auth/connect/${this.#code}`);
    }

    /** Reads a link with `pair=` or `payload=` in its query or fragment, or its JSON. Throws a `PairingError`. */
    static async parse(text) {
        const members = membersOf(text);
        refuseMisspelt(members);
        if (members.v !== undefined && members.v !== 1) throw new PairingError("unsupportedVersion", "v");
        const relaySecret = textMember(members, "relaySecret")?.trim();
        if (!relaySecret || encodeUTF8(relaySecret).length > secretBytesMax || looksLikeLink(relaySecret)) throw new PairingError("invalid", "relaySecret");
        const { hosts } = members;
        if (!Array.isArray(hosts) || !hosts.some(isHost)) throw new PairingError("invalid", "hosts");
        const keys = await keysOf(members);
        if (keys && keys.relaySecret !== relaySecret) throw new PairingError("secretMismatch");
        return identified({
            relaySecret, keys, code: isCode(members.code) ? members.code : undefined, hosts: hosts.filter(isHost), serverID: textMember(members, "serverID") || undefined,
            relayURL: relayURLOf(textMember(members, "relayURL")),
        });
    }

    /** A new pairing with a random pairing secret, or with the given keys. */
    static async make({ hosts, relayURL, serverID, keys, ...rest }) {
        checkMembers(rest, ["hosts", "relayURL", "serverID", "keys"], "pairing");
        if (!Array.isArray(hosts) || hosts.length === 0 || !hosts.every(isHost)) throw new PairingError("invalid", "hosts");
        const made = keys ?? (await PairingKeys.generate());
        return identified({
            relaySecret: made.relaySecret, keys: made, hosts, serverID, relayURL: relayURLOf(relayURL),
        });
    }

    /** The JSON in the link. It contains the secrets. */
    json() {
        const { hosts, serverID, relayURL, relaySecret, keys } = this;
        return JSON.stringify({ v: 1, serverID, relayURL, relaySecret, hosts, key: keys?.pairingSecret });
    }

    /** The link for a QR code. It contains the secrets. */
    link(scheme = schemeDefault) {
        return `${scheme}:///?pair=${encodeURIComponent(this.json())}`;
    }
}

/** A pairing with its ID, which is the same for the same relay and secret. */
async function identified({ relayURL, relaySecret, ...members }) {
    const text = encodeUTF8(`pairing id ${relayURL ?? ""}`);
    const code = await cryptography().hmacSHA256(encodeUTF8(relaySecret), text);
    return new Pairing({ ...members, relayURL, relaySecret, id: encodeHex(code.subarray(0, idBytes)) });
}

/**
 * Refuses a member whose name is almost a pairing member's, or whose value can only be a key: without its key, a pairing
 * would send readable text. Other unknown members are left to later versions.
 */
function refuseMisspelt(members) {
    for (const [name, value] of Object.entries(members)) {
        if (memberNames.includes(name) || otherNames.includes(name)) continue;
        const meant = memberNames.find((known) => isNearly(name, known));
        const isKey = typeof value === "string" && decodeBase64URL(value.trim())?.length === keyBytes;
        if (meant || isKey) throw new PairingError("invalid", meant ?? "key");
    }
}

/** Whether a name differs from a known one in case, separators, or by one letter that is missing, added, wrong or swapped. */
function isNearly(name, known) {
    const one = name.toLowerCase().replace(/[^a-z]/g, "");
    const other = known.toLowerCase();
    if (Math.abs(one.length - other.length) > 1) return false;
    let start = 0;
    while (start < one.length && one[start] === other[start]) start++;
    let end = 0;
    while (end < Math.min(one.length, other.length) - start && one.at(-1 - end) === other.at(-1 - end)) end++;
    const [left, right] = [one.slice(start, one.length - end), other.slice(start, other.length - end)];
    return Math.max(left.length, right.length) <= 1 || (left.length === 2 && left === right[1] + right[0]);
}

/** A secret that is itself a link or JSON was assembled incorrectly, and would be sent to the relay with the key inside. */
function looksLikeLink(secret) {
    return /[{}"\u201c-\u201f]|:\/\//.test(secret);
}

function membersOf(text) {
    if (typeof text !== "string" || text.length > textCharactersMax) throw new PairingError("notPairing");
    const trimmed = text.trim();
    const json = trimmed.startsWith("{") ? trimmed : queryMember(trimmed, ["pair", "payload"]);
    let members;
    try {
        members = JSON.parse(json);
    } catch {
        throw new PairingError("notPairing");
    }
    if (!isObject(members)) throw new PairingError("notPairing");
    return members;
}

/** The first of the named members in a URL's query, or else in its fragment. React Native's own URL class can't read queries. */
function queryMember(url, names) {
    const [, query, fragment] = /^[^?#]*(?:\?([^#]*))?(?:#(.*))?$/s.exec(url);
    for (const part of [query ?? "", fragment ?? ""]) {
        const pairs = part.split("&").map((pair) => /^([^=]*)=?(.*)$/s.exec(pair).slice(1));
        const found = names.map((name) => pairs.find(([found]) => found === name)).find((pair) => pair);
        if (!found) continue;
        try {
            return decodeURIComponent(found[1].replaceAll("+", " "));
        } catch {
            throw new PairingError("notPairing");
        }
    }
    throw new PairingError("notPairing");
}

function textMember(members, name) {
    const value = members[name];
    if (value !== undefined && typeof value !== "string") throw new PairingError("invalid", name);
    return value;
}

function isHost(host) {
    return typeof host === "string" && host.trim() !== "";
}

/** Like OpenCode's app, treats a URL without a scheme as plain HTTP. */
function relayURLOf(text) {
    const url = urlOf(text ?? "");
    if (url === "") return undefined;
    if (!isWebURL(url)) throw new PairingError("invalid", "relayURL");
    return url;
}

function urlOf(text) {
    const trimmed = text.trim().replace(/\/+$/, "");
    return trimmed === "" || /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `http://${trimmed}`;
}

function isWebURL(url) {
    return /^https?:\/\/[^\s/?#@\\]+(\/[^\s?#]*)?$/i.test(url);
}

function isCode(code) {
    return typeof code === "string" && /^[\w-]{1,128}$/.test(code);
}

async function keysOf(members) {
    const key = textMember(members, "key");
    if (key === undefined) return undefined;
    try {
        return await PairingKeys.derive(key);
    } catch (error) {
        if (error instanceof TypeError) throw new PairingError("invalid", "key");
        throw error;
    }
}
