// An engine without Web Crypto: index.js, as React Native loads it, with primitives that the app supplies.
import assert from "node:assert/strict";
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Envelope, PairingKeys, setCryptography } from "../index.js";

const vectors = JSON.parse(readFileSync(new URL("../../vectors/sealed.json", import.meta.url), "utf8"));

/** Primitives that return values, not promises. */
const primitives = {
    randomBytes: (count) => new Uint8Array(randomBytes(count)),
    hmacSHA256: (key, data) => new Uint8Array(createHmac("sha256", key).update(data).digest()),
    sealAES256GCM(key, nonce, plaintext, associatedData) {
        const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(associatedData);
        return new Uint8Array(Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]));
    },
    openAES256GCM(key, nonce, sealed, associatedData) {
        const decipher = createDecipheriv("aes-256-gcm", key, nonce).setAAD(associatedData);
        decipher.setAuthTag(sealed.subarray(-16));
        return new Uint8Array(Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]));
    },
};

test("without primitives the error says what to do", async () => {
    Object.defineProperty(globalThis, "crypto", { value: undefined, configurable: true });
    await assert.rejects(PairingKeys.generate(), /setCryptography/);
});

test("the vectors hold with the app's primitives", async () => {
    setCryptography(primitives);
    for (const { name, pairingSecret, type, sealed, plaintext } of vectors.seal) {
        const keys = await PairingKeys.derive(pairingSecret);
        assert.equal((await Envelope.open({ keys, type, sealed })).content.eventID, JSON.parse(plaintext).i, name);
    }
    for (const { name, pairingSecret, type, sealed, reason } of vectors.refuse) {
        const keys = await PairingKeys.derive(pairingSecret);
        await assert.rejects(Envelope.open({ keys, type, sealed }), { reason }, name);
    }
    const keys = await PairingKeys.generate();
    const sealed = await Envelope.seal({ keys, type: "error", content: { title: "T" } });
    assert.equal((await Envelope.open({ keys, type: "error", sealed })).content.title, "T");
});
