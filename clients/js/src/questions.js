// What a sender asks a person to decide, and the answers (docs/reference/encryption.md, Requests).
import { isObject } from "./json.js";

const questionsMax = 16;

/** The request in the plaintext's `q`; without questions if there are none or this version can't read them. */
export function requestOf(q) {
    return { end: Number.isSafeInteger(q.end) ? q.end : undefined, isCut: q.cut === true, questions: questionsOf(q.f) ?? [] };
}

/** The plaintext's `q` of a request; undefined if no reader would accept it. */
export function membersOfRequest(request) {
    if (!isObject(request)) return undefined;
    const { end, isCut, questions = [] } = request;
    const f = questions.length > 0 ? questions.map(membersOfQuestion) : undefined;
    const isReadable = (f === undefined || questionsOf(f)) && (end === undefined || Number.isSafeInteger(end));
    return isReadable ? { end, cut: isCut || undefined, f } : undefined;
}

/** Whether a reply's `q` has an array of strings for each question. */
export function isAnswers(q) {
    return Array.isArray(q) && q.every((texts) => Array.isArray(texts) && texts.every((text) => typeof text === "string"));
}

/** All questions, or undefined if one isn't valid: they are answered together. */
function questionsOf(f) {
    if (!Array.isArray(f) || f.length === 0 || f.length > questionsMax) return undefined;
    const questions = f.map(questionOf);
    return questions.includes(undefined) ? undefined : questions;
}

function questionOf(members) {
    if (!isObject(members)) return undefined;
    const { t, h, o = [], m = false, w = false, e = false } = members;
    const isValid = isWord(t) && isTextOrAbsent(h) && Array.isArray(o) && o.every((option) => isObject(option) && isWord(option.l)
        && isTextOrAbsent(option.x)) && new Set(o.map(({ l }) => l)).size === o.length
        && [m, w, e].every((flag) => typeof flag === "boolean") && (w || o.length > 0);
    if (!isValid) return undefined;
    return {
        text: t, heading: h, options: o.map(({ l, x }) => ({ label: l, detail: x })), isMultiple: m, allowsText: w, isOptional: e,
    };
}

function membersOfQuestion({ text, heading, options = [], isMultiple, allowsText, isOptional }) {
    return {
        h: heading, t: text, o: options.length > 0 ? options.map(({ label, detail }) => ({ l: label, x: detail })) : undefined,
        m: isMultiple || undefined, w: allowsText || undefined, e: isOptional || undefined,
    };
}

function isWord(value) {
    return typeof value === "string" && value !== "";
}

function isTextOrAbsent(value) {
    return value === undefined || typeof value === "string";
}
