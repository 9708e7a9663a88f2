import "./setup.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Envelope, Pairing, SealedReply, SealedResult } from "../js/index.js";
import { canScan, scan } from "../src/camera.js";
import { storedKeys, useStoredKeys } from "../src/keys.js";
import { isPairingFragment, nameOf, openingsOf, readLink, relayOfPage } from "../src/link.js";

const pairing = await Pairing.make({ hosts: ["http://192.168.1.20:4096"], relayURL: "https://relay.example.org", serverID: "server" });
const json = encodeURIComponent(pairing.json());

test("the page's link, the app's link and the JSON are the same pairing", async () => {
    const links = [
        `https://relay.example.org/app/#pair=${json}`, `#pair=${json}`, `  https://relay.example.org/app/#payload=${json}\n`,
        pairing.link(),
        pairing.link("my-app"), pairing.json(),
    ];
    for (const link of links) assert.equal((await readLink(link)).id, pairing.id, link.slice(0, 40));
});

test("other texts are refused with a reason", async () => {
    for (const text of ["", "https://relay.example.org/app/", "#pair=", "#pair=%7B", "hello", "#pair=%"]) {
        await assert.rejects(readLink(text), { reason: "notPairing" }, text);
    }
    const wrong = { ...JSON.parse(pairing.json()), relaySecret: "another secret of the relay" };
    await assert.rejects(readLink(`#pair=${encodeURIComponent(JSON.stringify(wrong))}`), { reason: "secretMismatch" });
});

test("only a fragment with a pairing is taken for one", () => {
    assert.equal(isPairingFragment("#pair=%7B%7D"), true);
    for (const fragment of ["", "#", "#/item/pair=1", "#pair=", "#/settings"]) assert.equal(isPairingFragment(fragment), false, fragment);
});

test("a link without a relay means the one that serves the page", () => {
    assert.equal(relayOfPage("https://relay.example.org/app/"), "https://relay.example.org");
    assert.equal(relayOfPage("https://example.org/push/app/index.html?x"), "https://example.org/push");
});

test("a one-time code opens OpenCode at each address that a browser can open, and isn't kept", async () => {
    const hosts = ["https://box.tunnel.example/", "10.0.0.2:4096", "javascript://x", "http://[", "http://u:p@box", "http://box:4096"];
    const members = { ...JSON.parse(pairing.json()), hosts };
    const read = (code) => readLink(`#pair=${encodeURIComponent(JSON.stringify({ ...members, code }))}`);
    const code = "Ab3_-xYz0123456789abcd";
    const scanned = await read(code);
    assert.deepEqual(openingsOf(scanned), [
        { url: `https://box.tunnel.example/auth/connect/${code}`, host: "box.tunnel.example" },
        { url: `http://10.0.0.2:4096/auth/connect/${code}`, host: "10.0.0.2:4096" },
        { url: `http://box:4096/auth/connect/${code}`, host: "box:4096" },
    ]);
    assert.equal(scanned.json().includes(code), false);
    for (const wrong of [undefined, null, 5, "", "../x", "a b", "x".repeat(129)]) assert.deepEqual(openingsOf(await read(wrong)), []);
});

test("a pairing is named after its computer", () => {
    assert.equal(nameOf({ hosts: ["http://studio.local:4096"] }), "studio.local");
    assert.equal(nameOf({ hosts: ["10.0.0.2:4096"] }), "10.0.0.2");
    assert.equal(nameOf({ hosts: ["http://"] }), "http://");
});

test("stored keys open and seal, and can't be exported", async () => {
    useStoredKeys();
    const stored = await storedKeys(pairing.keys);
    const sealed = await Envelope.seal({ keys: pairing.keys, type: "complete", content: { title: "Done", eventID: "e1" } });
    assert.equal((await Envelope.open({ keys: [stored], type: "complete", sealed })).content.title, "Done");
    const reply = await SealedReply.seal({ keys: stored, eventID: "e1", action: "once" });
    assert.equal((await SealedReply.open({ keys: pairing.keys, eventID: "e1", sealed: reply })).action, "once");
    const result = await SealedResult.seal({ keys: pairing.keys, eventID: "e1", reply, outcome: "taken" });
    assert.equal((await SealedResult.open({ keys: stored, eventID: "e1", reply, sealed: result })).outcome, "taken");
    for (const key of [stored.notificationKey, stored.replyKey, stored.replyResultKey]) {
        await assert.rejects(crypto.subtle.exportKey("raw", key));
    }
    assert.equal(JSON.stringify(stored).includes(pairing.keys.pairingSecret), false);
});

/** A browser whose camera shows these codes, one per frame. */
function browserWithCodes(...codes) {
    const track = { isOn: true, stop: () => (track.isOn = false) };
    return {
        track,
        BarcodeDetector: class {
            static getSupportedFormats = async () => ["qr_code"];
            detect = async () => (codes.length > 0 ? [{ rawValue: codes.shift() }] : Promise.reject(new Error("the camera is gone")));
        },
        navigator: { mediaDevices: { getUserMedia: async () => ({ getTracks: () => [track] }) } },
    };
}

test("the camera is off after a code, after an error, and when nobody wants it any more", async () => {
    const accept = async (text) => text === "yes";
    const begin = (browser, signal = new AbortController().signal) => {
        const video = { play: async () => {} };
        return scan(video, { accept, signal }, browser);
    };
    const found = browserWithCodes("no", "yes", "other");
    assert.equal(await begin(found), "yes");
    assert.equal(found.track.isOn, false);
    const broken = browserWithCodes("no");
    await assert.rejects(begin(broken), /gone/);
    assert.equal(broken.track.isOn, false);
    // The person may leave while the browser is asking for permission.
    const left = browserWithCodes("yes");
    assert.equal(await begin(left, AbortSignal.abort()), undefined);
    assert.equal(left.track.isOn, false);
});

test("the camera is offered only where the browser reads QR codes", async () => {
    const browser = browserWithCodes();
    assert.equal(await canScan(browser), true);
    assert.equal(await canScan({ navigator: browser.navigator }), false);
    assert.equal(await canScan({ ...browser, navigator: {} }), false);
    for (const getSupportedFormats of [async () => ["ean_13"], () => Promise.reject(new Error("no service"))]) {
        assert.equal(await canScan({ ...browser, BarcodeDetector: { getSupportedFormats } }), false);
    }
});
