// Names in Expo's form, through a real relay and a simulated APNs, which clients/js/test starts.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { PushPayload, Relay, expoPushToken } from "../node.js";
import { AnsweringServer } from "./answering-server.js";
import { MemoryStore } from "./memory-store.js";

const { CLIENT_TEST_RELAY: relayURL, CLIENT_TEST_SIMULATOR: simulatorURL } = process.env;
const skip = relayURL && simulatorURL ? false : "CLIENT_TEST_RELAY and CLIENT_TEST_SIMULATOR are not set";
const newToken = () => randomBytes(32).toString("hex");

async function pushed(token) {
    const { pushes } = await (await fetch(`${simulatorURL}/pushes?token=${token}`)).json();
    return pushes.map(({ payload }) => payload);
}

async function post(path, body) {
    const response = await fetch(`${relayURL}/--/api/v2/push/${path}`, { method: "POST", body: JSON.stringify(body) });
    return response.json();
}

test("the name that an app gets rings it, and stays the same", { skip }, async () => {
    const [secrets, deviceToken] = [new MemoryStore(), newToken()];
    const device = { deviceToken, bundleId: "com.example.app" };
    const [first, second] = await Promise.all([1, 2].map(() => expoPushToken(device, { url: relayURL, secrets })));
    assert.equal(first.type, "expo");
    assert.match(first.data, /^ExponentPushToken\[rt_[\w-]{43}\]$/);
    assert.deepEqual(second, first);
    const { data: ticket } = await post("send", { to: first.data, title: "T", body: "B", data: { post: 7 } });
    assert.equal(ticket.status, "ok");
    assert.deepEqual(await post("getReceipts", { ids: [ticket.id] }), { data: { [ticket.id]: { status: "ok" } } });
    const [payload] = await pushed(deviceToken);
    // In the form of expo-notifications' content.data.
    assert.deepEqual([payload.aps.alert, payload.body], [{ title: "T", body: "B" }, { post: 7 }]);
    assert.equal(PushPayload.read(payload).title, "T");

    const newer = newToken();
    assert.deepEqual(await expoPushToken({ ...device, deviceToken: newer }, { url: relayURL, secrets }), first);
    assert.equal((await post("send", [{ to: [first.data], body: "B" }])).data[0].status, "ok");
    assert.deepEqual([(await pushed(deviceToken)).length, (await pushed(newer)).length], [1, 1]);
});

test("a name that the relay no longer has is replaced", { skip }, async () => {
    const [secrets, deviceToken] = [new MemoryStore(), newToken()];
    const device = { deviceToken, bundleId: "com.example.app" };
    const first = await expoPushToken(device, { url: relayURL, secrets });
    const { secret } = JSON.parse(await secrets.get("apn-relay.expo"));
    await new Relay({ url: relayURL, secret }).unregister(deviceToken);
    const { data: ticket } = await post("send", { to: first.data, body: "B" });
    assert.equal(ticket.details.error, "DeviceNotRegistered");
    const second = await expoPushToken(device, { url: relayURL, secrets });
    assert.notEqual(second.data, first.data);
    assert.equal((await post("send", { to: second.data, body: "B" })).data.status, "ok");
});

test("a challenge is no name yet, the secret survives a failure, and another relay gets another one", async () => {
    const secrets = new MemoryStore();
    const challenge = { status: 202, body: { ok: true, registered: false, challengeID: "0191", expiresIn: 600 } };
    const made = { body: { ok: true, token: "rt_x", tokenID: "id" } };
    const server = await AnsweringServer.start(challenge, { status: 400, body: { ok: false, code: "invalid_field" } }, {}, made);
    try {
        const options = { url: server.url, secrets };
        assert.equal(await expoPushToken({ deviceToken: "aa00" }, options), undefined);
        await assert.rejects(expoPushToken({ deviceToken: "aa00" }, options), { code: "invalid_field" });
        const { data } = await expoPushToken({ deviceToken: "aa00", challengeCode: "123" }, options);
        assert.equal(data, "ExponentPushToken[rt_x]");
        const [, , registered, created] = server.received.map(({ body }) => body);
        assert.equal(new Set(server.received.map(({ body }) => body.secret)).size, 1);
        assert.deepEqual([registered.challengeCode, created.scope], ["123", "send"]);
        assert.match(registered.deviceID, /^[0-9a-f]{32}$/);
        const locked = { get: async () => { throw new Error("locked"); }, set: () => assert.fail("overwritten") };
        await assert.rejects(expoPushToken({ deviceToken: "aa00" }, { url: server.url, secrets: locked }), /locked/);
        await secrets.set("apn-relay.expo", (await secrets.get("apn-relay.expo")).replace(server.url, "https://other.example"));
        await expoPushToken({ deviceToken: "aa00" }, options).catch(() => {});
        assert.notEqual(server.received[4].body.secret, registered.secret);
        await assert.rejects(async () => expoPushToken({ deviceToken: "aa00" }, { url: server.url }), TypeError);
        await assert.rejects(async () => expoPushToken({ deviceToken: "aa00" }, { ...options, secret: "x" }), TypeError);
    } finally {
        await server.stop();
    }
});
