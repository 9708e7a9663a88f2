// A real Firefox, the real relay and the bridge's link: only the push service between them is a stand-in.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Pairing } from "../../js/node.js";
import { Firefox } from "./firefox.js";
import { Program } from "./program.js";
import { Relay } from "./relay.js";
import { Sender } from "./sender.js";
import { until } from "./wait.js";

const [title, body] = ["Action Needed: Fix auth bug", "bash: rm -rf build"];
let relay;
let firefox;
let link;
let sender;

const devices = async () => (await relay.post("/v1/device/list", { secret: sender.secret })).devices;

before(async () => {
    relay = await Program.start(Relay);
    link = relay.pairingLink();
    sender = new Sender();
    sender.pairing = await Pairing.parse(link);
    firefox = await Program.start(Firefox, relay.pushURL);
});
after(async () => {
    await firefox?.stop();
    await relay?.stop();
});

test("the bridge's link opens the relay's page, and one click registers the browser", async () => {
    await firefox.pair(link);
    await firefox.shows(".list", /Nothing yet/);
    const [device, ...others] = await devices();
    assert.deepEqual([device.deviceName, others], ["Firefox on Linux", []]);
    // The fragment stays in the browser.
    const { pairingSecret } = sender.pairing.keys;
    assert.ok(link.includes(pairingSecret) && !relay.output.includes(pairingSecret) && !relay.output.includes(sender.secret));
});

test("an event posted to the relay arrives encrypted, and the worker opens the sealed text", async () => {
    const event = await sender.event("permission", { eventID: "per_1", title, body, actions: ["once", "always", "reject"] });
    const { serverID, eventType, sessionID, sealed } = event.data;
    const answer = await relay.post("/v1/event", { secret: sender.secret, eventType, sessionID, serverID, sealed, eventID: "per_1",
        actions: ["once", "always", "reject"] });
    assert.deepEqual([answer.ok, answer.sent, answer.failed], [true, 1, 0], JSON.stringify(answer));
    const [{ headers, body: message, code }] = relay.messages;
    assert.equal(headers["content-encoding"], "aes128gcm");
    assert.match(headers.authorization, /^vapid t=/);
    assert.match(headers.ttl, /^\d+$/);
    for (const text of [sessionID, sealed.slice(0, 40)]) assert.ok(!message.includes(text));
    assert.equal(await code, 100);
    const shown = await firefox.notification(title);
    assert.equal(shown.body, body);
});

test("the answer reaches the sender through the relay, and its result the page", async () => {
    await firefox.clickAlert(title);
    await firefox.shows(".item h1", /^Action Needed: Fix auth bug$/);
    await firefox.click("[data-action=once]");
    const { reply } = await relay.post("/v1/reply/wait", { secret: sender.secret, eventID: "per_1", timeout: 50 });
    assert.deepEqual(Object.keys(reply).sort(), ["at", "sealed"]);
    assert.equal((await sender.openReply("per_1", reply)).action, "once");
    await firefox.shows(".fate", /Waiting for the agent/);
    const result = await sender.result("per_1", reply.sealed, "taken");
    assert.equal((await relay.post("/v1/reply/result", { secret: sender.secret, eventID: "per_1", ...result })).ok, true);
    await firefox.shows(".fate", /The agent has your answer/);
});

test("ringing this device goes through the relay and back", async () => {
    await firefox.evaluate("location.href = '#/settings'");
    await until("the button", () => firefox.evaluate("document.querySelector('#ring') !== null"));
    await firefox.click("#ring");
    await firefox.shows(".settings", /It rang after/);
});

test("the relay knows the preferences, and the diagnosis finds nothing wrong", async () => {
    await firefox.evaluate("document.querySelector('.cards a').click()");
    await firefox.shows(".settings", /This device\n?.*Last push sent/s);
    await firefox.click("[name=complete]");
    await firefox.click("#save");
    await firefox.shows(".form", /Saved/);
    const [{ preferences }] = await devices();
    assert.deepEqual(preferences.eventTypes, ["permission", "error"]);
    await firefox.evaluate("location.href = '#/check'");
    await firefox.shows(".summary", /./);
    assert.deepEqual(await firefox.evaluate("[...document.querySelectorAll('[data-state=bad]')].map((row) => row.innerText)"), []);
});

test("a token that the page makes rings, and not after it is revoked", async () => {
    await firefox.evaluate("location.href = '#/settings'");
    await until("the pairing", () => firefox.evaluate("document.querySelector('.cards a') !== null"));
    await firefox.evaluate("document.querySelector('.cards a').click()");
    await firefox.shows("#tokens", /There are no tokens/);
    await firefox.evaluate("void (document.querySelector('#token-name').value = 'CI')");
    await firefox.click("#make-token");
    await firefox.shows("#token", /^rt_/);
    const token = await firefox.evaluate("document.querySelector('#token').innerText");
    const ring = async () => (await fetch(`${relay.url}/v1/notify`, { method: "POST", headers: { authorization: `Bearer ${token}` }, body: '{"title":"t"}' })).status;
    assert.equal(await ring(), 200);
    await firefox.click("#tokens button");
    await firefox.click("dialog .danger");
    await firefox.shows("#tokens", /There are no tokens/);
    assert.equal(await ring(), 401);
});

test("unpairing removes the registration", async () => {
    await firefox.evaluate("location.href = '#/settings'");
    await until("the pairing", () => firefox.evaluate("document.querySelector('.cards a') !== null"));
    await firefox.evaluate("document.querySelector('.cards a').click()");
    await until("the form", () => firefox.evaluate("document.querySelector('#unpair') !== null"));
    await firefox.click("#unpair");
    await firefox.click("dialog .danger");
    await firefox.shows(".pair", /Pairing link/);
    await until("no registration", async () => (await devices()).length === 0);
});
