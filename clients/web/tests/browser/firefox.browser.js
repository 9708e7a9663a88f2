// A real Firefox with a real subscription: from the pairing link to the answer at the sender.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Firefox } from "./firefox.js";
import { Program } from "./program.js";
import { Sender } from "./sender.js";
import { StandIn } from "./stand-in.js";
import { until } from "./wait.js";

let relay;
let sender;
let firefox;

const dump = `new Promise((resolve) => {
    const request = indexedDB.open("apn-relay");
    request.onsuccess = () => {
        const store = request.result.transaction("pairings").objectStore("pairings").getAll();
        store.onsuccess = () => {
            request.result.close();
            resolve(JSON.stringify(store.result) + Object.entries(store.result[0]?.keys ?? {}).map(([name,
                key]) => name + (key.extractable ?? "")));
        };
    };
})`;
const text = (selector) => firefox.text(selector);
const shows = (selector, pattern) => firefox.shows(selector, pattern);
const notification = (title) => firefox.notification(title);
const clickAlert = (title) => firefox.clickAlert(title);
const deliver = async (type, members) => relay.deliver(sender.secret, await sender.event(type, members));

before(async () => {
    relay = await StandIn.start();
    sender = await Sender.make(relay.url);
    firefox = await Program.start(Firefox, relay.url.replace("http", "ws") + "/");
});
after(async () => {
    await firefox?.stop();
    await relay?.stop();
});

test("Firefox pairs by link, subscribes in one click, and the address keeps no secret", async () => {
    await firefox.pair(sender.link(relay.url));
    assert.equal(relay.devices.length, 1);
    await shows(".list", /Nothing yet/);
    const [{ secret, webPush, entry }] = relay.devices;
    assert.equal(secret, sender.secret);
    assert.match(webPush.endpoint, /\/push\//);
    assert.deepEqual([entry.sealed, entry.deviceName], [[1], "Firefox on Linux"]);
    const stored = await firefox.evaluate(dump);
    assert.match(stored, /notificationKeyfalse.*replyKeyfalse/);
    assert.ok(!stored.includes(sender.pairing.keys.pairingSecret));
    const { requests } = relay;
    assert.ok(requests.every(({ path, text }) => !(path + text).includes(sender.pairing.keys.pairingSecret)));
});

test("a sealed push is opened by the worker, and a click shows the item", async () => {
    const body = "bash: rm -rf build && make <b>all</b>\n- old line\n+ new line";
    assert.deepEqual(await deliver("permission", { eventID: "per_1", title: "Action Needed: Fix auth bug", body,
        actions: ["once", "always", "reject"] }), [100]);
    const shown = await notification("Action Needed: Fix auth bug");
    assert.deepEqual([shown.title, shown.body], ["Action Needed: Fix auth bug", body]);
    await shows(".row", /Needs your answer/);
    await firefox.evaluate("location.href = '#/settings'");
    await clickAlert("Action Needed: Fix auth bug");
    await shows(".item h1", /^Action Needed: Fix auth bug$/);
    assert.equal((await text(".request pre")).trimEnd(), body);
    assert.deepEqual(await firefox.evaluate("[...document.querySelectorAll('[data-action]')].map(({ dataset }) => dataset.action)"),
        ["once", "always", "reject"]);
});

test("an answer reaches the sender sealed, and its result the page", async () => {
    await firefox.click("[data-action=once]");
    const reply = await until("the reply", async () => relay.events.get("per_1").reply);
    assert.deepEqual(Object.entries(reply).filter(([, value]) => value !== undefined).map(([name]) => name), ["sealed"]);
    assert.equal((await sender.openReply("per_1", reply)).action, "once");
    await shows(".fate", /Waiting for the agent/);
    relay.report("per_1", await sender.result("per_1", reply.sealed, "taken"));
    await shows(".fate", /The agent has your answer/);
    await until("no notification", async () => (await firefox.notifications()).length === 0);
});

test("a rejection has the person's words", async () => {
    await deliver("permission", { eventID: "per_2", title: "Action Needed: Deploy", body: "bash: deploy", actions: ["once", "reject"] });
    await clickAlert("Action Needed: Deploy");
    await shows(".item h1", /Deploy/);
    await firefox.click("summary");
    await firefox.type("#note", "Not on a Friday");
    await firefox.click("[data-action=reject]");
    const reply = await until("the reply", async () => relay.events.get("per_2").reply);
    const { action, text: words } = await sender.openReply("per_2", reply);
    assert.deepEqual([action, words], ["reject", "Not on a Friday"]);
    relay.report("per_2", { outcome: "taken" });
    await shows(".fate", /isn't your sender's/);
});

test("a question's answer is chosen or written, and reaches the sender", async () => {
    const questions = [{ text: "Which <b>database</b>?", options: [{ label: "SQLite" }, { label: "<i>Postgres</i>" }], allowsText: true },
        { text: "Why?", allowsText: true }];
    await deliver("permission", { eventID: "que_1", title: "Question: Service", body: "Which database?", request: { questions } });
    await clickAlert("Question: Service");
    await shows(".questions", /Which <b>database<\/b>\?.*<i>Postgres<\/i>.*Why\?/s);
    await firefox.click("#q0-1");
    await firefox.type("#q1-own", "It is there");
    await firefox.click("#answer");
    const reply = await until("the reply", async () => relay.events.get("que_1").reply);
    const { action, answers } = await sender.openReply("que_1", reply);
    assert.deepEqual([action, answers], ["answer", [["<i>Postgres</i>"], ["It is there"]]]);
    relay.report("que_1", await sender.result("que_1", reply.sealed, "taken"));
    await shows(".fate", /The agent has your answer.*It is there/s);
});

test("an answer from elsewhere shows while the request is open", async () => {
    await deliver("permission", { eventID: "per_3", title: "Action Needed: Wait", body: "bash: ls", actions: ["once"] });
    await clickAlert("Action Needed: Wait");
    await shows(".item h1", /Wait/);
    await shows(".answer", /Allow once/);
    relay.report("per_3", await sender.result("per_3", undefined, "answered_elsewhere"));
    await shows(".fate", /already answered elsewhere/);
});

test("texts are never HTML, and a forged request has no buttons", async () => {
    const hostile = '<img src=x onerror="window.ran = 1"><script>window.ran = 1</script>';
    await deliver("complete", { eventID: "com_1", title: hostile, body: hostile, sessionID: hostile });
    await firefox.evaluate("location.href = '#/'");
    await shows(".list", /<script>/);
    await clickAlert(hostile);
    await shows(".item h1", /<img src=x/);
    for (const eventID of ["per_3", "per_4"]) {
        await relay.deliver(sender.secret, {
            eventID: "forged", type: "permission", title: `Forged ${eventID}`, body: hostile,
            data: { eventType: "permission", serverID: "studio.local", eventID, actions: ["once", "always"] },
        });
        assert.match((await notification(`Forged ${eventID}`)).body, /^Not encrypted\n/);
        await clickAlert(`Forged ${eventID}`);
        // What the sender sealed under the same ID remains.
        await shows(".item h1", eventID === "per_3" ? /Wait/ : /Forged per_4/);
        assert.equal(await firefox.evaluate("document.querySelector('[data-action]')"), null);
    }
    assert.match(await text(".item"), /wasn't encrypted by your sender/);
    assert.equal(await firefox.evaluate("window.ran ?? document.querySelectorAll('main img, main script').length"), 0);
});

test("a repeated push is shown and marked, and garbage shows a general text", async () => {
    const event = await sender.event("complete", { eventID: "com_2", title: "Twice", body: "Text", sessionID: "ses_2" });
    await relay.deliver(sender.secret, event);
    assert.deepEqual(await relay.deliver(sender.secret, event), [100]);
    const twice = async () => (await firefox.notifications()).filter(({ title }) => title === "Twice").map(({ body }) => body);
    await until("the mark", async () => (await twice()).includes("Repeated\nText"));
    assert.equal((await twice()).length, 1);
    for (const garbage of ["\u0000", "[]", '{"notification":', '{"notification":{"title":{},"data":"x"}}']) {
        assert.equal(await relay.push.send(relay.devices[0].webPush, garbage), 100);
    }
    await until("the general text",
        async () => (await firefox.notifications()).filter(({ title }) => title === "Notification").length === 4);
});

test("a click uses the window that is open", async () => {
    const windows = await firefox.call("WebDriver:GetWindowHandles");
    await firefox.evaluate("(await navigator.serviceWorker.getRegistration()).getNotifications().then((list) => list.forEach((one) => one.close()))");
    await deliver("error", { eventID: "err_1", title: "Error: Build", body: "It failed", sessionID: "ses_3" });
    await clickAlert("Error: Build");
    await shows(".item h1", /Build/);
    assert.deepEqual(await firefox.call("WebDriver:GetWindowHandles"), windows);
});

test("ringing this device goes through the relay and back", async () => {
    await firefox.evaluate("location.href = '#/settings'");
    await until("the button", () => firefox.evaluate("document.querySelector('#ring') !== null"));
    await firefox.click("#ring");
    await shows(".settings", /It rang after/);
});

test("preferences reach the relay", async () => {
    await firefox.evaluate("document.querySelector('.cards a').click()");
    await shows(".settings", /This device\n?.*Last push sent/s);
    await firefox.click("[name=complete]");
    await firefox.click("[name=isQuiet]");
    await firefox.click("#save");
    await shows(".form", /Saved/);
    const { preferences } = relay.devices[0].entry;
    assert.deepEqual(preferences.eventTypes, ["permission", "error"]);
    assert.deepEqual([preferences.quietHours.from, preferences.quietHours.to], ["22:00", "07:00"]);
});

test("a new key of the relay replaces the subscription, and the diagnosis is content", async () => {
    const { endpoint } = relay.devices[0].webPush;
    relay.rotate();
    await firefox.open(`${relay.url}/app/`);
    await until("the new registration", async () => relay.devices.length === 1 && relay.devices[0].webPush.endpoint !== endpoint);
    await firefox.evaluate("location.href = '#/check'");
    await shows(".summary", /./);
    assert.deepEqual(await firefox.evaluate("[...document.querySelectorAll('[data-state=bad]')].map((row) => row.innerText)"), []);
    relay.clockOffset = 86_400_000;
    await firefox.click(".check button");
    await shows(".summary", /1 problem/);
    assert.match(await text("[data-state=bad]"), /clock is off by 14(39|40|41) minutes/);
    relay.clockOffset = 0;
});

test("unpairing without the relay removes the registration later", async () => {
    await firefox.evaluate("location.href = '#/settings'");
    await until("the pairing", () => firefox.evaluate("document.querySelector('.cards a') !== null"));
    await firefox.evaluate("document.querySelector('.cards a').click()");
    await until("the form", () => firefox.evaluate("document.querySelector('#unpair') !== null"));
    relay.isDown = true;
    await firefox.click("#unpair");
    await firefox.click("dialog .danger");
    await shows(".pair", /Pairing link/);
    assert.equal(relay.devices.length, 1);
    relay.isDown = false;
    await firefox.open(`${relay.url}/app/`);
    await until("no registration", async () => relay.devices.length === 0);
    assert.match(await firefox.evaluate(dump), /^\[\]/);
});

test("nothing violated the policy", () => {
    assert.deepEqual(relay.violations, []);
});
