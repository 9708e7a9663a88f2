import assert from "node:assert/strict";
import { test } from "node:test";
import { Pairing, PairingError, PairingKeys, PushPayload, Replay } from "../node.js";
import { MemoryStore } from "./memory-store.js";

const key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const relaySecret = "wN9ZKLzQUBVJ8h-Iux7O4qX-tw9ONX1N";
const link = (members, name = "pair") => `mobilevoice:///?${name}=${encodeURIComponent(JSON.stringify(members))}`;

test("OpenCode's own link is read", async () => {
    const pairing = await Pairing.parse(link({ relaySecret: " abc ", hosts: ["http://100.64.0.7:4096"] }));
    assert.equal(pairing.relaySecret, "abc");
    assert.deepEqual(pairing.hosts, ["http://100.64.0.7:4096"]);
    assert.deepEqual([pairing.keys, pairing.relayURL, pairing.serverID], [undefined, undefined, undefined]);
});

test("links with a key, JSON and other forms of links are read", async () => {
    const members = {
        v: 1, serverID: "9f2c", relayURL: "https://relay.example.org/push//", relaySecret, hosts: ["a", "", 1, "b"], key, later: {},
    };
    const json = JSON.stringify(members);
    const texts = [
        json, ` \n${json}\n`, link(members), link(members, "payload"),
        `https://example.org/app?x=1&payload=${encodeURIComponent(json)}#pair=no`,
        `app://x?pair=${encodeURIComponent(json).replaceAll("%20", "+")}&payload=no`,
        `https://relay.example.org/app/#pair=${encodeURIComponent(json)}`, `#payload=${encodeURIComponent(json)}`,
        `https://relay.example.org/app/?home#x=1&pair=${encodeURIComponent(json)}`,
    ];
    for (const text of texts) {
        const pairing = await Pairing.parse(text);
        assert.equal(pairing.keys.pairingSecret, key);
        assert.equal(pairing.relaySecret, relaySecret);
        assert.equal(pairing.relayURL, "https://relay.example.org/push");
        assert.equal(pairing.serverID, "9f2c");
        assert.deepEqual(pairing.hosts, ["a", "b"]);
    }
    const local = await Pairing.parse(link({ ...members, relayURL: "192.168.1.20:8787" }));
    assert.equal(local.relayURL, "http://192.168.1.20:8787");
});

test("what isn't a pairing is refused with a reason and without its secrets", async () => {
    const good = { relaySecret, hosts: ["a"] };
    const cases = [
        ["notPairing", ""], ["notPairing", "hello"], ["notPairing", "https://example.org/?pairing=1"],
        ["notPairing", "mobilevoice:///?pair=%"], ["notPairing", "mobilevoice:///?pair="], ["notPairing", link([])],
        ["notPairing", "{"], ["notPairing", undefined], ["notPairing", `{"x":"${"x".repeat(20_000)}"}`],
        ["unsupportedVersion", link({ ...good, v: 2 })], ["unsupportedVersion", link({ ...good, v: "1" })],
        ["invalid", link({ hosts: ["a"] })], ["invalid", link({ ...good, relaySecret: " " })],
        ["invalid", link({ ...good, relaySecret: "s".repeat(513) })], ["invalid", link({ ...good, hosts: [] })],
        ["invalid", link({ relaySecret })], ["invalid", link({ ...good, hosts: [" "] })],
        ["invalid", link({ ...good, relayURL: "ftp://example.org" })], ["invalid", link({ ...good, relayURL: 1 })],
        ["invalid", link({ ...good, relayURL: "https://user@example.org" })],
        ["invalid", link({ ...good, key: key.slice(1) })], ["invalid", link({ ...good, key: `${key.slice(0, -1)}9` })],
        ["invalid", link({ ...good, key: null })],
        ["secretMismatch", link({ ...good, relaySecret: "another", key })],
    ];
    for (const [reason, text] of cases) {
        await assert.rejects(Pairing.parse(text), (error) => {
            assert.ok(error instanceof PairingError, `${text}: ${error}`);
            assert.equal(error.reason, reason, text);
            assert.doesNotMatch(String(error), /wN9Z|AAEC/);
            return true;
        });
    }
});

test("a pairing made here is read here", async () => {
    const made = await Pairing.make({ hosts: ["http://a:4096"], relayURL: "https://relay.example.org", serverID: "s" });
    const read = await Pairing.parse(made.link("other"));
    assert.match(made.link("other"), /^other:\/\/\/\?pair=/);
    assert.deepEqual(
        [read.relaySecret, read.keys.pairingSecret, read.relayURL, read.serverID, read.hosts],
        [made.relaySecret, made.keys.pairingSecret, made.relayURL, made.serverID, made.hosts]);
    const again = await Pairing.make({ hosts: ["a"], keys: await PairingKeys.derive(key) });
    assert.equal(again.json(), `{"v":1,"relaySecret":"${relaySecret}","hosts":["a"],"key":"${key}"}`);
    await assert.rejects(Pairing.make({ hosts: [] }), PairingError);
});

test("a push's members are found in each of their places", () => {
    const facts = { serverID: "srv", eventType: "complete", sessionID: "ses" };
    const aps = { alert: { title: "T", body: "B" } };
    const whole = { aps, ...facts, data: facts, body: facts, sealed: "AQ" };
    for (const payload of [whole, { aps, data: facts }, { aps, body: facts }, facts]) {
        const push = PushPayload.read(payload);
        assert.deepEqual([push.serverID, push.eventType, push.sessionID], ["srv", "complete", "ses"]);
    }
    const push = PushPayload.read(whole);
    assert.deepEqual([push.title, push.body, push.sealed, push.type], ["T", "B", "AQ", "complete"]);
    assert.equal(PushPayload.read({ aps: { alert: "text" }, sealed: "AQ", kind: "build" }).type, "build");
    assert.equal(PushPayload.read({ aps: { alert: "text" }, sealed: "AQ" }).body, "text");
    assert.equal(PushPayload.read({ aps, sealed: "AQ", data: { eventType: "complete" } }).type, "notify");
});

test("notifications of expo-notifications are read whole where they are whole", () => {
    const facts = { eventType: "error", sessionID: "ses" };
    const request = { content: { data: facts }, trigger: { type: "push", payload: { aps: {}, ...facts, sealed: "AQ" } } };
    assert.equal(PushPayload.fromExpo({ request }).sealed, "AQ");
    assert.equal(PushPayload.fromExpo({ request: { ...request, trigger: null } }).sessionID, "ses");
    assert.equal(PushPayload.fromExpo({ request: { content: { data: null } } }), undefined);
    assert.equal(PushPayload.fromExpo(null), undefined);
});

test("what isn't the relay's is not a push of it", () => {
    for (const payload of [undefined, null, "x", [], {}, { aps: 1 }, { eventType: 1, sealed: {}, data: [] }]) {
        assert.equal(PushPayload.read(payload), undefined);
    }
    assert.equal(PushPayload.read(Object.create({ eventType: "complete" })), undefined);
    const challenge = { challengeID: "id", challengeCode: "code" };
    assert.deepEqual(PushPayload.read({ aps: {}, body: challenge }).challenge, { id: "id", code: "code" });
});

/** A content as Envelope.open returns it. */
const opened = (eventID, sentAt, ttl) => ({ content: { eventID, sentAt, ttl, body: "x" }, keys: { id: "2d353888" } });

test("a repeated envelope is recognised, also after a restart and under its own key only", async () => {
    const store = new MemoryStore();
    const now = () => 1000;
    assert.equal(await new Replay(store, { now }).check(opened("a", 990)), "fresh");
    assert.equal(await new Replay(store, { now }).check(opened("a", 990)), "repeated");
    assert.equal(await new Replay(store, { now }).check({ ...opened("a", 990), keys: { id: "00000000" } }), "fresh");
});

test("checks at the same time don't overlook a repetition", async () => {
    const replay = new Replay(new MemoryStore(), { now: () => 0 });
    const results = await Promise.all(Array.from({ length: 10 }, () => replay.check(opened("a", 0))));
    assert.deepEqual(results, ["fresh", ...Array(9).fill("repeated")]);
});

test("an envelope is stale after its time, with five minutes' allowance", async () => {
    const at = (time) => new Replay(new MemoryStore(), { now: () => time });
    assert.equal(await at(1000 + 86_400 + 300).check(opened("a", 1000)), "fresh");
    assert.equal(await at(1000 + 86_400 + 301).check(opened("a", 1000)), "stale");
    assert.equal(await at(1301).check(opened("a", 1000, 0)), "stale");
    assert.equal(await at(1000).check(opened("a", 9_000_000)), "fresh");
});

test("no number of envelopes makes an earlier one fresh again", async () => {
    const store = new MemoryStore();
    const replay = new Replay(store, { now: () => 1000 });
    assert.equal(await replay.check(opened("future", 50_000)), "fresh");
    for (let index = 0; index < 500; index++) assert.equal(await replay.check(opened(`e${index}`, 1 + index)), "fresh");
    for (let index = 0; index < 500; index++) assert.equal(await replay.check(opened(`e${index}`, 1 + index)), "repeated");
    assert.equal(await replay.check(opened("future", 50_000)), "repeated");
    assert.equal(await replay.check(opened("late", 100)), "repeated");
    const [record] = store.entries.values();
    assert.equal(JSON.parse(record).seen.length, 200);
});

test("a damaged record lets no earlier envelope pass", async () => {
    for (const damaged of ["", "{", "null", '{"floor":1}', '{"floor":1,"seen":[null]}', '{"floor":1,"seen":[[1,2]]}']) {
        const store = new MemoryStore();
        await store.set("apn-relay.replay.2d353888", damaged);
        const replay = new Replay(store, { now: () => 1000 });
        assert.equal(await replay.check(opened("a", 1000)), "repeated", damaged);
        assert.equal(await replay.check(opened("b", 1001)), "fresh", damaged);
    }
});
