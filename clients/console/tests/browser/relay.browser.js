// The console of the real relay, in Firefox and in Chromium at once: two operators who see and change the same relay.
import assert from "node:assert/strict";
import { createECDH } from "node:crypto";
import { after, before, test } from "node:test";
import { Chromium } from "../../../web/tests/browser/chromium.js";
import { Firefox } from "../../../web/tests/browser/firefox.js";
import { Program } from "../../../web/tests/browser/program.js";
import { Relay } from "../../../web/tests/browser/relay.js";
import { until } from "../../../web/tests/browser/wait.js";

const token = "a-token-of-the-test";
const secret = "a-secret-of-the-test-of-the-console";
let relay;
let admin;
let browsers;

const text = (browser, selector) => browser.evaluate(`document.querySelector(${JSON.stringify(selector)})?.innerText`);
const shows = (browser, selector, pattern) => until(`${selector} shows ${pattern}`, async () => {
    const shown = await text(browser, selector);
    if (typeof shown !== "string" || !pattern.test(shown)) throw new Error(`it shows ${shown}`);
    return true;
});
const both = (body) => Promise.all(browsers.map(body));

before(async () => {
    relay = await Program.start(Relay, { RELAY_ADMIN_LISTEN: "127.0.0.1:0", RELAY_ADMIN_TOKEN: token, RELAY_SECRET_PEPPER: "0123456789abcdef0123456789abcdef" });
    admin = JSON.parse(relay.output.split("\n").find((line) => line.includes('"event":"start"'))).admin;
    browsers = await Promise.all([Program.start(Firefox, relay.pushURL), Program.start(Chromium)]);
});
after(async () => {
    await Promise.all((browsers ?? []).map((browser) => browser.stop()));
    await relay?.stop();
});

test("the public listener doesn't serve the console", async () => {
    for (const path of ["/", "/src/main.js", "/v1/admin/overview"]) assert.equal((await fetch(relay.url + path)).status, 404, path);
});

test("the JSON needs the token, and the page doesn't", async () => {
    for (const path of ["overview", "apps", "settings", "tenants", "tenant", "push", "queue"]) assert.equal((await fetch(`${admin}/v1/admin/${path}`)).status, 401, path);
    const page = await fetch(`${admin}/`);
    assert.equal(page.status, 200);
    assert.match(page.headers.get("content-security-policy"), /^default-src 'none'; script-src 'self'/);
    const again = await fetch(`${admin}/`, { headers: { "If-None-Match": page.headers.get("etag") } });
    assert.equal(again.status, 304);
});

test("both operators sign in and see what the relay does", async () => {
    await relay.post("/v1/event", { secret, eventType: "complete", sessionID: "ses_1", title: "Hello" });
    await both(async (browser) => {
        await browser.open(`${admin}/`);
        await shows(browser, "main", /Sign in/);
        await browser.evaluate(`void (document.querySelector("#token").value = ${JSON.stringify(token)})`);
        await browser.click(".primary");
        await shows(browser, "main", /Database\s+ok\s+answers/);
        await shows(browser, "main", /This relay.*Started/s);
    });
    // The first interval of the relay ends ten seconds after its start.
    await both((browser) => until("the first minute", async () => /\d \/ min/.test(await text(browser, ".tiles")), 60_000));
});

test("the configuration has no secret, and a change of one operator is seen by the other", async () => {
    await both(async (browser) => {
        await browser.evaluate("void (location.hash = '#/settings')");
        await shows(browser, "main", /RELAY_ADMIN_TOKEN.*set, not shown/s);
        const page = await browser.evaluate("document.body.innerText");
        for (const hidden of [token, "0123456789abcdef"]) assert.ok(!page.includes(hidden));
    });
    const [firefox, chromium] = browsers;
    await firefox.evaluate("void (document.querySelector('#level').value = 'warning')");
    await firefox.click("form .button");
    await shows(firefox, ".notices", /The log level is warning/);
    await chromium.evaluate("void (location.hash = '#/')");
    await shows(chromium, "main", /Pushes sent/);
    await chromium.evaluate("void (location.hash = '#/settings')");
    await until("the level", () => chromium.evaluate("document.querySelector('#level')?.value === 'warning'"));
});

test("a tenant that one operator blocks is blocked for the other, and an event is followed", async () => {
    const event = { secret, eventType: "complete", sessionID: "ses_2", eventID: "turn 1", title: "Hello" };
    await relay.post("/v1/event", event);
    const [firefox, chromium] = browsers;
    await both(async (browser) => {
        await browser.evaluate("void (location.hash = '#/tenants')");
        await shows(browser, "main", /Recently active.*\d+\s+0\s+0\s+ok/s);
        await browser.evaluate("void document.querySelector('td a').click()");
        await shows(browser, "main", /not blocked.*No device is registered/s);
    });
    await firefox.evaluate("void [...document.querySelectorAll('main button')].find(({ innerText }) => innerText === 'Block…').click()");
    await firefox.click("dialog .danger");
    await shows(firefox, "main", /Unblock/);
    await shows(firefox, ".notices", /is blocked/);
    // The other operator's page polls by itself.
    await until("the block", async () => /from the console/.test(await text(chromium, "main")), 60_000);
    assert.equal((await relay.post("/v1/event", event)).code, "blocked");
    await chromium.evaluate("void [...document.querySelectorAll('main button')].find(({ innerText }) => innerText === 'Unblock').click()");
    await shows(chromium, ".notices", /no longer blocked/);
    assert.notEqual((await relay.post("/v1/event", event)).code, "blocked");
    await chromium.evaluate("void (location.hash = '#/push/turn%201')");
    await shows(chromium, "main", /The event reached no device|Nothing found/);
    await chromium.evaluate("void (location.hash = '#/queue')");
    await shows(chromium, "main", /Nothing waits.*Nothing is scheduled/s);
    assert.ok(!(await text(chromium, "main")).includes(secret));
});

test("a token that one operator revokes is refused", async () => {
    const keys = { p256dh: createECDH("prime256v1").generateKeys().toString("base64url"), auth: "A".repeat(22) };
    const registered = await relay.post("/v1/device/register", { secret, webPush: { endpoint: `${relay.push.origin}/one`, keys } });
    assert.equal(registered.ok, true, registered.error);
    const { token: made, error } = await relay.post("/v1/token/create", { secret, scope: "send", name: "CI" });
    assert.equal(error, undefined);
    const ring = async () => (await fetch(`${relay.url}/v1/notify`, { method: "POST", headers: { authorization: `Bearer ${made}` }, body: '{"title":"t"}' })).status;
    assert.equal(await ring(), 200);
    const [firefox, chromium] = browsers;
    await both(async (browser) => {
        await browser.evaluate("void (location.hash = '#/tenants')");
        await shows(browser, "main", /Recently active/);
        await browser.evaluate("void document.querySelector('td a').click()");
        await shows(browser, "main", /Access tokens.*CI\s+send/s);
        assert.ok(!(await text(browser, "main")).includes(made));
    });
    await firefox.evaluate("void [...document.querySelectorAll('main button')].find(({ innerText }) => innerText === 'Revoke token…').click()");
    await firefox.click("dialog .danger");
    await shows(firefox, ".notices", /The token CI is revoked/);
    await shows(chromium, "main", /There are no tokens/);
    assert.equal(await ring(), 401);
});

test("no script failed", () => {
    assert.deepEqual(browsers[1].complaints, []);
});
