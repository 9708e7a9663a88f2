import "./setup.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Envelope, PairingKeys } from "../js/index.js";
import { storedKeys, useStoredKeys } from "../src/keys.js";
import { readMessage } from "../src/message.js";
import { notificationOf } from "../src/notification.js";
import { itemOf } from "../src/pushes.js";
import { routeOf } from "../src/routes.js";
import { texts } from "../src/texts.js";

useStoredKeys();
const keys = await PairingKeys.generate();
const pairing = { id: "p1", name: "studio", serverID: "server", keys: await storedKeys(keys) };
const plain = { id: "p2", name: "open", serverID: "other" };
const fresh = async () => "fresh";
const opened = (message, options) => itemOf(message, { load: async () => [pairing], check: fresh, now: 1_000_000, random: "r",
    ...options });
const seal = (content, type = "permission") => Envelope.seal({ keys, type, content: { eventID: "e1", sentAt: 900, ...content } });

test("a message is read from APNs' members, from declarative Web Push, and from both", () => {
    const members = { eventType: "complete", sessionID: "ses", serverID: "server", eventID: "e" };
    const declared = { title: "Done", navigate: "https://relay.example.org/app/", body: "It works", mutable: true, data: members };
    for (const value of [
        { aps: { alert: { title: "Done", body: "It works" } }, ...members, data: members, body: members },
        { web_push: 8030, mutable: true, notification: declared }, { notification: declared },
        { web_push: 8030, notification: { ...declared, data: undefined }, ...members },
    ]) {
        const { title, body, type, sessionID, serverID, eventID } = readMessage(value);
        assert.deepEqual({ title, body, type, sessionID, serverID, eventID },
            { title: "Done", body: "It works", type: "complete", sessionID: "ses", serverID: "server", eventID: "e" });
    }
});

test("what the relay says besides the texts is in the data of a declared notification", () => {
    const data = { eventType: "permission", sealed: "AQ", actions: ["once"],
        aps: { category: "permission", "thread-id": "ses", "interruption-level": "time-sensitive" } };
    const { sealed, type, sessionID, category, level, actions, isSilent } = readMessage({ notification: { title: "T", silent: true, data } });
    assert.deepEqual({ sealed, type, sessionID, category, level, actions, isSilent }, { sealed: "AQ", type: "permission",
        sessionID: "ses", category: "permission", level: "time-sensitive", actions: ["once"], isSilent: true });
});

test("garbage is a general notification", async () => {
    for (const value of [undefined, null, 1, "x", [], {}, { notification: 5 }, { notification: { title: 1, data: [] } },
        { aps: "x", sealed: 5, actions: {} }]) {
        const item = await opened(readMessage(value));
        const { title, options } = notificationOf(item, { pairing });
        assert.equal(title, "Notification");
        assert.notEqual(options.body, "");
    }
});

test("texts, types and actions of others are cut", () => {
    const message = readMessage({
        notification: { title: "t".repeat(100_000), data: { eventType: "x".repeat(100_000),
            actions: ["once", "once", 5, "a b", "", ..."abcdefghijk"] } },
    });
    assert.equal(message.title.length, 8192);
    assert.equal(message.type.length, 8192);
    assert.deepEqual(message.actions, ["once", ..."abcdefg"]);
});

test("names that JavaScript's objects inherit, and halves of characters, are only texts", async () => {
    for (const name of ["constructor", "__proto__", "toString", "\ud800"]) {
        const data = { eventType: name, sessionID: name, eventID: name, actions: [name] };
        const item = await opened(readMessage({ notification: { data } }), { load: async () => [plain] });
        const { title, options } = notificationOf(item, { pairing: plain });
        assert.deepEqual([title, options.body], ["Notification", "Open it to see more."]);
        assert.deepEqual(routeOf(options.navigate), { page: "item", id: item.key });
        for (const text of [texts.kind(name), texts.action(name), texts.fateOf({ fate: "refused", reason: name }),
            texts.registration({ reason: name })]) {
            assert.equal(typeof text, "string");
            assert.doesNotMatch(text, /native code|\[object/);
        }
    }
});

test("a sender's clock can't make an item the newest for ever", async () => {
    const item = await opened(readMessage({ sealed: await seal({ title: "Fix", sentAt: Number.MAX_SAFE_INTEGER }),
        eventType: "permission" }));
    assert.ok(item.at <= Date.now() + 86_400_000);
});

test("a sealed text replaces everything that the relay said", async () => {
    const sealed = await seal({ title: "Action Needed: Fix", body: "bash: rm -rf build", sessionID: "real",
        notification: { actions: ["once", "reject"], category: "permission" } });
    const message = readMessage({
        sealed, eventType: "permission", sessionID: "hash", actions: ["always"],
        notification: { title: "Action needed", body: "General", data: {} },
    });
    const item = await opened(message);
    assert.deepEqual(
        { title: item.title, body: item.body, session: item.sessionID, actions: item.actions, at: item.at, pairing: item.pairing,
            isOpened: item.isOpened, key: item.key },
        { title: "Action Needed: Fix", body: "bash: rm -rf build", session: "real", actions: ["once", "reject"], at: 900_000,
            pairing: "p1", isOpened: true, key: "p1.e1" });
});

test("a text that can't be opened, in time or at all, leaves the visible one", async () => {
    const sealed = await seal({ title: "Secret" });
    const message = readMessage({ sealed, eventType: "permission", notification: { title: "Action needed" } });
    const wrong = readMessage({ sealed, eventType: "complete", notification: { title: "Action needed" } });
    const cases = [
        [wrong, {}], [{ ...message, sealed: sealed.slice(0, -4) }, {}], [message, { load: async () => [] }],
        [message, { load: () => Promise.reject(new Error("storage")) }], [message, { load: () => new Promise(() => {}), milliseconds: 5 }],
    ];
    for (const [value, options] of cases) {
        const item = await opened(value, options);
        assert.deepEqual([item.title, item.isOpened, item.isSealed], ["Action needed", false, true]);
        assert.equal(notificationOf(item, { pairing }).title, "Action needed");
    }
});

test("a repeated text is shown and marked, and a damaged record doesn't hide it", async () => {
    const message = readMessage({ sealed: await seal({ title: "Fix", body: "Text" }), eventType: "permission" });
    const repeated = await opened(message, { check: async () => "repeated" });
    assert.equal(repeated.replay, "repeated");
    assert.equal(notificationOf(repeated, { pairing }).options.body, "Repeated\nText");
    const unknown = await opened(message, { check: () => Promise.reject(new Error("storage")) });
    assert.deepEqual([unknown.isOpened, unknown.replay], [true, undefined]);
});

test("a readable push belongs to the pairing with its server, and is marked if that pairing has a key", async () => {
    const message = readMessage({ eventType: "complete", serverID: "server", notification: { title: "Done", body: "Text" } });
    const item = await opened(message, { load: async () => [plain, pairing] });
    assert.equal(item.pairing, "p1");
    assert.match(notificationOf(item, { pairing }).options.body, /^Not encrypted\n/);
    const unknown = await opened({ ...message, serverID: "nobody" }, { load: async () => [plain, pairing] });
    assert.equal(unknown.pairing, undefined);
});

test("buttons are once and reject, and only of what the sender sealed", async () => {
    const members = { eventType: "permission", eventID: "e1", actions: ["always", "once", "reject", "later"] };
    const names = (item, pairing) => notificationOf(item, { pairing }).options.actions?.map(({ action }) => action);
    const readable = await opened(readMessage(members));
    assert.equal(names(readable, pairing), undefined);
    assert.deepEqual(names(await opened(readMessage(members), { load: async () => [plain] }), plain), ["once", "reject"]);
    assert.deepEqual(names(await opened(readMessage({ ...members, notification: { body: "x".repeat(401) } }),
        { load: async () => [plain] }), plain), ["reject"], "it can't be seen whole there");
    const asked = await seal({ title: "Run", request: {}, notification: { actions: ["once", "reject"] } });
    assert.deepEqual(names(await opened(readMessage({ sealed: asked, eventType: "permission" })), pairing), ["reject"]);
    const sealed = await seal({ title: "Fix", notification: { actions: ["always", "reject"] } });
    assert.deepEqual(names(await opened(readMessage({ sealed, eventType: "permission" })), pairing), ["reject"]);
});

test("a notification says when its text is longer", async () => {
    const of = async (body) => notificationOf(await opened(readMessage({ notification: { body } }), { load: async () => [plain] }),
        { pairing: plain }).options.body;
    assert.equal(await of("x".repeat(600)), "x".repeat(600));
    assert.equal(await of("x".repeat(601)), `${"x".repeat(600)}… (Not shown in full)`);
});

test("a session's notifications replace each other, a request's stays until it is answered", async () => {
    const tag = async (content, type) => notificationOf(await opened(readMessage({ sealed: await seal(content, type),
        eventType: type })), { pairing }).options.tag;
    const [one, two] = [await tag({ title: "a", sessionID: "s", eventID: "1" }, "complete"),
        await tag({ title: "b", sessionID: "s", eventID: "2" }, "error")];
    assert.equal(one, two);
    const request = await tag({ title: "c", sessionID: "s", eventID: "3", notification: { actions: ["once"] } }, "permission");
    assert.notEqual(request, one);
    const questions = [{ text: "Which?", options: [{ label: "a" }] }];
    const question = await tag({ title: "e", sessionID: "s", eventID: "6", request: { questions } }, "permission");
    assert.equal(new Set([one, request, question]).size, 3);
    assert.notEqual(await tag({ title: "d", eventID: "4" }, "complete"), await tag({ title: "d", eventID: "5" }, "complete"));
});

test("passive notifications are silent, requests stay on the screen, and a click opens the item", async () => {
    const of = async (level, type = "permission") => notificationOf(await opened(readMessage({ aps: { "interruption-level": level },
        eventType: type, eventID: "e/1" })), { pairing, base: "https://x/app/" }).options;
    assert.deepEqual([(await of("passive")).silent, (await of("passive")).requireInteraction], [true, false]);
    assert.deepEqual([(await of("active")).silent, (await of("active")).requireInteraction], [false, true]);
    assert.equal((await of("active", "complete")).requireInteraction, false);
    const { navigate, data } = await of("active");
    assert.deepEqual(routeOf(new URL(navigate).hash), { page: "item", id: data.item.key });
});

test("addresses that aren't the page's lead to the list", () => {
    for (const fragment of ["", "#", "#/", "#/nothing", "#/item/%", "#x", "#/../item"]) assert.deepEqual(routeOf(fragment),
        { page: "list" }, fragment);
    assert.deepEqual(routeOf("#/settings"), { page: "settings" });
});
