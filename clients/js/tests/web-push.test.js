import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { Pairing, PushPayload, Relay, RelayError, TokenKeeper, WebPush } from "../node.js";
import { AnsweringServer } from "./answering-server.js";
import { MemoryStore } from "./memory-store.js";

const keyBytes = (byte) => Uint8Array.from([4, ...Array(64).fill(byte)]);
const key = (byte) => Buffer.from(keyBytes(byte)).toString("base64url");
const endpoint = "https://push.example.org/1";
const keys = { p256dh: key(1), auth: randomBytes(16).toString("base64url") };
const page = "https://relay.example.org/app/";

/** A browser's subscription, with the key that it was made with unless the browser doesn't report it. */
const subscriptionOf = (members, publicKey) => ({
    endpoint: members.endpoint, options: publicKey ? { applicationServerKey: keyBytes(publicKey).buffer } : {},
    toJSON: () => ({ expirationTime: null, later: 1, ...members }), unsubscribe: async () => true,
});

async function withRelay(answers, body) {
    const server = await AnsweringServer.start(...answers);
    try {
        await body(new Relay({ url: server.url, secret: "s", attempts: 1 }), server);
    } finally {
        await server.stop();
    }
}

test("a browser's subscription gives the members of a registration, without padding and without the page's fragment", () => {
    const padded = subscriptionOf({ endpoint, keys: { p256dh: "a+/b==", auth: "c/d=", later: "x" } });
    assert.deepEqual(WebPush.members(padded), { endpoint, keys: { p256dh: "a-_b", auth: "c_d" } });
    const whole = WebPush.members({ endpoint, keys, expirationTime: null }, { page: `${page}?a=1#pair=secret` });
    assert.deepEqual(whole, { endpoint, keys, page: `${page}?a=1` });
    assert.deepEqual(WebPush.members(whole), whole);
    for (const wrong of [undefined, null, "x", {}, { endpoint }, { endpoint, keys: { p256dh: "a" } }, { keys }, { endpoint: "", keys },
        { endpoint, keys: { ...keys, auth: 1 } }, { endpoint, keys, Page: page }]) {
        assert.throws(() => WebPush.members(wrong), TypeError, JSON.stringify(wrong));
    }
});

test("a device registers with a subscription and is removed by its endpoint", async () => {
    await withRelay([{}], async (relay, server) => {
        const webPush = { endpoint, keys, page };
        await relay.register({ webPush, deviceID: "d", deviceName: "Firefox", preferences: { timeZone: "UTC" }, challengeCode: "c" });
        await relay.register({ webPush: subscriptionOf({ endpoint, keys }) });
        await relay.unregister({ webPush: { endpoint } });
        await relay.unregister({ webPush: subscriptionOf({ endpoint, keys }) });
        assert.deepEqual(server.received.map(({ path, body }) => [path, body]), [
            ["/v1/device/register", { secret: "s", webPush, deviceID: "d", deviceName: "Firefox", preferences: { timeZone: "UTC" },
                challengeCode: "c" }],
            ["/v1/device/register", { secret: "s", webPush: { endpoint, keys } }],
            ["/v1/device/unregister", { secret: "s", webPush: { endpoint } }],
            ["/v1/device/unregister", { secret: "s", webPush: { endpoint } }],
        ]);
        await assert.rejects(relay.register({ webPush, deviceToken: "00" }), TypeError);
        await assert.rejects(relay.register({ webpush: webPush }), /did you mean webPush/);
        await assert.rejects(relay.register({ webPush: { endpoint } }), TypeError);
        for (const wrong of [{}, { webPush: {} }, { endpoint }]) await assert.rejects(relay.unregister(wrong), TypeError);
        assert.equal(server.received.length, 4);
    });
});

test("the relay's public key is asked for without the secret, and checked", async () => {
    await withRelay([{ body: { ok: true, publicKey: key(7), keyID: "k" } }], async (relay, server) => {
        assert.deepEqual(await relay.webPushKey(), { publicKey: key(7), keyID: "k" });
        const [{ method, path, headers, body }] = server.received;
        assert.deepEqual([method, path, headers.authorization, body], ["GET", "/v1/webpush/key", undefined, null]);
    });
    for (const publicKey of [undefined, 5, {}, "", "AAAA", Buffer.alloc(65, 5).toString("base64url")]) {
        await withRelay([{ body: { ok: true, publicKey } }], async (relay) => {
            await assert.rejects(relay.webPushKey(), { name: "RelayError", kind: "unexpectedAnswer" });
        });
    }
    await withRelay([{ status: 400, body: { ok: false, error: "Off.", code: "webpush_off" } }], async (relay) => {
        await assert.rejects(relay.webPushKey(), { code: "webpush_off", isTemporary: false });
    });
});

test("a browser subscribes with the key, at once or after the old subscription ended", async () => {
    const calls = [];
    const manager = { subscribe: (options) => (calls.push(options), Promise.resolve("new")) };
    const first = WebPush.subscribe(manager, key(7));
    assert.deepEqual(calls, [{ userVisibleOnly: true, applicationServerKey: keyBytes(7) }]);
    assert.equal(await first, "new");
    const old = { unsubscribe: async () => void calls.push("unsubscribe") };
    assert.equal(await WebPush.subscribe(manager, key(8), old), "new");
    assert.deepEqual(calls.slice(1), ["unsubscribe", { userVisibleOnly: true, applicationServerKey: keyBytes(8) }]);
    for (const wrong of [undefined, 5, "", "AAAA"]) assert.throws(() => WebPush.subscribe(manager, wrong), TypeError);
    const subscription = subscriptionOf({ endpoint, keys }, 7);
    assert.deepEqual([key(7), key(8)].map((publicKey) => WebPush.hasKey(subscription, publicKey)), [true, false]);
    assert.equal(WebPush.hasKey(subscriptionOf({ endpoint, keys }), key(7)), true);
});

// TokenKeeper

/** A relay in memory with a public key, and the requests that it received. */
class FakeRelay {
    publicKey = key(7);
    calls = [];
    registered = new Map();

    async webPushKey() {
        if (this.publicKey === undefined) throw new RelayError("refused", "Off.", { status: 400, code: "webpush_off" });
        return { publicKey: this.publicKey, keyID: "k" };
    }

    async register({ webPush, deviceToken, challengeCode }) {
        const name = webPush?.endpoint ?? deviceToken;
        this.calls.push(`register ${name}`);
        if (this.challenging && challengeCode !== "code") return { registered: false, challengeID: "c", expiresIn: 600 };
        this.registered.set(name, webPush ?? deviceToken);
        return { registered: true };
    }

    async unregister(device) {
        const name = device.webPush?.endpoint ?? device;
        this.calls.push(`unregister ${name}`);
        this.registered.delete(name);
    }
}

async function browser() {
    const [relay, store] = [new FakeRelay(), new MemoryStore()];
    const pairing = await Pairing.make({ hosts: ["one"], relayURL: "https://relay.example.org" });
    const keeper = () => new TokenKeeper({ store, secrets: new MemoryStore(), relay: () => relay });
    return { relay, store, pairing, keeper, sync: async (device) => (await keeper().sync([pairing], device))[0] };
}

test("a subscription is registered at each start, with new keys, and unregistered when another endpoint replaces it", async () => {
    const { relay, store, pairing, keeper, sync } = await browser();
    assert.deepEqual(await sync({ subscription: subscriptionOf({ endpoint, keys }, 7), page }), { pairing, status: "registered" });
    assert.deepEqual(relay.registered.get(endpoint), { endpoint, keys, page });
    const renewed = { ...keys, auth: "AAAAAAAAAAAAAAAAAAAAAA" };
    await sync({ subscription: { endpoint, keys: renewed }, publicKey: key(7) });
    assert.deepEqual([...relay.registered], [[endpoint, { endpoint, keys: renewed }]]);
    await sync({ subscription: subscriptionOf({ endpoint: `${endpoint}2`, keys }) });
    assert.deepEqual(relay.calls, [`register ${endpoint}`, `register ${endpoint}`, `register ${endpoint}2`, `unregister ${endpoint}`]);
    assert.doesNotMatch(JSON.stringify([...store.entries]), new RegExp(`${keys.auth}|${pairing.relaySecret}`));
    assert.equal(await keeper().forget(pairing), true);
    assert.equal(relay.registered.size, 0);
});

test("a subscription with another key than the relay's isn't registered, and the old one stays until the new one is", async () => {
    const { relay, pairing, sync } = await browser();
    const old = subscriptionOf({ endpoint, keys }, 7);
    await sync({ subscription: old });
    relay.publicKey = key(8);
    for (const device of [{ subscription: old }, { subscription: { endpoint, keys }, publicKey: key(7) }]) {
        assert.deepEqual(await sync(device), { pairing, status: "otherKey", publicKey: key(8) });
    }
    assert.deepEqual([...relay.registered.keys()], [endpoint]);
    assert.equal((await sync({ subscription: subscriptionOf({ endpoint: `${endpoint}2`, keys }, 8) })).status, "registered");
    assert.deepEqual([...relay.registered.keys()], [`${endpoint}2`]);
    relay.publicKey = undefined;
    const { status, error } = await sync({ subscription: subscriptionOf({ endpoint: `${endpoint}2`, keys }, 8) });
    assert.deepEqual([status, error.code], ["failed", "webpush_off"]);
});

test("a challenge of a subscription is answered, and what isn't a device is refused", async () => {
    const { relay, pairing, keeper } = await browser();
    relay.challenging = true;
    const one = keeper();
    const device = { subscription: { endpoint, keys }, publicKey: key(7), page };
    assert.equal((await one.sync([pairing], device))[0].status, "challenged");
    assert.equal((await one.answer({ id: "c", code: "code" })).status, "registered");
    assert.deepEqual(relay.registered.get(endpoint), { endpoint, keys, page });
    for (const wrong of [{}, { subscription: null }, { subscription: { endpoint } }, { ...device, pages: page }]) {
        assert.throws(() => one.sync([pairing], wrong), TypeError);
    }
});

// PushPayload

const data = {
    eventType: "permission", sessionID: "ses", serverID: "srv", eventID: "e", sealed: "AQ", actions: ["once"],
    aps: { category: "permission", "thread-id": "ses", "interruption-level": "time-sensitive", badge: 3 },
};
const notification = { title: "T", navigate: page, body: "B", mutable: true, data };

/** A push event of a service worker. */
const pushEvent = (members) => ({ type: "push", isTrusted: true, waitUntil() {}, ...members });

test("a push message is read with and without a page, and from the events of all browsers", () => {
    const message = { web_push: 8030, mutable: true, notification };
    // Safari's event has its members in its prototype.
    const declared = Object.create({ ...notification, silent: false });
    const { navigate, ...withoutPage } = notification;
    for (const value of [
        message, { notification: withoutPage }, pushEvent({ data: { json: () => message } }), pushEvent({ data: null, notification: declared }),
    ]) {
        const push = PushPayload.fromWebPush(value);
        assert.deepEqual({ ...push }, {
            type: "permission", eventType: "permission", kind: undefined, sessionID: "ses", serverID: "srv", eventID: "e", sealed: "AQ",
            title: "T", subtitle: undefined, body: "B", category: "permission", threadID: "ses", interruptionLevel: "time-sensitive",
            badge: 3, isSilent: false, actions: ["once"], data: {}, clear: undefined, challenge: undefined,
        });
    }
});

test("a message of a sender has its own data, and those of the relay its challenge or what is over", () => {
    const read = (notification) => PushPayload.fromWebPush({ notification });
    const push = read({ title: "Build", silent: true, data: { kind: "ci", build: 5, notification: { x: 1 } } });
    assert.deepEqual([push.type, push.title, push.isSilent, push.data], ["ci", "Build", true, { build: 5, notification: { x: 1 } }]);
    assert.deepEqual(read({ title: "T", data: { clear: { eventID: "e" } } }).clear, { eventID: "e" });
    assert.deepEqual(read({ title: "T", data: { challengeID: "i", challengeCode: "c" } }).challenge, { id: "i", code: "c" });
    assert.equal(read({ title: "T" }).title, "T");
});

test("garbage is not a push message, or one without texts", () => {
    const broken = pushEvent({ data: { json: () => JSON.parse("{") } });
    for (const value of [undefined, null, 1, "x", [], {}, { notification: 5 }, broken, pushEvent({ data: null }),
        pushEvent({ data: { json: () => null } })]) {
        assert.equal(PushPayload.fromWebPush(value), undefined);
    }
    const push = PushPayload.fromWebPush({ notification: { title: 1, body: {}, data: [], silent: 1 } });
    assert.deepEqual([push.title, push.body, push.isSilent, push.type], [undefined, undefined, false, "notify"]);
});
