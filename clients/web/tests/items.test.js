import "./setup.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Envelope, PairingKeys, SealedResult } from "../js/index.js";
import { fateOf, fateOfError, requestOf } from "../src/answering.js";
import { diagnose } from "../src/diagnosis.js";
import { itemOfHistory } from "../src/history.js";
import { byDay, filtered, kindOf, merged, offeredActions, sessionsOf, sorted } from "../src/items.js";
import { formOf, preferencesOf } from "../src/preferences.js";
import { answersOf } from "../src/questions.js";
import { isDevice } from "../src/subscription.js";

const keys = await PairingKeys.generate();
const pairing = { id: "p", name: "studio", keys };
const item = (members) => ({ key: "p.e", pairing: "p", type: "complete", at: 1, actions: [], isSealed: false, isOpened: false,
    ...members });

test("a push and the history's item of one event become one, in either order", () => {
    const push = item({ title: "Fix", body: "Text", isSealed: true, isOpened: true, actions: ["once"], eventID: "e" });
    const history = item({ historyID: "h", readAt: 5, at: 2, isSealed: true, eventID: "e" });
    for (const both of [merged(push, history), merged(history, push)]) {
        assert.deepEqual(
            [both.title, both.isOpened, both.actions, both.historyID, both.readAt, both.at], ["Fix", true, ["once"], "h", 5, 1]);
    }
});

test("what the relay says of an event never mixes with its opened text", () => {
    const opened = item({ title: "rm -rf /", isSealed: true, isOpened: true, eventID: "e" });
    const forged = item({ title: "ls", body: "harmless", actions: ["always"], type: "permission", eventID: "e" });
    for (const both of [merged(opened, forged), merged(forged, opened)]) {
        assert.deepEqual([both.title, both.body, both.actions, both.type], ["rm -rf /", undefined, [], "complete"]);
    }
});

test("a pairing with a key answers only sealed requests", () => {
    const request = item({ eventID: "e", actions: ["once"] });
    assert.deepEqual(offeredActions(request, pairing), []);
    assert.deepEqual(offeredActions({ ...request, isOpened: true }, pairing), ["once"]);
    assert.deepEqual(offeredActions(request, { id: "p" }), ["once"]);
    assert.deepEqual(offeredActions({ ...request, isOpened: true }, undefined), []);
    assert.deepEqual(offeredActions({ ...request, eventID: undefined }, { id: "p" }), []);
    // A readable question, whose reply approves nothing and is also readable.
    const question = { ...request, actions: ["1", "2", "reject"] };
    assert.deepEqual(offeredActions(question, pairing), ["1", "2", "reject"]);
    assert.deepEqual(offeredActions({ ...question, isSealed: true }, pairing), []);
    for (const action of ["once", "always", "answer"]) {
        assert.deepEqual(offeredActions({ ...question, actions: ["1", action] }, pairing), []);
    }
});

test("questions have an answer if they are sealed, what is cut can only be rejected, and after the end nothing is offered", () => {
    const questions = [{ text: "Which?", options: [{ label: "a" }], isMultiple: false, allowsText: false, isOptional: false }];
    const asking = (asked, members) => item({ eventID: "e", actions: ["once", "reject"], isOpened: true,
        asked: { isCut: false, questions: [], ...asked }, ...members });
    assert.deepEqual(offeredActions(asking({}), pairing), ["once", "reject"]);
    assert.deepEqual(offeredActions(asking({ questions }, { actions: [] }), pairing), ["answer"]);
    assert.deepEqual(offeredActions(asking({ questions }, { actions: ["reject", "answer"] }), pairing), ["answer", "reject"]);
    assert.deepEqual(offeredActions(asking({ questions }, { isOpened: false }), pairing), []);
    assert.deepEqual(offeredActions(asking({ questions }, { actions: [] }), { id: "p" }), []);
    assert.deepEqual(offeredActions(asking({ isCut: true, questions }, { actions: ["once", "allow-all", "reject"] }), pairing), ["reject"]);
    assert.deepEqual(offeredActions(asking({ end: 10 }), pairing, 9_999), ["once", "reject"]);
    assert.deepEqual(offeredActions(asking({ end: 10 }), pairing, 10_000), []);
    assert.deepEqual([kindOf(asking({ questions })), kindOf(asking({})), kindOf(item({}))], ["question", "complete", "complete"]);
});

test("answers are the labels in their order and then the person's own, or only one of them", () => {
    const question = (members) => ({ text: "?", options: [{ label: "a" }, { label: "b" }], isMultiple: false, allowsText: true,
        isOptional: false, ...members });
    const answers = (members, text, ...chosen) => answersOf([question(members)], [{ chosen: new Set(chosen), text }]);
    assert.deepEqual(answers({}, "", "b"), { answers: [["b"]], missing: [] });
    assert.deepEqual(answers({}, " c ", "b"), { answers: [["c"]], missing: [] });
    assert.deepEqual(answers({ isMultiple: true }, "c", "b", "a"), { answers: [["a", "b", "c"]], missing: [] });
    assert.deepEqual(answers({ isMultiple: true }, "a", "a", "b"), { answers: [["a", "b"]], missing: [] });
    assert.deepEqual(answers({ isMultiple: true, allowsText: false }, "c"), { answers: [[]], missing: [0] });
    assert.deepEqual(answers({ isOptional: true }, "  ", "gone"), { answers: [[]], missing: [] });
    assert.deepEqual(answersOf([question(), question({ options: [] })], [{ chosen: new Set(["a"]), text: "" },
        { chosen: new Set(), text: "" }]).missing, [1]);
});

test("the list is newest first, grouped by day and filtered by kind, session and reading", () => {
    const day = 86_400_000;
    const list = sorted([item({ key: "a", at: 0, sessionID: "s", title: "Error: Fix" }),
        item({ key: "b", at: 10 * day, type: "error", sessionID: "s", title: "Fix" }), item({ key: "c", at: 10 * day + 1, readAt: 1 })]);
    assert.deepEqual(list.map(({ key }) => key), ["c", "b", "a"]);
    assert.equal(byDay(list).length, 2);
    assert.deepEqual(filtered(list, { kind: "error" }).map(({ key }) => key), ["b"]);
    assert.deepEqual(filtered(list, { kind: "unread" }).map(({ key }) => key), ["b", "a"]);
    assert.deepEqual(filtered(list, { session: "p s" }).map(({ key }) => key), ["b", "a"]);
    assert.deepEqual(sessionsOf(list), [{ id: "p s", name: "Fix" }]);
});

test("an item of the history is opened, cut, or left out", async () => {
    const sealed = await Envelope.seal({ keys, type: "complete", content: { title: "Fix", eventID: "e" } });
    const whole = { id: "h", createdAt: "2026-11-21T12:48:02.004Z", eventType: "complete", sealed };
    assert.deepEqual((({ title, isOpened, key }) => ({ title, isOpened, key }))(await itemOfHistory(whole, pairing)),
        { title: "Fix", isOpened: true, key: "p.e" });
    const forged = await itemOfHistory({ ...whole, eventType: "error", title: 5, sessionID: {} }, pairing);
    assert.deepEqual([forged.isOpened, forged.title, forged.sessionID, forged.key], [false, undefined, undefined, "p.h"]);
    for (const wrong of [{}, { id: "h" }, { ...whole, createdAt: "soon" },
        { ...whole, id: 5 }]) assert.equal(await itemOfHistory(wrong, pairing), undefined);
});

test("a reply has only an action that the event offers, and is sealed if there is a key", async () => {
    const request = item({ eventID: "e", actions: ["once", "reject"], isOpened: true });
    await assert.rejects(requestOf({ item: request, pairing, action: "always" }), TypeError);
    assert.deepEqual(Object.keys(await requestOf({ item: request, pairing, action: "reject", text: "no" })), ["sealed"]);
    assert.deepEqual(await requestOf({ item: request, pairing: { id: "p" }, action: "reject", text: " no " }),
        { action: "reject", text: "no" });
});

test("only the sender can say what became of a sealed reply", async () => {
    const request = await requestOf({ item: item({ eventID: "e", actions: ["once"], isOpened: true }), pairing, action: "once" });
    const known = { keys, eventID: "e", request };
    const seal = (members) => SealedResult.seal({ keys, eventID: "e", reply: request.sealed, outcome: "taken", ...members });
    assert.deepEqual(await fateOf({ sealed: await seal({}) }, known), { fate: "taken", reason: undefined });
    assert.deepEqual(await fateOf({ sealed: await seal({ outcome: "refused", reason: "changed" }) }, known),
        { fate: "refused", reason: "changed" });
    assert.deepEqual(await fateOf({ sealed: await seal({ outcome: "new_one" }) }, known),
        { fate: "other", outcome: "new_one", reason: undefined });
    for (const wrong of [{ outcome: "taken" }, { sealed: await seal({ eventID: "other" }) },
        { sealed: await seal({ reply: "AQ" }) }, { sealed: "x" }]) {
        assert.deepEqual(await fateOf(wrong, known), { fate: "unproven" });
    }
    assert.deepEqual(await fateOf({ outcome: "too_late" }, { eventID: "e" }), { fate: "too_late", reason: undefined });
});

test("a failure is told apart from a refusal", () => {
    assert.equal(fateOfError({ code: "already_replied", kind: "refused" }).fate, "elsewhere");
    assert.equal(fateOfError({ code: "unknown_event", kind: "refused" }).fate, "expired");
    assert.equal(fateOfError({ kind: "refused", message: "No.", isTemporary: false }).fate, "rejected");
    for (const error of [{ kind: "unreachable" }, { kind: "refused", isTemporary: true }]) assert.equal(fateOfError(error).fate, "unsent");
});

test("preferences survive the form", () => {
    const quietHours = { from: "23:00", to: "06:30", timeZone: "Europe/Berlin", mode: "later", allowPermission: false };
    for (const preferences of [
        { timeZone: "Europe/Berlin" }, { timeZone: "Europe/Berlin", eventTypes: ["permission"], quietHours, perHour: 5, perDay: 20,
            badge: "unread" },
    ]) {
        assert.deepEqual(preferencesOf(formOf(preferences, "Europe/Berlin")), { preferences, wrong: [] });
    }
});

test("wrong values of the form are named", () => {
    const form = { ...formOf({}, "UTC"), types: [], isQuiet: true, from: "7", to: "7", zone: "", perHour: "0", perDay: "1.5" };
    assert.deepEqual(preferencesOf(form).wrong, ["types", "from", "to", "zone", "perHour", "perDay"]);
});

test("a subscription is found in the device list by the end of its name", () => {
    assert.equal(isDevice({ device: "…d4e5f6a7" }, "00d4e5f6a7"), true);
    for (const other of [{}, null, { device: "" }, { device: "…d4e5f6a8" }, { device: 5 }]) assert.equal(isDevice(other,
        "00d4e5f6a7"), false);
});

const good = {
    isTab: false, hasPush: true, permission: "granted", hasWorker: true, service: "push.example.org", arrival: { at: 0 },
    pairings: [{ name: "a", relay: "ok", host: "relay.example.org", faults: [], clockMilliseconds: 0, hasKey: true, hasList: true,
        registration: { state: "registered" }, device: { lastPush: { status: "sent", at: "2026-11-21T12:48:02.004Z" } } }],
};
const faults = (facts) => diagnose(facts, 0).filter(({ state }) => state === "bad").map(({ id }) => id);
const withPairing = (change) => ({ ...good, pairings: [{ ...good.pairings[0], ...change }] });

test("the diagnosis finds nothing if all is well", () => {
    assert.deepEqual(diagnose(good, 0).map(({ id, state }) => [id, state]).filter(([, state]) => state !== "ok"), []);
});

test("the diagnosis names each fault once and says what to do", () => {
    const cases = [
        [{ ...good, permission: "denied", service: undefined }, ["permission"]],
        [{ ...good, isTab: true, service: undefined }, ["permission"]],
        [{ ...good, hasPush: false, service: undefined }, ["permission"]], [{ ...good, hasWorker: false, service: undefined }, ["worker"]],
        [{ ...good, service: undefined }, ["subscription"]], [{ ...good, pairings: [] }, ["pairing"]],
        [withPairing({ relay: "unreachable" }), ["relay"]], [withPairing({ relay: "off" }), ["relay"]],
        [withPairing({ faults: ["queue overdue"] }), ["relay"]],
        [withPairing({ hasKey: false }), ["key"]], [withPairing({ device: undefined }), ["registration"]],
        [withPairing({ device: undefined, registration: { state: "failed", reason: "blocked" } }), ["registration"]],
        [withPairing({ clockMilliseconds: -86_400_000 }), ["clock"]],
        [withPairing({ device: { lastPush: { status: "failed", reason: "x", at: "" } } }), ["push"]],
        [{ ...good, arrival: { at: 0, isLocked: true } }, ["arrival"]],
    ];
    for (const [facts, expected] of cases) {
        assert.deepEqual(faults(facts), expected);
        for (const { state, advice, id } of diagnose(facts, 0)) if (state === "bad") assert.ok(advice, id);
    }
});
