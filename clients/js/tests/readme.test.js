import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as client from "../node.js";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const declarations = readFileSync(new URL("../index.d.ts", import.meta.url), "utf8");
const blocks = [...readme.matchAll(/```(?:js|ts)\n(.*?)```/gs)].map(([, code]) => code);

test("everything that README.md imports is exported and declared", () => {
    const names = blocks.flatMap((code) =>
        [...code.matchAll(/import \{([^}]*)\} from "apn-relay-client"/g)].flatMap(([, list]) => list.split(",")));
    assert.ok(names.length >= 7);
    for (const name of names.map((name) => name.trim()).filter((name) => !name.startsWith("type "))) assert.ok(name in client, name);
    for (const name of Object.keys(client)) {
        assert.match(declarations, new RegExp(`export (class|const|function) ${name}\\b`), name);
    }
});

test("the example of a sender does what it says", async () => {
    const requests = [];
    const example = blocks[0].replace(/import .*\n/, "")
        .replaceAll("Relay.of(pairing)", "Relay.of(pairing, { fetch: answering })");
    const answering = async (url, request) => {
        requests.push([url, JSON.parse(request.body)]);
        return new Response('{"ok":true,"sent":1,"failed":0,"queued":0}');
    };
    const { webcrypto: crypto } = await import("node:crypto");
    const lines = [];
    const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
    const names = ["Envelope", "Pairing", "Relay", "answering", "crypto", "console"];
    const link = await new AsyncFunction(...names, `${example}; return link;`)(
        client.Envelope, client.Pairing, client.Relay, answering, crypto, { log: (line) => lines.push(line) });
    const [[url, body]] = requests;
    assert.equal(url, "https://relay.example.org/v1/event");
    assert.deepEqual(Object.keys(body), ["secret", "eventType", "sessionID", "eventID", "sealed"]);
    const { keys } = await client.Pairing.parse(link);
    const { content } = await client.Envelope.open({ keys, type: "complete", sealed: body.sealed });
    assert.deepEqual([content.title, content.eventID], ["Fix auth bug", body.eventID]);
    assert.deepEqual(lines, ["sent 1, failed 0, queued 0"]);
});

test("the example of a page subscribes in the click, and anew when the relay has another key", async () => {
    const code = blocks.find((code) => code.includes("button.onclick"));
    const key = (byte) => Buffer.from([4, ...Array(64).fill(byte)]).toString("base64url");
    const requests = [];
    let relayKey = key(7);
    const answering = async (url, { method, body }) => {
        if (method === "POST") requests.push([new URL(url).pathname, JSON.parse(body).webPush]);
        return new Response(JSON.stringify({ ok: true, publicKey: relayKey, keyID: "k" }));
    };
    let subscription = null;
    let count = 0;
    const pushManager = {
        getSubscription: async () => subscription,
        subscribe: async ({ applicationServerKey }) => (subscription = {
            endpoint: `https://push.example.org/${++count}`, options: { applicationServerKey: applicationServerKey.buffer },
            toJSON() { return { endpoint: this.endpoint, keys: { p256dh: "a", auth: "b" } }; }, unsubscribe: async () => true,
        }),
    };
    const { MemoryStore } = await import("./memory-store.js");
    const link = (await client.Pairing.make({ hosts: ["a"], relayURL: "https://relay.example.org" })).link();
    const given = {
        ...client, link, navigator: { serviceWorker: { ready: { pushManager } } }, store: new MemoryStore(), secrets: new MemoryStore(),
        deviceID: "d", location: { href: "https://relay.example.org/app/#pair=secret" }, button: {},
    };
    const fetchBefore = globalThis.fetch;
    globalThis.fetch = answering;
    try {
        const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
        const renew = await new AsyncFunction(...Object.keys(given), `${code.replace(/import .*\n/, "")}; return renew;`)(...Object.values(given));
        await renew();
        assert.equal(requests.length, 0);
        await given.button.onclick();
        await renew();
        relayKey = key(8);
        await renew();
    } finally {
        globalThis.fetch = fetchBefore;
    }
    const webPush = (number) => ({
        endpoint: `https://push.example.org/${number}`, keys: { p256dh: "a", auth: "b" }, page: "https://relay.example.org/app/" });
    assert.deepEqual(requests, [
        ["/v1/device/register", webPush(1)], ["/v1/device/register", webPush(1)], ["/v1/device/register", webPush(2)],
        ["/v1/device/unregister", { endpoint: "https://push.example.org/1" }],
    ]);
});

test("the examples in JavaScript have no syntax errors", () => {
    for (const [, code] of readme.matchAll(/```js\n(.*?)```/gs)) {
        const body = code.replace(/^import .*$/gm, "").replace(/^export /gm, "");
        assert.doesNotThrow(() => new Function(`return async () => {${body}}`));
    }
});
