// Chromium: installing, the worker, offline use, the policy, a hostile relay, and screenshots. It has no push service here, so its
// subscription is made up and pushes come through DevTools.
import assert from "node:assert/strict";
import { createECDH } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { accessibility, sizes } from "./accessibility.js";
import { Chromium } from "./chromium.js";
import { Program } from "./program.js";
import { Sender } from "./sender.js";
import { StandIn } from "./stand-in.js";
import { until } from "./wait.js";

const screenshots = process.env.SCREENSHOTS;
let relay;
let sender;
let chromium;

const text = (selector) => chromium.evaluate(`document.querySelector(${JSON.stringify(selector)})?.innerText`);
const shows = (selector, pattern) => until(`${selector} shows ${pattern}`, async () => {
    const shown = await text(selector);
    if (typeof shown !== "string" || !pattern.test(shown)) throw new Error(`it shows ${shown}`);
    return true;
});
const go = (hash) => chromium.evaluate(`void (location.hash = ${JSON.stringify(hash)})`);
const deliver = async (type, members) => relay.deliver(sender.secret, await sender.event(type, members));
/** Records what the worker showed: Chromium loses a notification if the list is requested while it is being shown. */
const record = `void (self.shown ??= (() => {
    const list = [];
    const show = ServiceWorkerRegistration.prototype.showNotification;
    ServiceWorkerRegistration.prototype.showNotification = async function (title, options) {
        await show.call(this, title, options);
        list.push({ title, body: options.body, actions: (options.actions ?? []).map(({ action }) => action) });
    };
    return list;
})())`;
const notification = (title) => until(`the notification ${title}`, async () => {
    const shown = JSON.parse(await inWorker("JSON.stringify(self.shown)"));
    const found = shown.find((one) => one.title === title);
    if (!found) throw new Error(`there are ${JSON.stringify(shown.map(({ title }) => title))}; ${chromium.complaints.join("; ")}`);
    return found;
});

async function inWorker(expression) {
    // Chromium stops it when it has had nothing to do for a while.
    await chromium.call("ServiceWorker.startWorker", { scopeURL: `${relay.url}/app/` });
    const { targetId } = await until("the worker", async () => (await chromium.call("Target.getTargets")).targetInfos
        .find(({ type, url }) => type === "service_worker" && url.endsWith("/app/worker.js")));
    return chromium.inTarget(targetId, expression);
}

/** A subscription as the page sees it, since no push service can be reached. */
function madeUp(endpoint) {
    const pair = createECDH("prime256v1");
    const keys = { p256dh: pair.generateKeys().toString("base64url"), auth: Buffer.alloc(16, 7).toString("base64url") };
    return `{
        let current = localStorage.getItem("subscribed");
        const made = () => current && { endpoint: ${JSON.stringify(endpoint)}, options: {},
            toJSON: () => (${JSON.stringify({ endpoint, keys })}), unsubscribe: async () => (current = "") };
        PushManager.prototype.getSubscription = async () => made();
        PushManager.prototype.subscribe = async () => (localStorage.setItem("subscribed", "yes"), current = "yes", made());
    }`;
}

/** The pictures of docs/guide/phone.md, by view; small enough for the repository. */
const guide = { confirm: "phone-pair", list: "phone-list", request: "phone-request" };

/** Looks at a view in every size: nothing may be too pale, unnamed or too wide. */
async function look(name) {
    for (const size of sizes) {
        await chromium.resize(size);
        assert.deepEqual(await chromium.evaluate(accessibility(size.width)), [], `${name} ${size.name}`);
        if (screenshots) await writeFile(join(screenshots, `${name}-${size.name}.png`), await chromium.screenshot());
    }
    if (!screenshots || !guide[name]) return;
    await chromium.resize({ width: 390, height: 720, scheme: "light" });
    await writeFile(join(screenshots, `${guide[name]}.png`), await chromium.screenshot());
}

before(async () => {
    if (screenshots) await mkdir(screenshots, { recursive: true });
    relay = await StandIn.start();
    sender = await Sender.make(relay.url);
    chromium = await Program.start(Chromium);
    relay.sends = async (message) => {
        await inWorker(record);
        await chromium.deliver(relay.url, JSON.stringify(message));
        return 100;
    };
    await chromium.call("Browser.grantPermissions", { origin: relay.url, permissions: ["notifications"] });
    await chromium.call("Page.addScriptToEvaluateOnNewDocument", { source: madeUp("https://push.example.org/one") });
});
after(async () => {
    await chromium?.stop();
    await relay?.stop();
});

test("the page welcomes, and a damaged link says what is wrong with it", async () => {
    await chromium.open(`${relay.url}/app/`);
    await shows(".pair", /Pairing link/);
    await look("welcome");
    await chromium.evaluate("void (document.querySelector('#link').value = 'https://example.org/')");
    await chromium.click("[type=submit]");
    await shows("#link-problem", /isn't a pairing link/);
});

test("a pasted link pairs, and the page can be installed", async () => {
    await chromium.evaluate(`void (document.querySelector('#link').value = ${JSON.stringify(sender.link(relay.url))})`);
    await chromium.click("[type=submit]");
    await until("the button",
        () => chromium.evaluate("document.querySelector('#name') && !document.querySelector('[type=submit]').disabled"));
    await look("confirm");
    await chromium.click("[type=submit]");
    await until("the registration", async () => relay.devices.length === 1);
    await shows(".list", /Nothing yet/);
    await look("empty");
    const { installabilityErrors } = await chromium.call("Page.getInstallabilityErrors");
    assert.deepEqual(installabilityErrors, []);
});

test("pushes become notifications with the buttons once and reject, and items of the list", async () => {
    const now = Math.floor(Date.now() / 1000);
    const asked = { sentAt: now, sessionID: "ses_fix", actions: ["once", "always", "reject"] };
    await deliver("complete", { eventID: "c1", title: "Write release notes",
        body: "Drafted the notes for 2.4 and linked every change that users see.", sessionID: "ses_notes", sentAt: now - 90_000,
        ttl: 200_000 });
    await deliver("error", { eventID: "e1", title: "Error: Upgrade the database driver",
        body: "The provider refused the request: too many tokens per minute.", sessionID: "ses_driver", sentAt: now - 7_200 });
    await deliver("complete", { eventID: "c2", title: "Fix flaky login test",
        body: "The test waited for the wrong event. It passes 200 times in a row now.", sessionID: "ses_login", sentAt: now - 2_400 });
    await deliver("permission", { eventID: "p1", title: "Action Needed: Clean the build",
        body: "bash: rm -rf build/ && cmake --preset release -DCMAKE_INSTALL_PREFIX=/usr/local", ...asked, sessionID: "ses_build" });
    await deliver("permission", { eventID: "p2", title: "Action Needed: Fix auth bug",
        body: "edit src/auth/session.ts\n-    if (token.expires < now) return undefined;\n+    if (token.expires <= now) {\n+        await store.remove(token.id);\n+        return undefined;\n+    }", ...asked });
    assert.deepEqual((await notification("Action Needed: Fix auth bug")).actions, ["once", "reject"]);
    await shows(".list", /Fix auth bug.*Clean the build.*flaky login.*database driver/s);
    await until("what is unread", async () => (await text(".head p")) === "5 unread");
    await look("list");
});

test("a text that arrives after its time is marked", async () => {
    await deliver("complete", { eventID: "late", title: "Late", body: "Text", sentAt: Math.floor(Date.now() / 1000) - 2 * 86_400,
        sessionID: "ses_late" });
    assert.equal((await notification("Late")).body, "Delivered late\nText");
    await shows(".list", /Delivered late/);
});

test("a request is shown in full and answered, by keyboard as well", async () => {
    await chromium.evaluate("document.querySelector('.row').click()");
    await shows(".item h1", /Fix auth bug/);
    assert.equal(await chromium.evaluate("document.activeElement?.tagName"), "H1");
    await look("request");
    await chromium.evaluate("document.querySelector('[data-action=always]').focus()");
    for (const type of ["keyDown", "keyUp"]) await chromium.call("Input.dispatchKeyEvent",
        { type, key: "Enter", code: "Enter", windowsVirtualKeyCode: 13, text: type === "keyDown" ? "\r" : undefined });
    await shows("dialog", /Always allow this/);
    await look("dialog");
    await chromium.click("dialog .button");
    await until("no dialog", () => chromium.evaluate("document.querySelector('dialog') === null"));
    assert.equal(relay.events.get("p2").reply, undefined);
    await chromium.click("[data-action=once]");
    const reply = await until("the reply", async () => relay.events.get("p2").reply);
    assert.equal((await sender.openReply("p2", reply)).action, "once");
    relay.report("p2", await sender.result("p2", reply.sealed, "taken"));
    await shows(".fate", /The agent has your answer/);
    await look("answered");
});

test("a button of the notification answers without a window", async () => {
    await deliver("permission", { eventID: "p3", title: "Action Needed: Publish", body: "bash: npm publish", actions: ["once", "reject"] });
    await notification("Action Needed: Publish");
    await inWorker(`(async () => {
        const shown = (await registration.getNotifications()).find(({ title }) => title === "Action Needed: Publish");
        const event = new NotificationEvent("notificationclick", { notification: shown, action: "reject" });
        event.waitUntil = () => {}; // Events created by scripts don't support it.
        dispatchEvent(event);
    })()`);
    const reply = await until("the reply", async () => relay.events.get("p3").reply);
    assert.equal((await sender.openReply("p3", reply)).action, "reject");
    relay.report("p3", await sender.result("p3", reply.sealed, "refused", "changed"));
    assert.match((await notification("Your answer wasn't taken")).body, /refused the answer. The agent now asks for something else/);
});

test("questions are answered with choices and words, and the answers shown with their fate", async () => {
    const questions = [
        { heading: "Database", text: "Which database should the service use?", allowsText: true,
            options: [{ label: "SQLite", detail: "One file, nothing to run" }, { label: "Postgres", detail: "For several servers" }] },
        { text: "Which checks run before a release?", isMultiple: true, options: ["Unit tests", "Linter", "Load test"].map((label) => ({ label })) },
        { heading: "Name", text: "What should the service be called?", allowsText: true },
        { text: "Anything else?", allowsText: true, isOptional: true },
    ];
    const end = Math.floor(Date.now() / 1000) + 600;
    await deliver("permission", { eventID: "q1", title: "Question: New service", body: "Which database should the service use?",
        sessionID: "ses_new", actions: ["reject"], request: { end, questions } });
    assert.deepEqual((await notification("Question: New service")).actions, ["reject"]);
    await shows(".list", /Question: New service.*Needs your answer/s);
    await chromium.evaluate("document.querySelector('.row').click()");
    await shows(".kicker", /Question/);
    await look("question");
    const problems = () => chromium.evaluate("[...document.querySelectorAll('.questions .problem')].map((problem) => problem.innerText)");
    await chromium.click("#answer");
    assert.deepEqual(await problems(), ["Choose an answer.", "Choose an answer.", "Write an answer.", "", ""]);
    assert.equal(await chromium.evaluate("document.activeElement.id"), "q0-0");
    assert.equal(relay.events.get("q1").reply, undefined);
    const type = (selector, words) => chromium.evaluate(`(() => { const field = document.querySelector(${JSON.stringify(selector)});
        field.value = ${JSON.stringify(words)}; field.dispatchEvent(new Event("input", { bubbles: true })); })()`);
    // The last answer to a single choice counts, whether chosen or written.
    await chromium.click("#q0-0");
    await type("#q0-own", "DuckDB");
    assert.equal(await chromium.evaluate("document.querySelector('#q0-0').checked"), false);
    await chromium.click("#q0-1");
    assert.equal(await chromium.evaluate("document.querySelector('#q0-own').value"), "");
    await chromium.click("#q1-2");
    await chromium.click("#q1-0");
    await type("#q2-own", "x".repeat(2_600));
    await chromium.click("#answer");
    await shows(".questions", /too long to be encrypted/);
    await type("#q2-own", " ledger ");
    await chromium.click("#answer");
    const reply = await until("the reply", async () => relay.events.get("q1").reply);
    const { action, answers } = await sender.openReply("q1", reply);
    assert.deepEqual([action, answers], ["answer", [["Postgres"], ["Unit tests", "Load test"], ["ledger"], []]]);
    relay.report("q1", await sender.result("q1", reply.sealed, "taken"));
    await shows(".fate", /Answered.*The agent has your answer.*Postgres.*Unit tests, Load test.*ledger.*No answer/s);
    await look("question-answered");
});

test("a request that isn't shown whole can only be rejected, and after its end nothing is offered", async () => {
    const actions = () => chromium.evaluate("[...document.querySelectorAll('[data-action]')].map(({ dataset }) => dataset.action)");
    await deliver("permission", { eventID: "cut", title: "Action Needed: Migrate", body: "bash: psql -f -\n+ drop table", sessionID: "ses_cut",
        actions: ["once", "reject"], request: { isCut: true } });
    const { body, actions: quick } = await notification("Action Needed: Migrate");
    assert.deepEqual([body, quick], ["Not shown in full\nbash: psql -f -\n+ drop table", ["reject"]]);
    await shows(".list", /Migrate/);
    await chromium.evaluate("document.querySelector('.row').click()");
    await shows(".item", /only a part of it/);
    assert.deepEqual(await actions(), ["reject"]);
    await look("cut");
    const end = Math.floor(Date.now() / 1000) + 3;
    await deliver("permission", { eventID: "over", title: "Action Needed: Soon", body: "bash: ls", sessionID: "ses_soon",
        actions: ["once", "reject"], request: { end } });
    await shows(".list", /Soon/);
    await chromium.evaluate("document.querySelector('.row').click()");
    await shows(".item h1", /Soon/);
    await shows(".item", /stopped waiting for an answer/);
    assert.deepEqual(await actions(), []);
});

test("settings, devices and the diagnosis are shown", async () => {
    await go("#/settings");
    await shows(".settings", /Ring this device/);
    await look("settings");
    await chromium.click(".cards a");
    await shows(".settings", /Last push sent.*Registered (just now|\d+ minutes? ago) · push\.example\.org/s);
    await look("pairing");
    const hours = () => chromium.evaluate("document.querySelector('[name=from]').checkVisibility()");
    assert.equal(await hours(), false);
    await chromium.click("[name=isQuiet]");
    assert.equal(await hours(), true);
    await look("quiet-hours");
    await go("#/check");
    await shows(".summary", /Nothing wrong/);
    await look("check");
});

test("a token is made, shown once, copied, and revoked after a question", async () => {
    await chromium.call("Browser.grantPermissions", { origin: relay.url, permissions: ["notifications", "clipboardReadWrite", "clipboardSanitizedWrite"] });
    await go("#/settings");
    await shows(".settings", /Ring this device/);
    await chromium.click(".cards a");
    await shows("#tokens", /There are no tokens/);
    await chromium.evaluate("void (document.querySelector('#token-name').value = 'CI <b>')");
    await chromium.click("#make-token");
    await shows("#tokens", /CI <b>.*send.*Made just now · Never used/s);
    await shows("#token", /^rt_A{43}$/);
    await look("tokens");
    await chromium.click("#copy-token");
    await shows(".settings", /Copied\./);
    assert.deepEqual(relay.tokens.map(({ shown }) => [shown.name, shown.scope]), [["CI <b>", "send"]]);
    await chromium.click("#tokens button");
    await shows("dialog", /Revoke CI <b>\?/);
    await look("token-revoke");
    await chromium.click("dialog .button");
    assert.equal(relay.tokens.length, 1);
    await chromium.click("#tokens button");
    await chromium.click("dialog .danger");
    await shows("#tokens", /There are no tokens/);
    assert.equal(await chromium.evaluate("document.querySelector('#token')"), null);
    assert.equal(relay.tokens.length, 0);
});

test("all windows show what arrives, also if there is no room to store it", async () => {
    const { targetId } = await chromium.call("Target.createTarget", { url: `${relay.url}/app/` });
    await chromium.evaluate("void (window.arrived = 0, new BroadcastChannel('apn-relay').onmessage = ({ data }) => (window.arrived += data.kind === 'arrived'))");
    await deliver("error", { eventID: "two", title: "Error: Two windows", body: "Text", sessionID: "ses_two" });
    await shows(".list", /Two windows/);
    await until("the other window", async () => /Two windows/.test(await chromium.inTarget(targetId,
        "document.querySelector('.list').innerText")));
    await chromium.call("Target.closeTarget", { targetId });
    await inWorker("void (self.put = IDBObjectStore.prototype.put, IDBObjectStore.prototype.put = function () { this.transaction.abort(); })");
    await deliver("error", { eventID: "full", title: "Error: No room", body: "x".repeat(2_000), sessionID: "ses_full" });
    assert.match((await notification("Error: No room")).body, /^xxx/);
    await until("the message to the windows", () => chromium.evaluate("window.arrived === 2"));
    assert.doesNotMatch(await text(".list"), /No room/);
    await inWorker("void (IDBObjectStore.prototype.put = self.put)");
});

test("a pairing without a key is named beside the other, and its answers are readable", async () => {
    const secret = "a-secret-without-a-key";
    const hosts = ["https://attic.tunnel.example", "http://attic.local:4096"];
    const link = { v: 1, relayURL: relay.url, relaySecret: secret, hosts, serverID: "attic", code: "Ab3_-xYz0123456789abcd" };
    await chromium.open(`${relay.url}/app/?second#pair=${encodeURIComponent(JSON.stringify(link))}`);
    await shows(".pair", /Off: this link has no key/);
    await until("the button", () => chromium.evaluate("!document.querySelector('[type=submit]').disabled"));
    await chromium.click("[type=submit]");
    await until("the registration", async () => relay.devices.length === 2);
    assert.equal(relay.devices.find((device) => device.secret === secret).entry.sealed, undefined);
    // The code opens OpenCode, including when it is scanned again, and only then.
    const opens = (code) => until("the links to OpenCode", async () => {
        const links = JSON.parse(await chromium.evaluate(
            "JSON.stringify([...document.querySelectorAll('.pair a[target]')].map(({ href, rel, innerText }) => [href, rel, innerText]))"));
        assert.deepEqual(links, hosts.map((url) => [`${url}/auth/connect/${code}`, "noreferrer", `Open OpenCode at ${new URL(url).host}`]));
        return true;
    });
    await opens(link.code);
    await look("opencode");
    assert.equal(await chromium.evaluate("location.hash"), "");
    await chromium.open(`${relay.url}/app/?again#pair=${encodeURIComponent(JSON.stringify({ ...link, code: "another" }))}`);
    await opens("another");
    await chromium.open(`${relay.url}/app/?old#pair=${encodeURIComponent(JSON.stringify({ ...link, code: undefined }))}`);
    await until("the list", () => chromium.evaluate("location.hash === '#/' && !document.querySelector('.pair')"));
    await relay.deliver(secret, { eventID: "plain", type: "permission", title: "Action needed", body: "Wants to use bash.",
        data: { eventType: "permission", serverID: "attic", sessionID: "s", eventID: "plain", actions: ["once"] } });
    const { body, actions } = await notification("Action needed");
    assert.deepEqual([body, actions], ["attic.tunnel.example\nWants to use bash.", ["once"]]);
    await until("the row", () => chromium.evaluate(
        "[...document.querySelectorAll('.row')].some((row) => row.innerText.includes('attic.tunnel.example') && (row.click(), true))"));
    await shows(".item", /the relay could read this/);
    await chromium.click("[data-action=once]");
    assert.deepEqual(await until("the reply", async () => relay.events.get("plain").reply),
        { action: "once", text: undefined, sealed: undefined });
    relay.report("plain", { outcome: "taken" });
    await shows(".fate", /The agent has your answer/);
    // An agent's question that can be answered in the person's own words.
    await relay.deliver(secret, { eventID: "ask", type: "permission", title: "Shop", body: "Which database?\n1. SQLite",
        data: { eventType: "permission", serverID: "attic", sessionID: "s", eventID: "ask", actions: ["1", "write", "reject"] } });
    assert.deepEqual((await notification("Shop")).actions, ["reject"]);
    await until("the question's row", () => chromium.evaluate(
        "[...document.querySelectorAll('.row')].some((row) => row.innerText.includes('Which database?') && (row.click(), true))"));
    await shows(".answer", /1.*Reject.*Other answer.*Send answer/s);
    await look("own-answer");
    await chromium.click("[data-action=write]");
    await shows("#write-problem", /Write an answer/);
    assert.equal(relay.events.get("ask").reply, undefined);
    await chromium.evaluate(`(() => { const field = document.querySelector("#write");
        field.value = " Postgres, as ever "; field.dispatchEvent(new Event("input", { bubbles: true })); })()`);
    await chromium.click("[data-action=write]");
    assert.deepEqual(await until("the own answer", async () => relay.events.get("ask").reply),
        { action: "write", text: "Postgres, as ever", sealed: undefined });
    relay.report("ask", { outcome: "taken" });
    await shows(".fate", /Answered.*The agent has your answer/s);
});

test("the relay's history completes the list, and reading is told to it", async () => {
    relay.keepsHistory = true;
    const old = await sender.event("complete", { eventID: "old", title: "While the page was closed", body: "A week ago",
        sentAt: Math.floor(Date.now() / 1000) - 7 * 86_400 });
    relay.history.push({ id: "h-old", secret: sender.secret, createdAt: new Date(Date.now() - 7 * 86_400_000).toISOString(),
        eventType: "complete", eventID: "old", sealed: old.data.sealed });
    await chromium.open(`${relay.url}/app/`);
    await shows(".list", /While the page was closed/);
    await until("what was read", async () => relay.history.find(({ eventID }) => eventID === "p2").readAt);
    await chromium.click("#read-all");
    await until("all read", async () => relay.history.every(({ readAt }) => readAt));
});

test("a relay's garbage, huge answers and HTML do nothing", async () => {
    const html = '<img src=x onerror="window.ran=1"><svg onload="window.ran=1">';
    const history = (items) => JSON.stringify({ ok: true, unread: 0, items });
    const item = { id: html, createdAt: new Date().toISOString(), eventType: html, title: html, body: html, sessionID: html,
        eventID: html };
    const lies = [
        ["/v1/history/list", ["", "null", "[]", '{"ok":true}', '{"ok":true,"items":{"length":5}}',
            history([null, 5, {}, { ...item, createdAt: {} }]), `{"ok":true,"items":[${"0,".repeat(3_000_000)}0]}`, history([item])]],
        ["/v1/device/list", ["5", '{"ok":true,"devices":5}', JSON.stringify({ ok: true,
            devices: [null, 5, { deviceName: html, device: {}, lastPush: html }] })]],
        ["/v1/webpush/key", ["x", '{"ok":true,"publicKey":{}}', '{"ok":true,"publicKey":"AAAA"}']],
        ["/v1/token/list", ["5", '{"ok":true,"tokens":5}', JSON.stringify({ ok: true,
            tokens: [null, 5, { name: html, scope: html, tokenID: {}, createdAt: {}, usedAt: html, expiresAt: html }] })]],
        ["/ready", ["x", '{"checks":{"<b>":{}}}', '{"checks":5}']],
    ];
    for (let round = 0; round < 8; round++) {
        for (const [path, answers] of lies) relay.lies.set(path, answers[round % answers.length]);
        await chromium.open(`${relay.url}/app/?${round}#/check`);
        await shows(".summary", /problem|wrong/);
    }
    await go("#/");
    await shows(".list", /<img src=x/);
    await chromium.click(".row");
    await shows(".item h1", /<img src=x/);
    relay.lies.set("/v1/device/list", lies[1][1][2]);
    relay.lies.set("/v1/token/list", lies[3][1][2]);
    await go(`#/settings/${await chromium.evaluate("new Promise((done) => { indexedDB.open('apn-relay').onsuccess = ({ target }) => { target.result.transaction('pairings').objectStore('pairings').getAllKeys().onsuccess = (event) => { target.result.close(); done(event.target.result[0]); }; }; })")}`);
    await shows(".settings", /<img src=x/);
    await shows("#tokens", /<img src=x/);
    assert.equal(await chromium.evaluate("window.ran ?? document.querySelectorAll('main img, main svg[onload]').length"), 0);
    relay.lies.clear();
});

test("offline, the page opens and shows what it has", async () => {
    relay.isDown = true;
    await chromium.call("Network.emulateNetworkConditions", { offline: true, latency: 0, downloadThroughput: 0, uploadThroughput: 0 });
    await chromium.open(`${relay.url}/app/?offline`);
    await shows(".list", /Fix auth bug/);
    assert.equal(await chromium.evaluate("document.querySelector('.notice').hidden"), false);
    await look("offline");
    await go("#/check");
    await shows(".summary", /problem/);
    await look("check-offline");
    await chromium.call("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
    relay.isDown = false;
});

test("on iOS the link goes to the app on the home screen, where it pairs", async () => {
    const other = await Sender.make(relay.url, "phone.local");
    const ios = async (isApp) => chromium.call("Page.addScriptToEvaluateOnNewDocument", {
        source: `Object.defineProperty(navigator, "standalone", { value: ${isApp} }); Object.defineProperty(navigator, "maxTouchPoints", { value: 5 });`,
    });
    const { identifier } = await ios(false);
    const { length } = relay.requests;
    await chromium.open(other.link(relay.url).replace("#", "?ios#"));
    await shows(".pair h1", /Add to your Home Screen/);
    await look("home");
    assert.equal(await chromium.evaluate("document.querySelector('link[rel=manifest]').getAttribute('href')"), "home.webmanifest");
    assert.match(await chromium.evaluate("location.hash"), /^#pair=/);
    assert.ok(!relay.requests.slice(length).some(({ text }) => text.includes(other.secret)));
    await chromium.call("Page.removeScriptToEvaluateOnNewDocument", { identifier });
    await ios(true);
    await chromium.open(other.link(relay.url).replace("#", "?app#"));
    await until("the button",
        () => chromium.evaluate("document.querySelector('#name') && !document.querySelector('[type=submit]').disabled"));
    await chromium.click("[type=submit]");
    await until("the registration", async () => relay.devices.some(({ secret }) => secret === other.secret));
    await until("no secret in the address", async () => !(await chromium.evaluate("location.href")).includes("pair="));
    // The app starts with the link each time.
    await chromium.open(other.link(relay.url).replace("#", "?again#"));
    await until("the list", () => chromium.evaluate("location.hash === '#/' && document.body.dataset.page === 'list'"));
});

test("the camera reads a pairing code under the page's policy, and stops afterwards", async () => {
    const other = await Sender.make(relay.url, "camera.local");
    const permissions = (list) => chromium.call("Browser.grantPermissions", { origin: relay.url, permissions: list });
    // Chromium on Linux reads no codes; the picture is that of a real, though made-up, camera.
    await chromium.call("Page.addScriptToEvaluateOnNewDocument", { source: `window.BarcodeDetector = class {
        static getSupportedFormats = async () => ["qr_code"];
        async detect({ srcObject, videoWidth }) {
            [window.track] = srcObject.getVideoTracks();
            return videoWidth > 0 && window.code ? [{ rawValue: window.code }] : [];
        }
    }` });
    const isLive = () => chromium.evaluate("window.track?.readyState === 'live'");
    const start = async () => {
        await until("the button", () => chromium.evaluate("document.querySelector('#scan')?.checkVisibility()"));
        await chromium.click("#scan");
    };
    await chromium.open(`${relay.url}/app/?camera#/pair`);
    await chromium.call("Browser.setPermission", { permission: { name: "camera" }, setting: "denied", origin: relay.url });
    await start();
    await shows(".scan", /camera is blocked for this page\. Allow it/);
    await permissions(["notifications", "videoCapture"]);
    await start();
    await until("the camera", isLive);
    await chromium.click(".scan button");
    await until("the camera is off", async () => !(await isLive()));
    await start();
    await until("the camera", isLive);
    await chromium.evaluate("void (window.code = 'https://example.org/')");
    await shows(".scan", /isn't a pairing code/);
    await look("scan");
    await go("#/settings");
    await until("the camera is off", async () => !(await isLive()));
    await go("#/pair");
    await chromium.evaluate(`void (window.code = ${JSON.stringify(other.link(relay.url))})`);
    await start();
    await until("the name", async () => (await chromium.evaluate("document.querySelector('#name')?.value")) === "camera.local");
    assert.equal(await isLive(), false);
    await chromium.evaluate("void (navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('', 'NotFoundError'); })");
    await go("#/settings");
    await go("#/pair");
    await start();
    await shows(".scan", /has no camera/);
});

test("nothing violated the policy, and nothing threw", () => {
    assert.deepEqual(relay.violations, []);
    assert.deepEqual(chromium.complaints, []);
});
