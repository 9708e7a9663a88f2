import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Envelope, EnvelopeError, PairingKeys, SealedReply, SealedResult } from "../node.js";
import { concatenate, decodeBase64URL, decodeUTF8, encodeBase64URL, encodeHex, encodeUTF8 } from "../src/bytes.js";
import { cryptography, hkdf } from "../src/cryptography.js";
import { sealPlaintext } from "../src/envelope.js";
import { membersOfRequest } from "../src/questions.js";

const vectors = JSON.parse(readFileSync(new URL("../../vectors/sealed.json", import.meta.url), "utf8"));
const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));

test("HKDF gives the values of RFC 5869", async () => {
    for (const { name, ikm, salt, info, length, okm } of vectors.hkdf) {
        assert.equal(encodeHex(await hkdf(bytes(ikm), bytes(salt), bytes(info), length)), okm, name);
    }
});

test("AES-256-GCM gives the published values and refuses changed tags", async () => {
    const { sealAES256GCM, openAES256GCM } = cryptography();
    for (const vector of vectors.aesGCM) {
        const [key, nonce, data, plaintext] =
            [vector.key, vector.nonce, vector.associatedData, vector.plaintext].map(bytes);
        const sealed = await sealAES256GCM(key, nonce, plaintext, data);
        assert.equal(encodeHex(sealed), vector.ciphertext + vector.tag, vector.name);
        assert.equal(encodeHex(await openAES256GCM(key, nonce, sealed, data)), vector.plaintext, vector.name);
        sealed[sealed.length - 1] ^= 1;
        await assert.rejects(openAES256GCM(key, nonce, sealed, data), vector.name);
    }
});

test("every key is derived as in the vectors", async () => {
    for (const vector of vectors.keys) {
        const keys = await PairingKeys.derive(vector.pairingSecret);
        assert.equal(keys.pairingSecret, vector.pairingSecret);
        assert.equal(keys.relaySecret, vector.relaySecret);
        assert.equal(encodeHex(keys.notificationKey), vector.notificationKey);
        assert.equal(encodeHex(keys.replyKey), vector.replyKey);
        assert.equal(encodeHex(keys.replyResultKey), vector.replyResultKey);
        assert.equal(keys.id, vector.notificationKeyID);
        assert.equal(await keys.privateSessionID(vector.sessionID), vector.privateSessionID);
    }
});

test("sealing gives exactly the vectors' envelopes, and opening their content", async () => {
    for (const { name, pairingSecret, type, nonce, plaintext, sealed } of vectors.seal) {
        const keys = await PairingKeys.derive(pairingSecret);
        assert.equal(await sealPlaintext(keys, type, plaintext, bytes(nonce)), sealed, name);
        const { content } = await Envelope.open({ keys, type, sealed });
        const members = JSON.parse(plaintext);
        assert.deepEqual(
            [content.title, content.body, content.sessionID, content.serverID, content.eventID, content.sentAt],
            [members.t, members.b, members.s, members.v, members.i, members.at], name);
        assert.deepEqual([content.ttl, content.notification], [members.ttl, members.n], name);
        assert.deepEqual(content.request && JSON.parse(JSON.stringify(membersOfRequest(content.request))), members.q, name);
    }
});

test("everything that must be refused is refused for its reason", async () => {
    for (const { name, pairingSecret, type, sealed, reason } of vectors.refuse) {
        const keys = await PairingKeys.derive(pairingSecret);
        const refusal = (error) => error instanceof EnvelopeError && error.reason === reason;
        await assert.rejects(Envelope.open({ keys, type, sealed }), refusal, name);
    }
});

test("replies are sealed, opened and refused as in the vectors", async () => {
    for (const { name, pairingSecret, eventID, nonce, plaintext, sealed } of vectors.sealReply) {
        const keys = await PairingKeys.derive(pairingSecret);
        assert.equal(await sealPlaintext(keys, `reply/${eventID}`, plaintext, bytes(nonce), "replyKey"), sealed, name);
        const reply = await SealedReply.open({ keys, eventID, sealed });
        const { a, b, at, q } = JSON.parse(plaintext);
        assert.deepEqual([reply.action, reply.text, reply.answers, reply.sentAt, reply.keys], [a, b, q, at, keys], name);
    }
    for (const { name, pairingSecret, eventID, sealed, reason } of vectors.refuseReply) {
        const keys = await PairingKeys.derive(pairingSecret);
        await assert.rejects(SealedReply.open({ keys, eventID, sealed }), { reason }, name);
    }
    const keys = await PairingKeys.generate();
    const sealed = await SealedReply.seal({ keys, eventID: "evt", action: "once", text: "half \ud83e" });
    const { action, text } = await SealedReply.open({ keys: [keys], eventID: "evt", sealed });
    assert.deepEqual([action, text], ["once", "half \ufffd"]);
    for (const action of ["", "a b", undefined]) {
        await assert.rejects(SealedReply.seal({ keys, eventID: "evt", action }), { reason: "badContent" });
    }
});

test("results of replies are sealed, opened and refused as in the vectors", async () => {
    for (const { name, pairingSecret, eventID, reply, nonce, plaintext, sealed } of vectors.sealResult) {
        const keys = await PairingKeys.derive(pairingSecret);
        const type = `reply-result/${eventID}`;
        assert.equal(await sealPlaintext(keys, type, plaintext, bytes(nonce), "replyResultKey"), sealed, name);
        const { o, c, at } = JSON.parse(plaintext);
        for (const known of [reply, undefined]) {
            const result = await SealedResult.open({ keys, eventID, reply: known, sealed });
            assert.deepEqual(result, { outcome: o, reason: c, sentAt: at, keys }, name);
        }
    }
    assert.ok(vectors.sealResult.length >= 4 && vectors.refuseResult.length >= 15);
    for (const { name, pairingSecret, eventID, reply, sealed, reason } of vectors.refuseResult) {
        const keys = await PairingKeys.derive(pairingSecret);
        await assert.rejects(SealedResult.open({ keys, eventID, reply, sealed }), { reason }, name);
    }
    const keys = await PairingKeys.generate();
    const reply = await SealedReply.seal({ keys, eventID: "evt", action: "once" });
    const result = { keys, eventID: "evt", reply, outcome: "refused", reason: "changed", sentAt: 7 };
    const sealed = await SealedResult.seal(result);
    const opened = await SealedResult.open({ keys: [keys], eventID: "evt", reply, sealed });
    assert.deepEqual(opened, { outcome: "refused", reason: "changed", sentAt: 7, keys });
    const other = await SealedReply.seal({ keys, eventID: "evt", action: "once" });
    await assert.rejects(SealedResult.open({ keys, eventID: "evt", reply: other, sealed }), { reason: "notAuthentic" });
    for (const wrong of [{ reply: undefined }, { outcome: "Taken" }, { outcome: "" }, { reason: "a b" }, { sentAt: -1 }]) {
        await assert.rejects(SealedResult.seal({ ...result, ...wrong }), { reason: "badContent" });
    }
});

test("a change at any byte of an envelope is refused", async () => {
    const { pairingSecret, type, sealed } = vectors.seal[0];
    const keys = await PairingKeys.derive(pairingSecret);
    const envelope = decodeBase64URL(sealed);
    for (let index = 0; index < envelope.length; index++) {
        for (const change of [0x01, 0x80, 0xff]) {
            const changed = Uint8Array.from(envelope);
            changed[index] ^= change;
            const expected = index === 0 ? "unsupportedVersion" : index < 5 ? "unknownKey" : "notAuthentic";
            await assert.rejects(
                Envelope.open({ keys, type, sealed: encodeBase64URL(changed) }), { reason: expected }, `byte ${index}`);
        }
    }
});

test("a change at any character of an envelope is refused", async () => {
    const { pairingSecret, type, sealed } = vectors.seal[0];
    const keys = await PairingKeys.derive(pairingSecret);
    for (let index = 0; index < sealed.length; index++) {
        const changed = sealed.slice(0, index) + (sealed[index] === "A" ? "B" : "A") + sealed.slice(index + 1);
        await assert.rejects(Envelope.open({ keys, type, sealed: changed }), EnvelopeError, `character ${index}`);
        await assert.rejects(Envelope.open({ keys, type, sealed: sealed.slice(0, index) }), EnvelopeError);
    }
});

test("keys with the same id are tried one after the other", async () => {
    const { pairingSecret, type, sealed } = vectors.seal[0];
    const keys = await PairingKeys.derive(pairingSecret);
    const sameID = { id: keys.id, notificationKey: new Uint8Array(32) };
    assert.equal((await Envelope.open({ keys: [sameID, keys], type, sealed })).keys, keys);
    await assert.rejects(Envelope.open({ keys: [sameID], type, sealed }), { reason: "notAuthentic" });
    await assert.rejects(Envelope.open({ keys: [], type, sealed }), { reason: "unknownKey" });
});

test("what is sealed here opens here, with a new nonce each time", async () => {
    const keys = await PairingKeys.generate();
    const content = { title: "Grüße 👩‍💻", body: "a\u0000b", eventID: "evt", sentAt: 5, ttl: 0, notification: { badge: 1 } };
    const sealed = await Envelope.seal({ keys, type: "complete", content });
    assert.notEqual(sealed, await Envelope.seal({ keys, type: "complete", content }));
    assert.deepEqual((await Envelope.open({ keys, type: "complete", sealed })).content, content);
    const short = await Envelope.seal({ keys, type: "notify", content: { body: "x" } });
    const opened = (await Envelope.open({ keys, type: "notify", sealed: short })).content;
    assert.match(opened.eventID, /^[0-9a-f]{32}$/);
    assert.ok(Math.abs(opened.sentAt - Date.now() / 1000) < 60);
});

const question = { text: "Which database?", heading: "Choice", options: [{ label: "SQLite", detail: "one file" },
    { label: "Postgres", detail: undefined }], isMultiple: false, allowsText: true, isOptional: false };

test("a request and its questions are sealed and opened, and the answers as well", async () => {
    const keys = await PairingKeys.generate();
    const request = { end: 1_700_000_590, isCut: false, questions: [question] };
    const sealed = await Envelope.seal({ keys, type: "permission", content: { body: "x", request } });
    assert.deepEqual((await Envelope.open({ keys, type: "permission", sealed })).content.request, request);
    const short = await Envelope.seal({ keys, type: "permission", content: { body: "x", request: { isCut: true } } });
    assert.deepEqual((await Envelope.open({ keys, type: "permission", sealed: short })).content.request,
        { end: undefined, isCut: true, questions: [] });
    const answers = [["SQLite", "on a fast disk"], []];
    const reply = await SealedReply.seal({ keys, eventID: "e", action: "answer", answers });
    assert.deepEqual((await SealedReply.open({ keys, eventID: "e", sealed: reply })).answers, answers);
    for (const wrong of ["SQLite", ["SQLite"], [[1]], {}]) {
        await assert.rejects(SealedReply.seal({ keys, eventID: "e", action: "answer", answers: wrong }), { reason: "badContent" });
    }
});

test("questions that aren't valid are left out together, and aren't sealed", async () => {
    const keys = await PairingKeys.generate();
    const open = async (q) => {
        const plaintext = JSON.stringify({ i: "e", at: 1, b: "x", q });
        const sealed = await sealPlaintext(keys, "permission", plaintext, new Uint8Array(12));
        return (await Envelope.open({ keys, type: "permission", sealed })).content.request;
    };
    const valid = { t: "Which?", o: [{ l: "a" }, { l: "b" }] };
    assert.equal((await open({ f: [valid, { t: "Why?", w: true }] })).questions.length, 2);
    for (const wrong of [5, null, {}, { t: "" }, { t: "Which?" }, { ...valid, o: [{ l: "a" }, { l: "a" }] }, { ...valid, o: [{ l: "" }] },
        { ...valid, o: {} }, { ...valid, o: [null] }, { ...valid, h: 1 }, { ...valid, m: 1 }, { ...valid, o: [{ l: "a", x: 1 }] }]) {
        assert.deepEqual((await open({ f: [valid, wrong], end: "soon", cut: 1 })), { end: undefined, isCut: false, questions: [] });
    }
    for (const f of [[], {}, Array(17).fill(valid)]) assert.deepEqual((await open({ f })).questions, []);
    for (const q of [5, [], null]) await assert.rejects(open(q), { reason: "badContent" });
    for (const request of [null, 5, { end: 1.5 }, { questions: [{ text: "" }] }, { questions: [{ ...question, options: [{}] }] }]) {
        await assert.rejects(Envelope.seal({ keys, type: "permission", content: { body: "x", request } }), { reason: "badContent" });
    }
});

test("contents that no one could open are not sealed", async () => {
    const keys = await PairingKeys.generate();
    const sealing = (content) => Envelope.seal({ keys, type: "complete", content });
    for (const content of [{}, { title: "" }, { title: 1 }, { body: "x", ttl: -1 }, { body: "x", eventID: "" }]) {
        await assert.rejects(sealing(content), { reason: "badContent" });
    }
    await assert.rejects(sealing({ body: "x".repeat(2560) }), { reason: "tooLarge" });
});

test("half an emoji becomes U+FFFD", async () => {
    const keys = await PairingKeys.generate();
    const content = { body: "\ud83c!", notification: { subtitle: "👍\udc4d" } };
    const sealed = await Envelope.seal({ keys, type: "complete", content });
    const opened = (await Envelope.open({ keys, type: "complete", sealed })).content;
    assert.deepEqual([opened.body, opened.notification.subtitle], ["\ufffd!", "👍\ufffd"]);
});

test("secrets don't show when keys are printed", async () => {
    const { inspect } = await import("node:util");
    const keys = await PairingKeys.derive(vectors.keys[0].pairingSecret);
    assert.equal(JSON.stringify(keys), '{"id":"2d353888"}');
    assert.doesNotMatch(inspect(keys, { showHidden: true }), /AAEC|wN9Z/);
    await assert.rejects(PairingKeys.derive("AAEC"), (error) => error instanceof TypeError && !/AAEC/.test(error.message));
});

test("base64url and UTF-8 are those of Node", () => {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const expected = (data) => {
        try {
            return decoder.decode(data);
        } catch {
            return undefined;
        }
    };
    let state = 1;
    const random = () => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) / 2 ** 32;
    // Bytes on either side of every rule of UTF-8.
    const borders = [0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc1, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5];
    for (let round = 0; round < 20_000; round++) {
        const data = Uint8Array.from({ length: Math.floor(random() * 7) }, () => borders[Math.floor(random() * borders.length)]);
        assert.equal(decodeUTF8(data), expected(data));
        const text = encodeBase64URL(data);
        assert.equal(text, Buffer.from(data).toString("base64url"));
        assert.deepEqual(decodeBase64URL(text), data);
    }
    const everything = String.fromCodePoint(0, 0x7f, 0x80, 0x7ff, 0x800, 0xffff, 0x10000, 0x10ffff) + "\ud800x\udc00";
    assert.deepEqual(encodeUTF8(everything), new TextEncoder().encode(everything));
    assert.deepEqual(concatenate(), new Uint8Array(0));
});
