import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { bytes, compact, count, counted, duration, moment, percent, shortDuration } from "../src/format.js";
import { life } from "../src/life.js";
import { delay } from "../src/poll.js";
import { Hour, quantile, roundUp, total } from "../src/series.js";
import { check } from "../src/words.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const bounds = [1, 2, 5];
const sample = (number, time, members = {}) => ({ number, time, events: [0, 0, 0], apns: [0, 0, 0, 0], webPush: [0, 0, 0, 0], settled: [0, 0],
    limited: 0, responses: [], attempts: [], waiting: 0, oldestDueAge: 0, connections: 0, pushesInFlight: 0, ...members });

test("samples of ten seconds become minutes that end with the newest", () => {
    const hour = new Hour();
    const start = 1_000_000_000;
    const samples = Array.from({ length: 12 }, (_, place) => sample(place + 1, start + place * 10_000,
        { events: [place, 1, 0], waiting: place, responses: place % 2 ? [] : [1, 0, 2] }));
    assert.equal(hour.add({ startedAt: 1, samples }), true);
    const minutes = hour.minutes();
    assert.equal(minutes.length, 60);
    assert.equal(minutes.filter(Boolean).length, 2);
    const [before, last] = minutes.slice(-2);
    assert.deepEqual([before.events, last.events], [[15, 6, 0], [51, 6, 0]]);
    assert.deepEqual([before.waiting, last.waiting], [5, 11]);
    assert.deepEqual(last.responses, [3, 0, 6]);
    assert.equal(last.time, start + 110_000);
});

test("samples come once, and those of a restarted relay replace the others", () => {
    const hour = new Hour();
    hour.add({ startedAt: 1, samples: [sample(1, 10_000), sample(2, 20_000)] });
    hour.add({ startedAt: 1, samples: [sample(2, 20_000), sample(3, 30_000, { limited: 4 })] });
    assert.equal(hour.newest, 3);
    assert.equal(hour.minutes().at(-1).limited, 4);
    assert.equal(hour.add({ startedAt: 2, samples: [] }), false);
    assert.equal(hour.newest, 0);
    assert.equal(hour.add({ startedAt: 2, samples: [sample(1, 40_000)] }), true);
    assert.equal(hour.minutes().filter(Boolean).length, 1);
});

test("an hour is kept, and a clock that was set back loses nothing else", () => {
    const hour = new Hour();
    for (let place = 1; place <= 400; place += 1) hour.add({ startedAt: 1, samples: [sample(place, place * 10_000, { events: [1, 0, 0] })] });
    assert.equal(total(hour.minutes().map(({ events }) => events[0])), 360);
    hour.add({ startedAt: 1, samples: [sample(401, 3_600_000)] });
    assert.equal(hour.minutes().at(-1).time, 3_600_000);
});

test("quantiles are those of the histogram, within its bounds", () => {
    assert.equal(quantile([], bounds, 0.5), undefined);
    assert.equal(quantile([0, 0, 0, 0], bounds, 0.5), undefined);
    assert.equal(quantile([10, 0, 0, 0], bounds, 0.5), 0.5);
    assert.equal(quantile([5, 5, 0, 0], bounds, 0.5), 1);
    assert.equal(quantile([5, 0, 5, 0], bounds, 0.75), 3.5);
    assert.equal(quantile([0, 0, 0, 3], bounds, 0.5), 5);
});

test("axes end with round numbers", () => {
    assert.deepEqual([0, 0.3, 1, 3, 7, 40, 41, 512].map(roundUp), [1, 0.3, 1, 3, 8, 40, 50, 600]);
});

test("numbers are short and exact enough", () => {
    assert.deepEqual([count(12_345), compact(12_345), counted(1, "push", "pushes"), counted(2, "push", "pushes")], ["12,345", "12.3K", "1 push", "2 pushes"]);
    assert.deepEqual([0, 0.0004, 0.012, 0.5, 0.998, 0.9995, 1].map(percent), ["0%", "<0.1%", "1.2%", "50%", "99.8%", ">99.9%", "100%"]);
    assert.deepEqual([0, 0.4, 4.25, 12.6, 999, 1_400, 65_000, 3_600_000, 266_400_000].map(duration),
        ["0 s", "400 µs", "4.3 ms", "13 ms", "999 ms", "1.4 s", "1 min 5 s", "1 h", "3 d 2 h"]);
    assert.deepEqual([750, 40_000, 80_000, 9_000_000].map(shortDuration), ["750 ms", "40 s", "1.3 min", "2.5 h"]);
    assert.deepEqual([moment(undefined), moment(NaN), moment(9e18)], ["–", "–", "–"]);
    assert.match(moment(0, 86_400_000 * 2), /^1 Jan 1970, \d\d:\d\d:\d\d$/);
    assert.deepEqual([0, 1_023, 1_536, 5 * 2 ** 30].map(bytes), ["0 B", "1023 B", "1.5 KiB", "5.0 GiB"]);
});

const names = (push, event) => life(push, event, 5_000).map(({ name, at, after }) => [name, at, after].filter((one) => one !== undefined).join(" "));

test("a push's life is in the order of its times", () => {
    assert.deepEqual(names({ receivedAt: 1_000, response: "sent", ended: { status: "sent", at: 1_200 } }, { acknowledgedAt: 4_000, repliedAt: 4_500 }),
        ["Received 1000", "Sent 1200 200", "Acknowledged 4000 3000", "Replied 4500 3500"]);
    assert.deepEqual(names({ receivedAt: 1_000, response: "queued", responseReason: "ServiceUnavailable",
        waiting: { createdAt: 1_000, attempts: 2, dueAt: 9_000, expiresAt: 90_000 } }, { acknowledgedAt: 4_000 }),
    ["Received 1000", "Queued 1000", "Acknowledged 4000 3000", "Next attempt 9000 8000", "Given up 90000 89000"]);
    assert.deepEqual(names({ receivedAt: 1_000, response: "failed", responseReason: "Unregistered", isDeviceRemoved: true }),
        ["Received 1000", "Failed", "Device removed"]);
    assert.deepEqual(names({ waiting: { createdAt: 1_000, attempts: 1, dueAt: 2_000, expiresAt: 90_000 } }), ["Received", "Queued 1000", "Due 2000", "Given up 90000"]);
    assert.deepEqual(names({ receivedAt: 1_000, response: "queued" }).at(-1), "Ended");
});

test("the page asks less often while the relay doesn't answer", () => {
    assert.deepEqual([0, 1, 2, 5, 50].map((failures) => delay(5_000, failures)), [5_000, 10_000, 20_000, 60_000, 60_000]);
});

test("every fault of /ready has words, and unknown ones are shown as they are", () => {
    assert.deepEqual(check({ name: "storage" }), { name: "Database", text: "answers", isGood: true });
    assert.match(check({ name: "write", fault: "full" }).text, /full/);
    assert.match(check({ name: "apns", fault: "InvalidProviderToken" }).text, /InvalidProviderToken/);
    assert.match(check({ name: "queue", fault: "unknown" }).text, /database is away/);
    assert.deepEqual(check({ name: "new" }), { name: "new", text: "fine", isGood: true });
});

test("nothing in the page is inline, from elsewhere, or HTML made of texts", () => {
    const text = (file) => readFileSync(join(root, file), "utf8");
    assert.doesNotMatch(text("index.html"), /\son[a-z]+=|style=|<style|javascript:|<script(?![^>]*\ssrc=)|(src|href)="(\/|[a-z]+:)/i);
    const modules = readdirSync(join(root, "src"), { recursive: true }).filter((name) => name.endsWith(".js"));
    assert.ok(modules.length > 10);
    for (const file of modules) {
        assert.doesNotMatch(text(join("src", file)), /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|\.style\b|console\.|localStorage/, file);
    }
});
