import { forgetAll, useRelay } from "./setup.js";
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { Pairing, SealedReply, SealedResult } from "../js/index.js";
import { answer } from "../src/answering.js";
import { itemsMax } from "../src/items.js";
import { addPairing } from "../src/pairings.js";
import { localZone } from "../src/preferences.js";
import { answerChallenge, sync, unpair, unregisterForgotten } from "../src/registration.js";
import { items, pairings, values } from "../src/store.js";
import { useStoredKeys } from "../src/keys.js";

useStoredKeys();
const made = await Pairing.make({ hosts: ["http://studio.local:4096"], relayURL: "https://relay.example.org" });
const key = (byte) => Buffer.from([4, ...Array(64).fill(byte)]).toString("base64url");
const item = (number, members) => ({ key: `p.${number}`, pairing: "p", type: "complete", at: number, actions: [], ...members });
const off = { status: 503, code: "overloaded" };

/** A browser's subscriptions. */
class Manager {
    count = 0;

    async getSubscription() {
        return this.current;
    }

    async subscribe({ applicationServerKey }) {
        const endpoint = `https://push.example.org/${++this.count}`;
        this.current = {
            endpoint, options: { applicationServerKey: applicationServerKey.buffer },
            toJSON: () => ({ endpoint, keys: { p256dh: "a", auth: "b" } }),
            unsubscribe: async () => void (this.current = undefined),
        };
        return this.current;
    }
}

async function paired(byte = 7) {
    const { pairing } = await addPairing(made, { name: "studio", relayURL: "https://relay.example.org" });
    const pushManager = new Manager();
    await pushManager.subscribe({ applicationServerKey: Uint8Array.from(Buffer.from(key(byte), "base64url")) });
    return { pairing, registration: { pushManager } };
}

beforeEach(forgetAll);

test("a pairing is stored without its pairing secret, and once", async () => {
    const { isNew } = await addPairing(made, { name: " studio ", relayURL: "https://relay.example.org" });
    const again = await addPairing(made, { name: "attic", relayURL: "https://relay.example.org" });
    assert.deepEqual([isNew, again.isNew, (await pairings.all()).map(({ name }) => name)], [true, false, ["attic"]]);
    assert.equal(JSON.stringify(await pairings.all()).includes(made.keys.pairingSecret), false);
});

test("the store keeps the newest items and completes those that it has", async () => {
    await items.add(Array.from({ length: itemsMax + 20 }, (_, number) => item(number)));
    const all = await items.all();
    assert.deepEqual([all.length, all[0].at, all.at(-1).at], [itemsMax, itemsMax + 19, 20]);
    await items.add([item(itemsMax + 19, { title: "later" })]);
    assert.equal((await items.all())[0].title, "later");
});

test("a device registers with its subscription, ID, name and preferences", async () => {
    const { registration } = await paired();
    const requests = useRelay((path) => (path === "/v1/webpush/key" ? { publicKey: key(7), keyID: "k" } : {}));
    const { ring, results } = await sync(registration, await pairings.all());
    assert.deepEqual([ring, results.map(({ state }) => state)], ["on", ["registered"]]);
    const { body } = requests.find(({ path }) => path === "/v1/device/register");
    assert.deepEqual(body, {
        secret: made.relaySecret,
        webPush: { endpoint: "https://push.example.org/1", keys: { p256dh: "a", auth: "b" }, page: "https://relay.example.org/app/" },
        deviceID: await values.get("deviceID"), deviceName: "Firefox on Linux", preferences: { timeZone: localZone() }, sealed: [1],
    });
});

test("a new key of the relay makes a new subscription, and the old one is unregistered", async () => {
    const { registration } = await paired();
    useRelay((path) => (path === "/v1/webpush/key" ? { publicKey: key(7) } : {}));
    await sync(registration, await pairings.all());
    const requests = useRelay((path) => (path === "/v1/webpush/key" ? { publicKey: key(8) } : {}));
    assert.equal((await sync(registration, await pairings.all())).ring, "on");
    const sent = requests.filter(({ path }) => path.startsWith("/v1/device")).map(({ path, body }) => [path, body.webPush.endpoint]);
    assert.deepEqual(sent, [["/v1/device/register", "https://push.example.org/2"],
        ["/v1/device/unregister", "https://push.example.org/1"]]);
    registration.pushManager.subscribe = () => Promise.reject(new Error("gesture"));
    useRelay(() => ({ publicKey: key(9) }));
    assert.equal((await sync(registration, await pairings.all())).ring, "renew");
});

test("a relay that is away, old or without Web Push is told apart", async () => {
    const { registration } = await paired();
    for (const [answer, ring] of [[{ status: 404, code: "not_found" }, "old"],
        [{ status: 400, code: "webpush_off" }, "off-at-relay"], [{ publicKey: "x" }, "offline"]]) {
        useRelay(() => answer);
        assert.equal((await sync(registration, await pairings.all())).ring, ring);
    }
    useRelay(() => Promise.reject(new TypeError("network")));
    assert.equal((await sync(registration, await pairings.all())).ring, "offline");
});

test("a challenge is answered with its code, once, and only if it was asked for", async () => {
    const { registration } = await paired();
    const requests = useRelay((path,
        body) => (path === "/v1/webpush/key" ? { publicKey: key(7) } : body.challengeCode ? {} : { registered: false, challengeID: "c1" }));
    await sync(registration, await pairings.all());
    const subscription = registration.pushManager.current;
    assert.equal(await answerChallenge({ id: "other", code: "x" }, subscription), false);
    assert.equal(await answerChallenge({ id: "c1", code: "x" }, subscription), true);
    assert.equal(requests.at(-1).body.challengeCode, "x");
    assert.equal(await answerChallenge({ id: "c1", code: "x" }, subscription), false);
});

async function unpairedOffline() {
    const { registration } = await paired();
    useRelay((path) => (path === "/v1/webpush/key" ? { publicKey: key(7) } : {}));
    await sync(registration, await pairings.all());
    useRelay(() => Promise.reject(new TypeError("network")));
    assert.equal(await unpair((await pairings.all())[0]), false);
    assert.deepEqual(await pairings.all(), []);
}

test("unpairing works offline: the relay is told later, once", async () => {
    await unpairedOffline();
    const requests = useRelay(() => ({}));
    assert.equal(await unregisterForgotten(), true);
    assert.deepEqual(requests.map(({ path, body }) => [path, body.webPush.endpoint, body.secret]),
        [["/v1/device/unregister", "https://push.example.org/1", made.relaySecret]]);
    assert.equal(await unregisterForgotten(), true);
    assert.equal(requests.length, 1);
});

test("a pairing that is paired again isn't unregistered", async () => {
    await unpairedOffline();
    await paired();
    const requests = useRelay(() => ({}));
    assert.equal(await unregisterForgotten(), true);
    assert.deepEqual(requests, []);
});

test("an answer is stored before it is sent, and its fate follows", async () => {
    const { pairing } = await paired();
    const request = item(1, { key: "k", pairing: pairing.id, eventID: "e", actions: ["once"], isOpened: true });
    await items.add([request]);
    useRelay(() => off);
    assert.equal((await answer({ item: request, pairing, action: "once" })).fate, "unsent");
    const { reply } = await items.get("k");
    assert.equal((await SealedReply.open({ keys: made.keys, eventID: "e", sealed: reply.request.sealed })).action, "once");
    const sealed = await SealedResult.seal({ keys: made.keys, eventID: "e", reply: reply.request.sealed, outcome: "taken" });
    const { follow } = await import("../src/answering.js");
    const requests = useRelay((path, body) => (body.timeout > 0 ? { result: { at: "", sealed } } : {}));
    assert.equal((await follow({ item: request, pairing })).fate, "taken");
    assert.deepEqual(requests.map(({ body }) => [body.sealed, body.timeout]), [[reply.request.sealed, 0], [reply.request.sealed, 25]]);
});
