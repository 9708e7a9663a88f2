// A stand-in for a relay with Web Push: it serves the page, and speaks docs/reference/api.md as far as the page uses it.
import { createECDH, createHash, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { files } from "../../src/files.js";
import { PushService } from "./push-service.js";

const root = new URL("../../", import.meta.url);
const types = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css", png: "image/png", svg: "image/svg+xml",
    webmanifest: "application/manifest+json" };
const eventTypes = ["complete", "permission", "error"];
const error = (status, code, field) => ({ status, ok: false, code, field, error: `${code} ${field ?? ""}` });
const isText = (value, max) => typeof value === "string" && value.length > 0 && Buffer.byteLength(value) <= max;

export class StandIn {
    devices = [];
    events = new Map();
    history = [];
    tokens = [];
    requests = [];
    /** Violations of the content security policy that browsers reported. */
    violations = [];
    isDown = false;
    keepsHistory = false;
    clockOffset = 0;
    /** Replaces a path's response with text, as a hostile relay would. */
    lies = new Map();
    push = new PushService();
    #server = createServer((request, response) => void this.#serve(request, response));

    static async start() {
        const standIn = new StandIn();
        standIn.rotate();
        standIn.#server.on("upgrade", (request, socket) => standIn.push.accept(request, socket));
        standIn.#server.keepAliveTimeout = 0;
        await new Promise((resolve) => standIn.#server.listen(0, "127.0.0.1", resolve));
        standIn.port = standIn.#server.address().port;
        standIn.url = standIn.push.origin = `http://127.0.0.1:${standIn.port}`;
        return standIn;
    }

    async stop() {
        this.#server.closeAllConnections();
        await new Promise((resolve) => this.#server.close(resolve));
    }

    /** Creates a new key. */
    rotate() {
        const pair = createECDH("prime256v1");
        this.publicKey = pair.generateKeys().toString("base64url");
    }

    async #serve(request, response) {
        const path = request.url.replace(/\?.*$/s, "");
        if (this.isDown) return void request.socket.destroy();
        if (path.startsWith("/app/")) return this.#servePage(path.slice(5) || "index.html", response);
        const chunks = [];
        for await (const chunk of request) chunks.push(chunk);
        const text = Buffer.concat(chunks).toString();
        if (path === "/csp") {
            this.violations.push(text);
            return void response.writeHead(204).end();
        }
        this.requests.push({ path, text });
        const date = new Date(Date.now() + this.clockOffset).toUTCString();
        if (this.lies.has(path)) return void response.writeHead(200, { date, "content-type": "application/json" }).end(this.lies.get(path));
        const { status = 200, ...answer } = await this.#answer(path, text === "" ? {} : JSON.parse(text));
        return void response.writeHead(status, { date, "content-type": "application/json" }).end(JSON.stringify({ ok: true, ...answer }));
    }

    async #servePage(file, response) {
        if (!files.includes(file)) return void response.writeHead(404).end();
        response.writeHead(200, {
            "content-type": types[file.split(".").at(-1)], "cache-control": "no-cache", "x-content-type-options": "nosniff",
            // The relay's policy (Sources/Relay/Page), with reports.
            "content-security-policy":
                "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; report-uri /csp",
        });
        return void response.end(await readFile(new URL(file, root)));
    }

    #answer(path, body) {
        const routes = {
            "/v1/webpush/key": () => ({ publicKey: this.publicKey, keyID: this.publicKey.slice(0, 8) }),
            "/ready": () => ({ checks: { storage: "ok", write: "ok", queue: "ok", clock: "ok" } }),
            "/v1/device/register": () => this.#register(body), "/v1/device/unregister": () => this.#unregister(body),
            "/v1/device/list": () => ({ devices: this.#devicesOf(body.secret).map(({ entry }) => entry) }),
            "/v1/notify": () => this.#notify(body), "/v1/history/list": () => this.#list(body), "/v1/history/read": () => this.#read(body),
            "/v1/token/create": () => this.#makeToken(body),
            "/v1/token/list": () => ({ tokens: this.tokens.filter(({ secret }) => secret === body.secret).map(({ shown }) => shown) }),
            "/v1/token/revoke": () => this.#revokeToken(body),
            "/v1/reply": () => this.#reply(body), "/v1/reply/wait": () => this.#wait(body),
        };
        if (!routes[path]) return error(404, "not_found");
        if (path.startsWith("/v1/") && path !== "/v1/webpush/key" && !isText(body.secret, 512)) return error(400, "missing_field",
            "secret");
        return routes[path]();
    }

    #register({ secret, webPush, deviceID, deviceName, preferences, sealed }) {
        const bytes = (text) => (/^[A-Za-z0-9_-]+$/.test(text) ? Buffer.from(text, "base64url") : Buffer.alloc(0));
        const key = bytes(webPush?.keys?.p256dh ?? "");
        if (!/^https?:\/\//.test(webPush?.endpoint)) return error(400, "invalid_field", "webPush.endpoint");
        if (key.length !== 65 || key[0] !== 4) return error(400, "invalid_field", "webPush.keys.p256dh");
        if (bytes(webPush.keys.auth ?? "").length !== 16) return error(400, "invalid_field", "webPush.keys.auth");
        if (!/^[ -~]{1,64}$/.test(deviceID)) return error(400, "invalid_field", "deviceID");
        if (!isText(deviceName, 128)) return error(400, "invalid_field", "deviceName");
        if (preferences?.eventTypes?.some((type) => !eventTypes.includes(type))) return error(400, "invalid_field",
            "preferences.eventTypes");
        const device = createHash("sha256").update(webPush.endpoint).digest("hex");
        const old = this.devices.find((other) => other.secret === secret && (other.deviceID === deviceID || other.device === device));
        const now = new Date().toISOString();
        const entry = { createdAt: now, ...old?.entry, device: `…${device.slice(-8)}`, updatedAt: now, deviceName, preferences, sealed,
            transport: "webpush", service: new URL(webPush.endpoint).host };
        this.devices = [...this.devices.filter((other) => other !== old), { secret, device, deviceID, webPush, entry }];
        return {};
    }

    #makeToken({ secret, scope, name }) {
        if (!["send", "read", "reply"].includes(scope)) return error(400, "invalid_field", "scope");
        if (!isText(name, 128)) return error(400, "missing_field", "name");
        const shown = { tokenID: randomUUID(), name, scope, createdAt: new Date().toISOString() };
        this.tokens.push({ secret, shown });
        return { token: `rt_${"A".repeat(43)}`, tokenID: shown.tokenID };
    }

    #revokeToken({ secret, tokenID }) {
        const left = this.tokens.filter((token) => token.secret !== secret || token.shown.tokenID !== tokenID);
        const revoked = this.tokens.length - left.length;
        this.tokens = left;
        return { revoked };
    }

    #unregister({ secret, webPush }) {
        this.devices = this.devices.filter((device) => device.secret !== secret || device.webPush.endpoint !== webPush?.endpoint);
        return {};
    }

    #devicesOf(secret) {
        return this.devices.filter((device) => device.secret === secret);
    }

    async #notify({ secret, notification, sealed, eventID, deviceToken }) {
        const devices = this.#devicesOf(secret).filter(({ device }) => !deviceToken || device === deviceToken);
        if (devices.length === 0) return error(409, "unknown_device");
        const data = { ...notification.data, ...(notification.kind ? { kind: notification.kind } : {}), sealed };
        await this.deliver(secret, { eventID, type: notification.kind ?? "notify", title: notification.title,
            body: notification.body, data, deviceToken });
        return { sent: devices.length, failed: 0, queued: 0, muted: 0 };
    }

    /** Pushes text to a secret's devices, in the form for all vendors, and keeps it. Returns the browsers' codes. */
    async deliver(secret, { eventID, type, title, body, data, deviceToken }) {
        const now = new Date();
        this.events.set(eventID, { secret, waiting: [] });
        this.history.unshift({ id: randomUUID(), secret, createdAt: now.toISOString(), eventType: type, eventID, sealed: data.sealed });
        const message = payloadOf(`${this.url}/app/`, { title, body, data });
        const devices = this.#devicesOf(secret).filter(({ device }) => !deviceToken || device === deviceToken);
        return Promise.all(devices.map(async (device) => {
            device.entry.lastPush = { at: now.toISOString(), eventType: type, status: "sent" };
            return this.sends ? this.sends(message) : this.push.send(device.webPush, JSON.stringify(message));
        }));
    }

    #list({ secret, limit = 50 }) {
        if (!this.keepsHistory) return error(403, "history_off");
        const items = this.history.filter((item) => item.secret === secret).slice(0, limit);
        return { unread: items.filter(({ readAt }) => !readAt).length, items: items.map(({ secret, ...item }) => item) };
    }

    #read({ ids }) {
        if (!this.keepsHistory) return error(403, "history_off");
        for (const item of this.history) if (ids?.includes(item.id)) item.readAt ??= new Date().toISOString();
        return { read: ids?.length ?? 0, unread: 0 };
    }

    #reply({ eventID, action, text, sealed, timeout = 0 }) {
        const event = this.events.get(eventID);
        if (!event) return error(404, "unknown_event");
        const reply = { action, text, sealed };
        if (event.reply && JSON.stringify(event.reply) !== JSON.stringify(reply)) return error(409, "already_replied");
        event.reply = reply;
        this.#changed(event);
        return this.#result(event, timeout, () => event.result && { result: event.result }, {});
    }

    #wait({ eventID, timeout = 25 }) {
        const event = this.events.get(eventID);
        if (!event) return error(404, "unknown_event");
        const known = () => (event.reply || event.result) && { reply: event.reply && { at: "", ...event.reply }, result: event.result };
        return this.#result(event, timeout, known, {});
    }

    /** Reports the result of the reply to an event, as its sender does. */
    report(eventID, result) {
        const event = this.events.get(eventID);
        event.result = { at: new Date().toISOString(), ...result };
        this.#changed(event);
    }

    #changed(event) {
        for (const wake of event.waiting.splice(0)) wake();
    }

    async #result(event, timeout, known, otherwise) {
        const end = Date.now() + timeout * 1000;
        while (!known() && Date.now() < end) {
            await new Promise((resolve) => {
                event.waiting.push(resolve);
                setTimeout(resolve, end - Date.now()).unref();
            });
        }
        return known() || otherwise;
    }
}

/** One JSON for browsers of all vendors: declarative Web Push, with the members of a push inside. */
export function payloadOf(navigate, { title, body, data }) {
    return { web_push: 8030, mutable: true, notification: { title, navigate, body, mutable: true, data } };
}
