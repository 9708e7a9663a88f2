// A stand-in for the admin listener of a busy relay: it serves the page, and an hour of made-up data.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

const root = new URL("../../", import.meta.url);
const types = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };
/** The relay's policy (Sources/Relay/Console), with reports. */
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    + "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; report-uri /csp";
const bounds = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000].map((milliseconds) => milliseconds * 1e6);

export class StandIn {
    /** Violations of the content security policy that browsers reported. */
    violations = [];
    /** Requests: `{ method, path, headers, body }`. */
    requests = [];
    isDown = false;
    token;
    level = "info";
    answers = new Map();
    #server = createServer((request, response) => void this.#serve(request, response));

    static async start() {
        const standIn = new StandIn();
        standIn.#server.keepAliveTimeout = 0;
        await new Promise((resolve) => standIn.#server.listen(0, "127.0.0.1", resolve));
        standIn.url = `http://127.0.0.1:${standIn.#server.address().port}`;
        return standIn;
    }

    async stop() {
        this.#server.closeAllConnections();
        await new Promise((resolve) => this.#server.close(resolve));
    }

    async #serve(request, response) {
        const { pathname: path, searchParams } = new URL(request.url, this.url);
        const chunks = [];
        for await (const chunk of request) chunks.push(chunk);
        const body = Buffer.concat(chunks).toString();
        if (path === "/csp") {
            this.violations.push(body);
            return void response.writeHead(204).end();
        }
        if (!path.startsWith("/v1/")) return this.#servePage(path === "/" ? "index.html" : path.slice(1), response);
        this.requests.push({ method: request.method, path: request.url, headers: request.headers, body });
        if (this.isDown) return void request.socket.destroy();
        if (this.token && request.headers.authorization !== `Bearer ${this.token}`) {
            return void response.writeHead(401, { "content-type": "text/plain" }).end("Send RELAY_ADMIN_TOKEN as Authorization: Bearer.\n");
        }
        const { status = 200, ...answer } = this.#answer(request.method, path, searchParams, body);
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
    }

    #answer(method, path, parameters, body) {
        const made = this.answers.get(path);
        if (made) return typeof made === "function" ? made(parameters, body && JSON.parse(body)) : made;
        if (path === "/v1/log-level" && method === "PUT") this.level = JSON.parse(body).level;
        if (path === "/v1/log-level") return { level: this.level };
        return { status: 404, error: "Nothing is here." };
    }

    async #servePage(file, response) {
        try {
            const bytes = await readFile(new URL(file, root));
            response.writeHead(200, { "content-type": types[file.split(".").at(-1)], "cache-control": "no-cache",
                "x-content-type-options": "nosniff", "content-security-policy": policy }).end(bytes);
        } catch {
            response.writeHead(404).end();
        }
    }
}

/** An hour of a busy relay, the same each time. */
export function busyHour(now = Date.now()) {
    let seed = 7;
    const random = () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
    const samples = Array.from({ length: 360 }, (_, place) => {
        const wave = 60 + 35 * Math.sin(place / 50) + 18 * Math.sin(place / 9) + 22 * random();
        const isOutage = place > 225 && place < 250;
        const events = Math.round(wave);
        const apns = Math.round(events * 1.4);
        const webPush = Math.round(events * 0.55);
        const bad = isOutage ? Math.round(apns * 0.7) : 0;
        const spread = (number, slow) => {
            const counts = Array(15).fill(0);
            for (let index = 0; index < number; index += 1) counts[Math.min(14, Math.floor(slow + 2.2 * random() + (random() > 0.97 ? 3 : 0)))] += 1;
            return counts;
        };
        const waiting = place < 226 ? 0 : place < 250 ? (place - 225) * 85 : Math.max(0, 2_040 - (place - 249) * 90);
        return {
            number: place + 1, time: now - (359 - place) * 10_000, events: [events, random() > 0.8 ? 2 : 0, 0],
            apns: [apns - bad, bad, random() > 0.6 ? 1 : 0, Math.round(4 * random())], webPush: [webPush, 0, random() > 0.85 ? 1 : 0, 0],
            settled: waiting > 0 && place > 249 ? [90, 0] : [0, 0], limited: 0, responses: spread(events, isOutage ? 6.5 : 4), attempts: spread(apns, isOutage ? 7 : 4.6),
            waiting, oldestDueAge: waiting === 0 ? 0 : waiting * 30, connections: Math.round(412 + 40 * Math.sin(place / 60) + 8 * random()),
            pushesInFlight: Math.round(20 * random()),
        };
    });
    return samples;
}

export const overview = (samples, members = {}) => ({ after }) => ({
    now: samples.at(-1).time + 3_000, version: "0.1.0", database: "postgresql", interval: 10_000, startedAt: samples[0].time - 8 * 86_400_000,
    memory: 61_341_696, openFiles: 498, openFilesMax: 524_288,
    checks: ["storage", "write", "apns", "queue", "clock"].map((name) => ({ name })),
    apps: [{ app: "com.example.app", environment: "production" }, { app: "com.example.app", environment: "sandbox" },
        { app: "com.example.beta", environment: "production", fault: "TopicDisallowed" }],
    waiting: 0, waitingMax: 200_000, waitingBytes: 0, waitingBytesMax: 512 * 2 ** 20, oldestDueAge: 0, unwritten: 0, connections: 412,
    connectionsMax: 16_384, pushesInFlight: 12, pushesInFlightMax: 20_000, waitingCalls: 0, bounds,
    totals: { events: [912_334, 1_203, 0], apns: [1, 2, 3, 4], webPush: [1, 2, 3, 4], settled: [0, 0], limited: 9, responses: [], attempts: [],
        limits: { events: 1_204, device_pushes: 88, unknown_secrets: 17_420 } },
    samples: samples.filter(({ number }) => number > Number(after ?? 0)), ...members,
});

const results = (sent, queued, failed, muted) => [{ result: "sent", count: sent }, ...queued, ...failed, { result: "muted", count: muted }];
export const apps = (members = {}) => ({
    acceptsAny: false, defaultApp: "com.example.app", webPushKey: "x0RzNp1Y", certificateExpiry: Date.now() + 21 * 86_400_000,
    apps: [
        { transport: "webpush", environment: "production", app: "webpush", results: results(402_113, [], [{ result: "failed", reason: "Gone", count: 310 }], 0) },
        { transport: "apns", environment: "production", app: "com.example.app", key: "KEY1234567", results: results(1_204_331,
            [{ result: "queued", reason: "ServiceUnavailable", count: 2_040 }], [{ result: "failed", reason: "Unregistered", count: 1_204 },
                { result: "failed", reason: "DeviceRateLimited", count: 88 }], 12_040) },
        { transport: "apns", environment: "sandbox", app: "com.example.app", key: "KEY1234567", results: results(311, [], [], 2) },
        { transport: "apns", environment: "production", app: "com.example.beta", key: "KEY7654321", fault: "TopicDisallowed",
            results: results(0, [], [{ result: "failed", reason: "TopicDisallowed", count: 41 }], 0) },
    ],
    keys: [
        { team: "ABCDE12345", key: "KEY1234567", environment: "production", open: 6, connecting: 0, retiring: 1, inFlight: 12, waiting: 0, opened: 48, failed: 0,
            goAways: { NO_ERROR: 31 } },
        { team: "ABCDE12345", key: "KEY1234567", environment: "sandbox", open: 1, connecting: 0, retiring: 0, inFlight: 0, waiting: 0, opened: 3, failed: 0, goAways: {} },
        { team: "ABCDE12345", key: "KEY7654321", environment: "production", open: 0, connecting: 1, retiring: 0, inFlight: 0, waiting: 4, opened: 2, failed: 7, goAways: {} },
    ], ...members,
});

export const settings = {
    settings: [
        { name: "PORT", group: "Server", summary: "The TCP port to listen on. 0 picks a free one, shown in the first log line.", value: "8787", place: "--port", default: "8787" },
        { name: "HOST", group: "Server", summary: "The address to listen on. 0.0.0.0 means every IPv4 address, :: every address.", default: "127.0.0.1" },
        { name: "RELAY_ADMIN_TOKEN", group: "Server", summary: "The bearer token for /metrics and for commands that change data.", isSecret: true,
            place: "RELAY_ADMIN_TOKEN_FILE in /etc/apn-relay/relay.env", default: "none required" },
        { name: "DATABASE_URL", group: "Database", summary: "The database URL; docs/operate/databases.md describes its format.",
            value: "postgresql at db.example.com:5432, database relay", place: "DATABASE_URL", default: "sqlite:relay.db" },
        { name: "RELAY_DATABASE_CONNECTIONS", group: "Database", summary: "Maximum connections to a database server. Each has a thread and opens on demand.",
            value: "24", place: "RELAY_DATABASE_CONNECTIONS", default: "10" },
        { name: "HTTPS_PROXY", group: "APNs", summary: "A proxy for connections to APNs and push services.", isSecret: true, default: "connects directly" },
    ],
};

export const hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const second = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
const named = (hash) => ({ secret: hash.slice(0, 12), secretHash: hash });
const now = Date.now();
const uuid = (end) => `01a1fe7c-5b2e-7c41-9d0f-${end}`;

export const tenants = (members = {}) => ({
    canChange: true, blockedCount: 1, blocked: [{ ...named(second), since: now - 86_400_000, note: "spam from a broken script" }],
    recent: [
        { ...named(hash), at: now - 2_000, events: 1_204, others: 31, limited: 0, isBlocked: false },
        { ...named("fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9"), at: now - 14_000, events: 412, others: 6, limited: 0, isBlocked: false },
        { ...named(second), at: now - 61_000, events: 18_220, others: 0, limited: 17_420, isBlocked: true },
    ], ...members,
});

const waiting = (end, members = {}) => ({ id: uuid(end), device: "…991de8f0", eventType: "complete", attempts: 3, dueAt: now + 45_000, isLeased: false,
    createdAt: now - 190_000, expiresAt: now + 86_000_000, ...members });
const schedule = (id, members = {}) => ({ id: uuid(id), kind: "schedule", nextAt: now + 3_600_000, isRepeated: true, lastAt: now - 82_800_000, lastOutcome: "sent", skipped: 0, ...members });

export const tenant = (members = {}) => ({
    ...named(hash), canChange: true,
    devices: [
        { device: "…991de8f0", transport: "apns", app: "com.example.app", environment: "production", createdAt: now - 40 * 86_400_000, updatedAt: now - 3_600_000 },
        { device: "…lkCZ7CTp", transport: "webpush", environment: "production", createdAt: now - 9 * 86_400_000, updatedAt: now - 9 * 86_400_000 },
    ],
    waiting: [waiting("0a1b2c3d4e5f")], schedules: [schedule("5e1bea105e1b")],
    tokens: [
        { id: uuid("70ce00000001"), name: "CI", scope: "send", createdAt: now - 9 * 86_400_000, usedAt: now - 60_000 },
        { id: uuid("70ce00000002"), name: "Dashboard", scope: "read", createdAt: now - 86_400_000, expiresAt: now + 86_400_000 },
    ],
    deliveries: [
        { id: uuid("000000000001"), at: now - 4_000, eventType: "permission", device: "…991de8f0", status: "sent" },
        { id: uuid("000000000002"), at: now - 4_100, eventType: "permission", device: "…lkCZ7CTp", status: "sent" },
        { id: uuid("000000000003"), at: now - 640_000, eventType: "complete", status: "failed", reason: "Unregistered" },
    ], ...members,
});

export const push = () => ({
    now, searched: 1, found: [{
        ...named(hash), event: { isInProgress: false, acknowledgedAt: now - 20_000, repliedAt: now - 20_000, resultAt: now - 19_000 },
        pushes: [
            { id: uuid("000000000001"), device: "…991de8f0", receivedAt: now - 200_000, response: "queued", responseReason: "ServiceUnavailable",
                ended: { status: "sent", at: now - 110_000 } },
            { id: uuid("000000000002"), device: "…lkCZ7CTp", receivedAt: now - 200_000, response: "sent", ended: { status: "sent", at: now - 199_870 } },
            { id: uuid("000000000003"), device: "…5e1bea10", receivedAt: now - 200_000, response: "queued", responseReason: "TooManyRequests", waiting: waiting("000000000003") },
        ],
        unmade: [{ device: "…00ff00ff", response: "muted" }],
    }],
});

export const queue = (members = {}) => ({
    now, waiting: 2_040, oldestDueAge: 61_000, hasMore: true, next: "1-a-b", nextScheduleDue: now + 3_600_000, occurrences: { sent: 204, no_devices: 3, skipped: 1 },
    pushes: [
        { ...named(hash), ...waiting("00000000000a", { dueAt: now - 61_000 }) }, { ...named(second), ...waiting("00000000000b", { isLeased: true, attempts: 1 }) },
        { ...named(hash), ...waiting("00000000000c", { eventType: "permission" }) }, { ...named(hash), ...waiting("00000000000d", { dueAt: now + 340_000, attempts: 7 }) },
    ],
    schedules: [{ ...named(hash), ...schedule("00000000000e") }, { ...named(second), ...schedule("00000000000f", { kind: "repeat", isRepeated: false, lastAt: undefined, lastOutcome: undefined, skipped: 2 }) }],
    ...members,
});
