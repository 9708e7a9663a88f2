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

test("the examples in JavaScript have no syntax errors", () => {
    for (const [, code] of readme.matchAll(/```js\n(.*?)```/gs)) {
        const body = code.replace(/^import .*$/gm, "").replace(/^export /gm, "");
        assert.doesNotThrow(() => new Function(`return async () => {${body}}`));
    }
});
