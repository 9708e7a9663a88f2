import { useRelay } from "./setup.js";
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Presence } from "../src/presence.js";

const pairings = [
    { relayURL: "https://r.example", relaySecret: "one" }, { relayURL: "https://old.example", relaySecret: "two" },
];

test("the page reports at once and every minute while it is visible, and once when it no longer is", async () => {
    mock.timers.enable({ apis: ["setInterval"] });
    const requests = useRelay((path, { secret }) => (secret === "two" ? { status: 404, ok: false, code: "not_found" } : { ok: true }));
    const page = { hidden: false };
    const presence = new Presence(() => pairings, page);
    const seen = () => requests.splice(0).map(({ path, body }) => [path, body.secret, body.seconds, typeof body.deviceID]);
    const settled = () => new Promise((resolve) => setImmediate(resolve));
    await presence.update();
    // A relay that doesn't know the route isn't asked again.
    assert.deepEqual(seen().sort(), [["/v1/presence", "one", 90, "string"], ["/v1/presence", "two", 90, "string"]]);
    await presence.update();
    assert.deepEqual(seen(), []);
    mock.timers.tick(60_000);
    await settled();
    assert.deepEqual(seen(), [["/v1/presence", "one", 90, "string"]]);
    page.hidden = true;
    await presence.update();
    assert.deepEqual(seen(), [["/v1/presence", "one", 0, "string"]]);
    mock.timers.tick(120_000);
    await presence.update();
    await settled();
    assert.deepEqual(seen(), []);
    mock.timers.reset();
});
