// The console in Chromium, served by a stand-in: every view in every size, hostile data, failures, and screenshots.
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { accessibility, sizes } from "../../../web/tests/browser/accessibility.js";
import { Chromium } from "../../../web/tests/browser/chromium.js";
import { Program } from "../../../web/tests/browser/program.js";
import { until } from "../../../web/tests/browser/wait.js";
import { apps, busyHour, hash, overview, push, queue, settings, StandIn, tenant, tenants } from "./stand-in.js";

const screenshots = process.env.SCREENSHOTS;
const hostile = "<img src=x onerror=\"document.title='hacked'\">‮\u0000\n'\"]});//" + "w".repeat(300);
const samples = busyHour();
let relay;
let chromium;

const text = (selector) => chromium.evaluate(`document.querySelector(${JSON.stringify(selector)})?.innerText`);
const shows = (selector, pattern) => until(`${selector} shows ${pattern}`, async () => {
    const shown = await text(selector);
    if (typeof shown !== "string" || !pattern.test(shown)) throw new Error(`it shows ${shown}; ${chromium.complaints.join("; ")}`);
    return true;
});
const set = (selector, value) => chromium.evaluate(`(() => { const field = document.querySelector(${JSON.stringify(selector)});
    field.value = ${JSON.stringify(value)}; field.dispatchEvent(new Event("input", { bubbles: true })); })()`);

/** Reopens a view. */
async function open(hash, pattern) {
    await chromium.open("about:blank");
    await chromium.open(`${relay.url}/#/${hash}`);
    if (pattern) await shows("main", pattern);
}

/** Looks at a view in every size: nothing may be too pale, unnamed or too wide. */
async function look(name) {
    for (const size of sizes) {
        const height = size.width > 600 ? 1_000 : size.height;
        await chromium.resize({ ...size, height });
        await chromium.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
        assert.deepEqual(await chromium.evaluate(accessibility(size.width)), [], `${name} ${size.name}`);
        if (screenshots) await writeFile(join(screenshots, `${name}-${size.name}.png`), await chromium.screenshot());
    }
    // The whole page, however long; the first is the picture of docs/operate/console.md.
    if (screenshots) {
        await chromium.resize({ width: 1_280, height: Math.min(await chromium.evaluate("document.documentElement.scrollHeight"), 4_000), scheme: "light" });
        await chromium.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
        await writeFile(join(screenshots, `${name}.png`), await chromium.screenshot());
    }
    await chromium.resize({ width: 1_280, height: 1_000, scheme: "light" });
}

before(async () => {
    if (screenshots) await mkdir(screenshots, { recursive: true });
    relay = await StandIn.start();
    chromium = await Program.start(Chromium);
});
beforeEach(() => {
    relay.isDown = false;
    relay.token = undefined;
    relay.requests.length = 0;
    const made = overview(samples);
    relay.answers = new Map([["/v1/admin/overview", (parameters) => made(Object.fromEntries(parameters))], ["/v1/admin/apps", apps()],
        ["/v1/admin/settings", settings], ["/v1/admin/tenants", tenants()], ["/v1/admin/tenant", tenant()], ["/v1/admin/push", push()],
        ["/v1/admin/queue", queue()]]);
});
after(async () => {
    await chromium?.stop();
    await relay?.stop();
});

test("the overview shows an hour that the relay kept, and asks only for what is new", async () => {
    await open("", /Pushes sent/);
    await shows(".tiles", /\d+ \/ min.*in the last hour/s);
    await shows("main", /com\.example\.beta.*TopicDisallowed.*Unknown secrets of an address\s+17,420/s);
    assert.ok(await chromium.evaluate("document.querySelectorAll('rect.sent').length") >= 60);
    await until("the next request", async () => relay.requests.some(({ path }) => path === "/v1/admin/overview?after=360"));
    await look("overview");
});

test("the values of a minute are shown under the pointer", async () => {
    await open("", /Pushes sent/);
    await until("the bars", () => chromium.evaluate("document.querySelectorAll('rect.sent').length > 0"));
    const { x, y } = await chromium.evaluate("(({ x, y, width, height }) => ({ x: x + width / 2, y: y + height / 2 }))(document.querySelector('.plot').getBoundingClientRect())");
    await chromium.call("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
    await shows(".when", /^\d\d:\d\d$/);
    assert.equal(await chromium.evaluate("document.querySelectorAll('.cursor').length"), 1);
});

test("a relay that isn't ready, and one without traffic, look like it", async () => {
    const made = overview(samples.slice(-1).map((sample) => ({ ...sample, events: [0, 0, 0], apns: [0, 0, 0, 0], webPush: [0, 0, 0, 0],
        responses: [], attempts: [], waiting: 0, connections: 0 })), {
        apps: [], totals: { events: [0, 0, 0], limits: {} },
        checks: [{ name: "storage", fault: "unavailable" }, { name: "write", fault: "unknown" }, { name: "apns", fault: "InvalidProviderToken" }],
    });
    relay.answers.set("/v1/admin/overview", made);
    await open("", /The relay isn't ready\..*Database: The database doesn't answer.*APNs answers InvalidProviderToken/s);
    await shows("main", /No pushes in the last hour/);
    await shows("main", /No limit was hit\./);
    await look("not-ready");
});

test("apps, keys and what expires are shown", async () => {
    await open("apps", /1,204,331.*Unregistered failed, 1,204.*NO_ERROR.*in 20 d 23 h|in 21 d/s);
    await look("apps");
});

test("the configuration is shown without secrets, and the log level changes", async () => {
    await open("settings", /RELAY_ADMIN_TOKEN.*set, not shown.*RELAY_ADMIN_TOKEN_FILE in \/etc/s);
    await look("settings");
    await set("#level", "debug");
    await chromium.click("form .button");
    await shows(".notices", /The log level is debug until the relay restarts/);
    const change = relay.requests.find(({ method }) => method === "PUT");
    assert.deepEqual([change.body, change.headers["content-type"]], ['{"level":"debug"}', "application/json"]);
    await chromium.click("#only");
    await until("fewer settings", async () => !/HTTPS_PROXY/.test(await text("main")));
});

test("tenants are listed, found by digits, blocked and revoked after a question", async () => {
    await open("tenants", /Recently active.*1,204.*blocked.*Blocked.*spam from a broken script/s);
    await look("tenants");
    relay.answers.set("/v1/admin/tenants", (parameters) => tenants(parameters.get("secret") === "9f86d081" && { found: [{ secret: hash.slice(0, 12), secretHash: hash }] }));
    await set("#secret", "9f86d081");
    await chromium.click("form .button");
    await shows("main", /Secret hash.*9f86d081884c7d65.*…991de8f0.*ServiceUnavailable|Unregistered/s);
    await look("tenant");
    await chromium.evaluate("void [...document.querySelectorAll('main button')].find(({ innerText }) => innerText === 'Block…').click()");
    await shows("dialog", /Every relay of this database refuses/);
    await look("tenant-block");
    await chromium.click("dialog .button");
    assert.equal(relay.requests.filter(({ method }) => method === "POST").length, 0);
    relay.answers.set("/v1/secret/block", { ok: true });
    relay.answers.set("/v1/admin/tenant", tenant({ block: { since: Date.now(), note: "from the console" } }));
    await chromium.evaluate("void [...document.querySelectorAll('main button')].find(({ innerText }) => innerText === 'Block…').click()");
    await chromium.click("dialog .danger");
    await shows(".notices", /is blocked/);
    await shows("main", /blocked since.*from the console.*Unblock/s);
    relay.answers.set("/v1/secret/revoke", { ok: true, devices: 2, pushes: 1, receipts: 0 });
    await chromium.evaluate("void [...document.querySelectorAll('main button')].find(({ innerText }) => innerText === 'Revoke…').click()");
    await chromium.click("dialog .danger");
    await shows(".notices", /is revoked: 2 devices and 1 queued pushes/);
    const changes = relay.requests.filter(({ method }) => method === "POST").map(({ path, body }) => [path, JSON.parse(body).secretHash]);
    assert.deepEqual(changes, [["/v1/secret/block", hash], ["/v1/secret/revoke", hash]]);
});

test("a tenant's tokens are listed, and one is revoked after a question", async () => {
    relay.answers.set("/v1/admin/tenant", tenant());
    relay.answers.set("/v1/token/revoke", { ok: true, revoked: 1 });
    await open(`tenants/${hash}`, /Access tokens.*CI\s+send.*Dashboard\s+read/s);
    const press = () => chromium.evaluate("void [...document.querySelectorAll('main button')].find(({ innerText }) => innerText === 'Revoke token…').click()");
    const revocations = () => relay.requests.filter(({ path }) => path === "/v1/token/revoke").map(({ body }) => JSON.parse(body));
    await press();
    await shows("dialog", /Revoke the token CI\?/);
    await look("tenant-token");
    await chromium.click("dialog .button");
    assert.deepEqual(revocations(), []);
    await press();
    await chromium.click("dialog .danger");
    await shows(".notices", /The token CI is revoked/);
    assert.deepEqual(revocations(), [{ secretHash: hash, tokenID: tenant().tokens[0].id }]);
});

test("without a token nothing can be changed, and a refusal is shown", async () => {
    relay.answers.set("/v1/admin/tenant", tenant({ canChange: false, secretHash: undefined }));
    await open("tenants/9f86d081884c", /Set RELAY_ADMIN_TOKEN to block/);
    assert.equal(await chromium.evaluate("document.querySelectorAll('main button').length"), 0);
    relay.answers.set("/v1/admin/tenant", tenant());
    relay.answers.set("/v1/secret/revoke", { status: 503, error: "The database is unavailable." });
    await open(`tenants/${hash}`, /Revoke/);
    await chromium.evaluate("void [...document.querySelectorAll('main button')].find(({ innerText }) => innerText === 'Revoke…').click()");
    await chromium.click("dialog .danger");
    await shows(".notices", /The database is unavailable/);
});

test("a push is followed hop by hop", async () => {
    await open("push", /What to look for/);
    await set("#id", "per_1 & more");
    await chromium.click("form .button");
    await shows("main", /Received.*Queued.*ServiceUnavailable.*Sent.*Acknowledged.*No push to.*muted/s);
    assert.ok(relay.requests.some(({ path }) => path === "/v1/admin/push?id=per_1%20%26%20more"));
    await look("push");
    relay.answers.set("/v1/admin/push", { now: Date.now(), searched: 3, found: [] });
    await open("push/unknown", /3 tenants have no such event, push or device/);
});

test("the queue and schedules are shown, and pages turn", async () => {
    await open("queue", /About 2,040 pushes are waiting.*being sent.*ServiceUnavailable|complete.*Schedules/s);
    await look("queue");
    await chromium.evaluate("void [...document.querySelectorAll('main button')].find(({ innerText }) => innerText === 'Next page').click()");
    await until("the next page", async () => relay.requests.some(({ path }) => /[?&]after=1-a-b$/.test(path)));
    relay.answers.set("/v1/admin/queue", queue({ waiting: 0, pushes: [], schedules: [], next: undefined, occurrences: {}, nextScheduleDue: undefined }));
    await open("queue", /Nothing waits\..*No schedule is due\..*Nothing is scheduled\./s);
    await look("queue-empty");
});

test("hostile texts stay texts", async () => {
    const made = overview(samples, { version: hostile, database: hostile, apps: [{ app: hostile, environment: hostile, fault: hostile }],
        checks: [{ name: hostile, fault: hostile }], totals: { limits: { [hostile]: 3 } } });
    relay.answers.set("/v1/admin/overview", made);
    relay.answers.set("/v1/admin/apps", apps({ defaultApp: hostile, webPushKey: hostile,
        apps: [{ transport: "apns", environment: hostile, app: hostile, key: hostile, fault: hostile, results: [{ result: "failed", reason: hostile, count: 1 }] }],
        keys: [{ team: hostile, key: hostile, environment: hostile, open: 1, connecting: 0, inFlight: 0, waiting: 0, opened: 1, failed: 0, goAways: { [hostile]: 1 } }] }));
    relay.answers.set("/v1/admin/settings", { settings: [{ name: hostile, group: hostile, summary: hostile, value: hostile, place: hostile, default: hostile }] });
    relay.answers.set("/v1/admin/tenants", tenants({ blocked: [{ secret: hostile, secretHash: hostile, since: 1, note: hostile }],
        recent: [{ secret: hostile, secretHash: hostile, at: 1, events: 1, others: 1, limited: 1 }] }));
    const row = { id: hostile, device: hostile, eventType: hostile, reason: hostile, status: "failed", app: hostile, environment: hostile, transport: hostile,
        kind: hostile, lastOutcome: hostile, attempts: 1, dueAt: 1, expiresAt: 1, createdAt: 1, updatedAt: 1, at: 1, nextAt: 9e18, skipped: 1, secret: hostile };
    relay.answers.set("/v1/admin/tenant", tenant({ secret: hostile, secretHash: hostile, block: { since: 1, note: hostile }, devices: [row], deliveries: [row], waiting: [row], schedules: [row], tokens: [{ ...row, name: hostile, scope: hostile, usedAt: 1 }] }));
    relay.answers.set("/v1/admin/push", { now: 1, searched: 1, found: [{ secret: hostile, pushes: [{ id: hostile, device: hostile, response: hostile, responseReason: hostile, waiting: row, ended: row }],
        unmade: [{ device: hostile, response: hostile, responseReason: hostile }] }] });
    relay.answers.set("/v1/admin/queue", queue({ pushes: [row], schedules: [row], occurrences: { [hostile]: 1 } }));
    for (const view of ["", "apps", "settings", "tenants", "tenants/x", "push/x", "queue"]) {
        await open(view, /<img src=x onerror/);
        assert.equal(await chromium.evaluate("document.querySelectorAll('img[src=x]').length"), 0);
        assert.match(await chromium.evaluate("document.title"), /Relay console/);
        await look(`hostile-${view.replace("/", "-") || "overview"}`);
    }
});

test("a token is asked for once, kept in the tab, and sent as Bearer", async () => {
    relay.token = "token-of-the-test";
    await open("", /Sign in/);
    await look("sign-in");
    await set("#token", "wrong");
    await chromium.click(".primary");
    await shows(".sign-in", /refuses this token/);
    await set("#token", relay.token);
    await chromium.click(".primary");
    await shows("main", /Pushes sent/);
    assert.equal(relay.requests.at(-1).headers.authorization, `Bearer ${relay.token}`);
    await chromium.evaluate("void (location.hash = '#/apps')");
    await shows("main", /Keys of APNs/);
    assert.deepEqual(await chromium.evaluate("[sessionStorage.length, localStorage.length, document.cookie]"), [1, 0, ""]);
    await chromium.evaluate("void [...document.querySelectorAll('header button')].find(({ innerText }) => innerText === 'Sign out').click()");
    await shows("main", /Sign in/);
    assert.equal(await chromium.evaluate("sessionStorage.length"), 0);
});

test("a relay that is away is said to be, what was shown stays, and the page recovers", async () => {
    await open("", /Pushes sent/);
    await shows(".tiles", /\/ min/);
    relay.isDown = true;
    await shows("main", /The relay doesn't answer\. Trying again in ((10|20|40) s|1 min)/);
    assert.match(await text(".tiles"), /\/ min/);
    await look("away");
    relay.isDown = false;
    await shows("header", /Updated \d/);
    await until("no banner", async () => !/doesn't answer/.test(await text("main")));
    relay.answers.set("/v1/admin/apps", { status: 503, error: "The database is not available." });
    await chromium.evaluate("void (location.hash = '#/apps')");
    await shows("main", /The database is not available\. Trying again in 20 s/);
});

test("nothing violated the policy, and no script failed", () => {
    assert.deepEqual(relay.violations, []);
    assert.deepEqual(chromium.complaints, []);
});
