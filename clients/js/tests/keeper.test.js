// What TokenKeeper remembers of pairings that it could not unregister, and what Pairing.parse and the calls refuse.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Pairing, PairingError, PushPayload, Relay, RelayError, TokenKeeper } from "../node.js";
import { AnsweringServer } from "./answering-server.js";
import { MemoryStore } from "./memory-store.js";

const pairing = (name) => Pairing.make({ hosts: [name], relayURL: "https://relay.example.org" });
const key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

/** An app's keeper, with a relay in memory; it can be recreated as after a restart. */
function phone() {
    const [store, secrets, registered] = [new MemoryStore(), new MemoryStore(), new Set()];
    const state = { store, secrets, registered, away: false, now: 0, failing: undefined };
    const check = () => {
        if (state.away) throw new RelayError("unreachable", "x");
    };
    const relay = ({ hosts: [host] }) => ({
        register: async ({ deviceToken }) => (check(), registered.add(`${host} ${deviceToken}`), { registered: true }),
        unregister: async (token) => (check(), void registered.delete(`${host} ${token}`)),
    });
    state.keeper = () => new TokenKeeper({ store, secrets, relay, now: () => state.now });
    return state;
}

test("a pairing that is forgotten while the relay is away is unregistered by the next sync, also after a restart", async () => {
    const [one, two, app] = [await pairing("one"), await pairing("two"), phone()];
    await app.keeper().sync([one, two], "aa");
    app.away = true;
    assert.equal(await app.keeper().forget(one), false);
    assert.doesNotMatch(JSON.stringify([...app.store.entries]), new RegExp(one.relaySecret));
    assert.doesNotMatch(JSON.stringify([...app.secrets.entries]), new RegExp(one.keys.pairingSecret));
    await app.keeper().sync([two], "aa");
    app.away = false;
    await app.keeper().sync([two], "aa");
    assert.deepEqual([...app.registered], ["two aa"]);
    assert.doesNotMatch(JSON.stringify([...app.secrets.entries]), new RegExp(one.relaySecret));
});

test("a pairing that is paired again meanwhile stays registered", async () => {
    const [one, app] = [await pairing("one"), phone()];
    await app.keeper().sync([one], "aa");
    app.away = true;
    await app.keeper().forget(one);
    app.away = false;
    await app.keeper().sync([one], "aa");
    await app.keeper().sync([one], "aa");
    assert.deepEqual([...app.registered], ["one aa"]);
    await app.keeper().sync([], "aa");
    assert.deepEqual([...app.registered], ["one aa"]);
});

test("at most 8 forgotten pairings wait, for 30 days and one more try", async () => {
    const app = phone();
    const all = await Promise.all(Array.from({ length: 9 }, (_, index) => pairing(`p${index}`)));
    await app.keeper().sync(all, "aa");
    app.away = true;
    for (const one of all.slice(0, 8)) assert.equal(await app.keeper().forget(one), false);
    await assert.rejects(app.keeper().forget(all[8]), { kind: "unreachable" });
    app.now = 31 * 86_400_000;
    await app.keeper().sync([], "aa");
    assert.deepEqual([...app.secrets.entries.values()].filter(Boolean), []);
    assert.equal(await app.keeper().forget(all[8]), false);
});

test("two relays' pairings have different IDs, and one code paired twice the same", async () => {
    const one = await pairing("one");
    assert.match(one.id, /^[0-9a-f]{16}$/);
    assert.equal((await Pairing.parse(one.link())).id, one.id);
    assert.notEqual((await Pairing.make({ hosts: ["one"], relayURL: "https://other.example.org", keys: one.keys })).id, one.id);
});

test("what is almost a pairing with a key isn't taken for one without", async () => {
    const members = { relaySecret: "wN9ZKLzQUBVJ8h-Iux7O4qX-tw9ONX1N", hosts: ["a"] };
    const wrong = ["Key", "KEY", "kye", "keys", "ke", "k_e_y", " key", "pairingSecret", "relayUrl", "relay_url", "serverId", "host"];
    for (const name of wrong) {
        await assert.rejects(Pairing.parse(JSON.stringify({ ...members, [name]: key })), (error) => {
            assert.ok(error instanceof PairingError && error.reason === "invalid", name);
            return !error.message.includes("AAEC");
        }, name);
    }
    for (const relaySecret of [`{"key":"${key}"}`, "mobilevoice:///?pair=x", "\u201csecret\u201d"]) {
        await assert.rejects(Pairing.parse(JSON.stringify({ ...members, relaySecret })), { reason: "invalid", field: "relaySecret" });
    }
    assert.ok(await Pairing.parse(JSON.stringify({ ...members, code: "x", later: {} })));
});

test("misspelt members of requests and options are refused", async () => {
    const fetch = () => assert.fail("nothing may be sent");
    const relay = new Relay({ url: "https://a", secret: "s", fetch });
    const token = { deviceToken: "00" };
    await assert.rejects(relay.register({ ...token, deviceId: "x" }), /deviceId; did you mean deviceID\?/);
    await assert.rejects(relay.register({ ...token, preferences: { quietHours: { timezone: "x" } } }), /timeZone/);
    await assert.rejects(relay.event({ eventType: "error", sessionId: "s" }), TypeError);
    await assert.rejects(relay.notify({ titel: "T" }), TypeError);
    await assert.rejects(relay.notify({ title: "T" }, { eventId: "e" }), TypeError);
    await assert.rejects(relay.schedule({ in: 1, notification: { Title: "T" } }), TypeError);
    assert.throws(() => new Relay({ url: "https://a", secret: "s", retries: 1 }), TypeError);
    assert.throws(() => new TokenKeeper({ store: new MemoryStore() }), TypeError);
    await assert.rejects(Pairing.make({ hosts: ["a"], relayUrl: "https://a" }), TypeError);
});

test("a plain notification, its own data and what is to be cleared are read", () => {
    const aps = { alert: { title: "T", body: "B" }, category: "permission" };
    const push = PushPayload.read({ aps, build: 5, eventID: "e", data: { x: 1 }, kind: "ci", actions: ["once", "reject"] });
    assert.deepEqual([push.title, push.category, push.actions], ["T", "permission", ["once", "reject"]]);
    assert.deepEqual(push.data, { build: 5, eventID: "e", data: { x: 1 } });
    assert.deepEqual(PushPayload.read({ aps, eventType: "error", sessionID: "s", data: {}, body: {} }).data, {});
    assert.equal(PushPayload.read({ aps }).title, "T");
    const background = { "content-available": 1 };
    assert.deepEqual(PushPayload.read({ aps: background, clear: { eventID: "e" } }).clear, { eventID: "e" });
    const task = { aps: background, notification: null, data: { clear: { eventID: "e" }, challengeID: "i", challengeCode: "c", dataString: "{}" } };
    const read = PushPayload.fromExpo(task);
    assert.deepEqual([read.clear, read.challenge, read.data], [{ eventID: "e" }, { id: "i", code: "c" }, {}]);
    const response = { actionIdentifier: "once", notification: { request: { content: {}, trigger: { payload: { aps } } } } };
    assert.equal(PushPayload.fromExpo(response).title, "T");
});

test("failures of TLS aren't tried again, and a wait has its timeout beside the deadline", async () => {
    let calls = 0;
    const fetch = async () => {
        calls++;
        throw new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "CERT_HAS_EXPIRED" }) });
    };
    const relay = new Relay({ url: "https://a", secret: "s", fetch });
    await assert.rejects(relay.devices(), { kind: "tls", message: /CERT_HAS_EXPIRED/, isTemporary: false });
    assert.equal(calls, 1);
    const slow = async () => {
        await new Promise((resolve) => setTimeout(resolve, 60));
        return new Response('{"ok":true}');
    };
    await new Relay({ url: "https://a", secret: "s", fetch: slow, deadline: 10 }).waitForReply("e", { timeout: 45 });
});

test("acknowledging with clear, async and ignored members are passed on", async () => {
    const server = await AnsweringServer.start({ body: { ok: true, ignored: ["preferences.timeZone"] } });
    try {
        const relay = new Relay({ url: server.url, secret: "s" });
        await relay.acknowledge("e", { clear: true });
        await relay.notify({ title: "T", actions: ["once"] }, { async: true, eventID: "n" });
        const result = await relay.register({ deviceToken: "00", widgetPushToken: null, controlPushToken: "AA" });
        assert.deepEqual(result, { registered: true, ignored: ["preferences.timeZone"] });
        assert.deepEqual(server.received.map(({ body }) => body), [
            { secret: "s", eventID: "e", clear: true },
            { secret: "s", notification: { title: "T", actions: ["once"] }, eventID: "n", async: true },
            { secret: "s", deviceToken: "00", widgetPushToken: null, controlPushToken: "aa" },
        ]);
    } finally {
        await server.stop();
    }
});
