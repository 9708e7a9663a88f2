// The plaintext's members (docs/reference/encryption.md, Plaintext) and their names in this library.
import { encodeUTF8 } from "./bytes.js";
import { isObject } from "./json.js";
import { isAnswers, membersOfRequest, requestOf } from "./questions.js";

const names = [
    ["title", "t"], ["body", "b"], ["sessionID", "s"], ["serverID", "v"], ["eventID", "i"], ["sentAt", "at"],
    ["ttl", "ttl"], ["notification", "n"],
];
const eventIDBytesMax = 128;
const ttlMax = 2_592_000;

/** The plaintext's members for a content; they are invalid if the content is. */
export function membersOf(content) {
    const { request } = content;
    const members = names.map(([name, member]) => [member, content[name]]);
    if (request !== undefined) members.push(["q", membersOfRequest(request) ?? null]);
    return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

/** The content from a plaintext's members; unknown members are left out. */
export function contentOf(members) {
    const content = names.map(([name, member]) => [name, members[member]]);
    if (members.q !== undefined) content.push(["request", requestOf(members.q)]);
    return Object.fromEntries(content.filter(([, value]) => value !== undefined));
}

/** Whether every member of a reply has an allowed value. */
export function checkedReply(members) {
    if (!isObject(members)) return false;
    const { a, at, b, q } = members;
    return typeof a === "string" && /^[!-~]{1,64}$/.test(a) && Number.isSafeInteger(at) && at >= 0
        && (b === undefined || typeof b === "string") && (q === undefined || isAnswers(q));
}

/** Whether every member of a reply's result has an allowed value. */
export function checkedResult(members) {
    if (!isObject(members)) return false;
    const { o, at, c, r } = members;
    if (typeof o !== "string" || !/^[a-z0-9_]{1,32}$/.test(o) || !Number.isSafeInteger(at) || at < 0) return false;
    if (c !== undefined && !(typeof c === "string" && /^[a-z0-9_]{1,64}$/.test(c))) return false;
    // Without a reply, only these two outcomes are possible.
    return r === undefined ? o === "answered_elsewhere" || o === "too_late" : typeof r === "string";
}

/** Whether every member has an allowed value. */
export function checkedContent(members) {
    if (!isObject(members)) return false;
    const { i, at, t, b, s, v, ttl, n, q } = members;
    if (typeof i !== "string" || i === "" || encodeUTF8(i).length > eventIDBytesMax) return false;
    if (!Number.isSafeInteger(at) || at < 0) return false;
    if ([t, b, s, v].some((text) => text !== undefined && typeof text !== "string")) return false;
    if (!t && !b) return false;
    if (ttl !== undefined && !(Number.isSafeInteger(ttl) && ttl >= 0 && ttl <= ttlMax)) return false;
    return (n === undefined || isObject(n)) && (q === undefined || isObject(q));
}
