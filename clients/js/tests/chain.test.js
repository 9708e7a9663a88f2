// From the pairing link to the opened text, through a real relay and a simulated APNs, which clients/js/test starts.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import {
    Envelope, Pairing, PushPayload, Relay, RelayError, Replay, SealedReply, SealedResult, TokenKeeper,
} from "../node.js";
import { MemoryStore } from "./memory-store.js";

const { CLIENT_TEST_RELAY: relayURL, CLIENT_TEST_SIMULATOR: simulatorURL } = process.env;
const bundleId = "com.example.app";
const skip = relayURL && simulatorURL ? false : "CLIENT_TEST_RELAY and CLIENT_TEST_SIMULATOR are not set";

const newToken = () => randomBytes(32).toString("hex");

/** A phone: its token, and the link that it scanned. */
async function scanned() {
    const token = newToken();
    const made = await Pairing.make({ hosts: ["http://127.0.0.1:4096"], relayURL, serverID: "9f2c1a0b3d4e5f60" });
    return { token, server: made, phone: await Pairing.parse(made.link()) };
}

/** The payloads that the simulated APNs accepted for a token. */
async function delivered(token) {
    const response = await fetch(`${simulatorURL}/pushes?token=${token}`);
    const { pushes } = await response.json();
    return pushes.filter(({ status }) => status === 200).map(({ payload }) => payload);
}

test("a sealed text reaches the phone, and nothing of it can be read on the way", { skip }, async () => {
    const { token, server, phone } = await scanned();
    const keeper = new TokenKeeper({ store: new MemoryStore(), secrets: new MemoryStore(), details: { bundleId, deviceName: "Test", sealed: [1] } });
    assert.equal((await keeper.sync([phone], token))[0].status, "registered");

    const [device] = await Relay.of(server).devices();
    assert.deepEqual(device.sealed, [1]);

    const content = { title: "Fix auth bug", body: "Done. 👍", sessionID: "ses_real", serverID: server.serverID, eventID: "evt_1" };
    const sealed = await Envelope.seal({ keys: server.keys, type: "complete", content });
    const sessionID = await server.keys.privateSessionID("ses_real");
    const event = { eventType: "complete", sessionID, sealed, eventID: "evt_1" };
    const answer = await Relay.of(server).event(event);
    assert.deepEqual([answer.sent, answer.failed], [1, 0]);
    assert.deepEqual(await Relay.of(server).event(event), answer);

    const payloads = await delivered(token);
    assert.equal(payloads.length, 1);
    const [payload] = payloads;
    assert.doesNotMatch(JSON.stringify(payload), /auth|Done|ses_real/);
    assert.equal(payload.aps["mutable-content"], 1);
    const push = PushPayload.read(payload);
    assert.deepEqual([push.title, push.sessionID], ["Session complete", sessionID]);
    const opened = await Envelope.open({ keys: phone.keys, type: push.type, sealed: push.sealed });
    assert.deepEqual({ ...opened.content, sentAt: 0 }, { ...content, sentAt: 0 });
    await assert.rejects(
        Envelope.open({ keys: phone.keys, type: "permission", sealed: push.sealed }), { reason: "notAuthentic" });
    const replay = new Replay(new MemoryStore());
    assert.deepEqual([await replay.check(opened), await replay.check(opened)], ["fresh", "repeated"]);
});

test("a sealed notification of a kind, or of none, opens with the type that its push names", { skip }, async () => {
    const { token, server, phone } = await scanned();
    await Relay.of(phone).register({ deviceToken: token, bundleId, sealed: [1] });
    for (const kind of ["build_failed", undefined]) {
        const sealed = await Envelope.seal({ keys: server.keys, type: kind ?? "notify", content: { body: `for ${kind}` } });
        await Relay.of(server).notify({ title: "Build", kind }, { sealed });
    }
    const pushes = (await delivered(token)).map((payload) => PushPayload.read(payload));
    assert.deepEqual(pushes.map(({ type, title }) => [type, title]), [["build_failed", "Build"], ["notify", "Build"]]);
    for (const { type, sealed, kind } of pushes) {
        const { content } = await Envelope.open({ keys: phone.keys, type, sealed });
        assert.equal(content.body, `for ${kind}`);
    }
});

test("the longest text that can be sealed reaches the phone", { skip }, async () => {
    const { token, server, phone } = await scanned();
    await Relay.of(phone).register({ deviceToken: token, bundleId });
    const content = { eventID: "evt", sentAt: 1_795_350_000, body: "x".repeat(2559 - '{"b":"","i":"evt","at":1795350000}'.length) };
    const sealed = await Envelope.seal({ keys: server.keys, type: "error", content });
    assert.equal(sealed.length, 3458);
    const answer = await Relay.of(server).event({ eventType: "error", sessionID: "ses_1", serverID: server.serverID, sealed });
    assert.equal(answer.sent, 1);
    const push = PushPayload.read((await delivered(token))[0]);
    assert.deepEqual((await Envelope.open({ keys: phone.keys, type: push.type, sealed: push.sealed })).content, content);
});

test("a readable event reaches the phone, once for each eventID", { skip }, async () => {
    const { token, server, phone } = await scanned();
    await Relay.of(phone).register({ deviceToken: token, bundleId });
    const event = { eventType: "permission", sessionID: "ses_1", serverID: "srv", title: "T", body: "B", eventID: "evt" };
    const first = await Relay.of(server).event(event);
    assert.deepEqual(await Relay.of(server).event(event), first);
    const payloads = await delivered(token);
    assert.equal(payloads.length, 1);
    for (const form of [payloads[0], payloads[0].data, payloads[0].body]) {
        const push = PushPayload.read(form);
        assert.deepEqual([push.eventType, push.sessionID, push.serverID], ["permission", "ses_1", "srv"]);
    }
});

test("a new token replaces the old one, and a forgotten pairing has no devices", { skip }, async () => {
    const { token, phone } = await scanned();
    const next = newToken();
    const keeper = new TokenKeeper({ store: new MemoryStore(), secrets: new MemoryStore(), details: { bundleId } });
    const relay = Relay.of(phone);
    const ends = async () => (await relay.devices()).map(({ device }) => device.slice(-8));
    await keeper.sync([phone], token.toUpperCase());
    assert.deepEqual(await ends(), [token.slice(-8)]);
    await keeper.sync([phone], next);
    assert.deepEqual(await ends(), [next.slice(-8)]);
    await relay.testPush({ deviceToken: next });
    assert.equal((await delivered(next))[0].aps.alert.title, "Test");
    await keeper.forget(phone);
    assert.deepEqual(await ends(), []);
});

test("a Live Activity gets the session's states until it ends, and none once it is unregistered", { skip }, async () => {
    const { token, phone } = await scanned();
    const relay = Relay.of(phone);
    await relay.register({ deviceToken: token, bundleId });
    const [first, second] = [newToken(), newToken()];
    const send = (eventType, status) => relay.event({ eventType, sessionID: "ses_1", contentState: { status } });
    const states = async (activity) => (await delivered(activity)).map(({ aps }) => [aps.event, aps["content-state"].status]);
    await relay.registerActivity({ sessionID: "ses_1", activityToken: first.toUpperCase(), deviceToken: token });
    await send("progress", "working");
    assert.equal((await send("end", "complete")).sent, 0);
    assert.deepEqual(await states(first), [["update", "working"], ["end", "complete"]]);
    assert.deepEqual(await delivered(token), []);

    await relay.registerActivity({ sessionID: "ses_1", activityToken: second, deviceToken: token });
    await relay.unregisterActivity("ses_1", { activityToken: first });
    await send("permission", "permission");
    await relay.unregisterActivity("ses_1");
    await send("error", "error");
    assert.deepEqual(await states(second), [["update", "permission"]]);
    assert.equal((await delivered(token)).length, 2);
});

test("preferences are stored and errors are those of the API", { skip }, async () => {
    const { phone, token } = await scanned();
    const relay = Relay.of(phone);
    await relay.register({ deviceToken: token, bundleId, preferences: { eventTypes: ["error"] } });
    assert.deepEqual((await relay.devices())[0].preferences, { eventTypes: ["error"] });
    const answer = await relay.event({ eventType: "complete", sessionID: "ses_1" });
    assert.deepEqual([answer.sent, answer.muted], [0, 1]);
    await assert.rejects(relay.event({ eventType: "finished", sessionID: "ses_1" }), (error) => {
        assert.ok(error instanceof RelayError);
        assert.deepEqual([error.kind, error.status, error.code, error.field], ["refused", 400, "invalid_field", "eventType"]);
        return true;
    });
});

test("a sealed item of the history opens with the type that the item names", { skip }, async () => {
    const { token, server, phone } = await scanned();
    const relay = Relay.of(phone);
    await relay.register({ deviceToken: token, bundleId, preferences: { badge: "unread" } });
    const seal = (type) => Envelope.seal({ keys: server.keys, type, content: { body: `for ${type}` } });
    const notification = { title: "Visible" };
    await relay.event({ eventType: "permission", sessionID: "ses_1", sealed: await seal("permission") });
    await relay.notify(notification, { sealed: await seal("notify") });
    await relay.notify({ ...notification, kind: "build" }, { sealed: await seal("build") });

    const first = await relay.history({ limit: 2 });
    const second = await relay.history({ limit: 2, before: first.next });
    assert.deepEqual([first.unread, first.items.length, second.items.length], [3, 2, 1]);
    const items = [...first.items, ...second.items];
    assert.deepEqual(items.map(({ eventType }) => eventType), ["build", "notify", "permission"]);
    for (const { eventType, sealed } of items) {
        const { content } = await Envelope.open({ keys: phone.keys, type: eventType, sealed });
        assert.equal(content.body, `for ${eventType}`);
    }
    assert.deepEqual((await delivered(token)).map(({ aps }) => aps.badge), [1, 2, 3]);
    assert.equal(await relay.readHistory([items[0].id]), 2);
    assert.equal(await relay.readHistory("all"), 0);
});

test("the secret can be in the header, and a device ID names the installation", { skip }, async () => {
    const { token, phone } = await scanned();
    const relay = Relay.of(phone, { secretInHeader: true });
    const next = newToken();
    const device = { bundleId, deviceID: "installation-1" };
    await relay.register({ ...device, deviceToken: token });
    await relay.register({ ...device, deviceToken: next });
    assert.deepEqual((await Relay.of(phone).devices()).map(({ device }) => device.slice(-8)), [next.slice(-8)]);
    assert.equal((await relay.event({ eventType: "error", sessionID: "ses_1", title: "T" })).sent, 1);
    assert.equal((await delivered(next))[0].aps.alert.title, "T");
    assert.deepEqual(await delivered(token), []);
});

test("a device is registered by answering the challenge that is pushed to it", { skip }, async () => {
    const relayURL = process.env.CLIENT_TEST_CHALLENGING_RELAY;
    const token = newToken();
    const pairing = await Pairing.make({ hosts: ["a"], relayURL });
    const keeper = new TokenKeeper({ store: new MemoryStore(), secrets: new MemoryStore(), details: { bundleId } });
    assert.equal((await keeper.sync([pairing], token))[0].status, "challenged");
    assert.deepEqual(await Relay.of(pairing).devices(), []);
    const { challenge } = PushPayload.read((await delivered(token))[0]);
    assert.equal(await keeper.answer({ ...challenge, id: "another" }), undefined);
    assert.equal((await keeper.answer(challenge)).status, "registered");
    assert.equal((await Relay.of(pairing).devices()).length, 1);
    assert.equal((await keeper.sync([pairing], token))[0].status, "registered");
});

test("the phone learns the result of its sealed reply, and the history shows it", { skip }, async () => {
    const { token, server, phone } = await scanned();
    const [sender, app] = [Relay.of(server), Relay.of(phone)];
    await app.register({ deviceToken: token, bundleId, sealed: [1] });
    const eventID = "evt_result";
    const content = { title: "May I?", eventID };
    const sealed = await Envelope.seal({ keys: server.keys, type: "permission", content });
    await sender.event({ eventType: "permission", sessionID: "ses_1", sealed, eventID });
    const reply = await SealedReply.seal({ keys: phone.keys, eventID, action: "once" });
    const waiting = app.replyResult(eventID, { sealed: reply }, { timeout: 30 });
    const given = (await sender.waitForReply(eventID, { timeout: 30 })).reply;
    assert.equal(given.sealed, reply);
    const result = { keys: server.keys, eventID, reply: given.sealed, outcome: "taken" };
    await sender.reportResult(eventID, { sealed: await SealedResult.seal(result) });
    const received = await waiting;
    const opened = await SealedResult.open({ keys: phone.keys, eventID, reply, sealed: received.sealed });
    assert.equal(opened.outcome, "taken");
    // The first result counts.
    const other = await SealedResult.seal({ ...result, outcome: "refused" });
    assert.deepEqual(await sender.reportResult(eventID, { sealed: other }), received);
    assert.deepEqual(await app.replyResult(eventID, { sealed: reply }, { timeout: 0 }), received);
    const [item] = (await app.history()).items;
    assert.deepEqual([item.eventID, item.result], [eventID, received]);
});

/** A simulated browser: its subscription, as `PushSubscription.toJSON()` returns it, and the messages that it decrypted. */
async function subscribed() {
    const response = await fetch(`${simulatorURL}/webpush/subscriptions`, { method: "POST", body: "{}" });
    const { id, endpoint, keys } = await response.json();
    const received = async () => {
        const { pushes } = await (await fetch(`${simulatorURL}/pushes?subscription=${id}`)).json();
        return pushes.filter(({ status }) => status === 201).map(({ payload }) => payload);
    };
    return { subscription: { endpoint, keys, toJSON: () => ({ endpoint, keys }) }, received };
}

test("a browser gets the sealed text by Web Push, and another subscription replaces its old one", { skip }, async () => {
    const { server, phone } = await scanned();
    const relay = Relay.of(phone);
    const { publicKey } = await relay.webPushKey();
    const page = "https://relay.example.org/app/";
    const keeper = new TokenKeeper({ store: new MemoryStore(), secrets: new MemoryStore(), details: { sealed: [1] } });
    const [first, second] = [await subscribed(), await subscribed()];
    for (const { subscription } of [first, second]) {
        assert.equal((await keeper.sync([phone], { subscription, page, publicKey }))[0].status, "registered");
    }
    const devices = await relay.devices();
    assert.deepEqual(devices.map(({ transport, service }) => [transport, service]), [["webpush", "localhost"]]);

    const content = { title: "Fix auth bug", body: "Done. 👍", sessionID: "ses_1", serverID: server.serverID, eventID: "evt_1" };
    const sealed = await Envelope.seal({ keys: server.keys, type: "complete", content });
    const answer = await Relay.of(server).event({ eventType: "complete", sessionID: "ses_1", sealed, eventID: "evt_1" });
    assert.deepEqual([answer.sent, answer.failed], [1, 0]);
    assert.deepEqual(await first.received(), []);
    const [message] = await second.received();
    assert.equal(message.notification.navigate, page);
    const push = PushPayload.fromWebPush(message);
    assert.deepEqual([push.title, push.sessionID], ["Session complete", "ses_1"]);
    const opened = await Envelope.open({ keys: phone.keys, type: push.type, sealed: push.sealed });
    assert.deepEqual({ ...opened.content, sentAt: 0 }, { ...content, sentAt: 0 });

    assert.equal(await relay.unregister({ webPush: { endpoint: second.subscription.endpoint } }), undefined);
    assert.deepEqual(await relay.devices(), []);
});
