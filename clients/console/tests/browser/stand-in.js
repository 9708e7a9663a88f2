// A stand-in for the admin listener of a busy relay: it serves the page, and an hour that was made up.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

const root = new URL("../../", import.meta.url);
const types = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };
/** The relay's (Sources/Relay/Console), with reports. */
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

/** An hour of a relay with much to do, the same each time. */
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
