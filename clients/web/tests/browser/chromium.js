// Chromium, driven by the DevTools protocol.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Program } from "./program.js";
import { starting, until } from "./wait.js";
import { WebSocketConnection } from "./websocket.js";

export class Chromium extends Program {
    #socket;
    #waiting = new Map();
    #count = 0;
    #session;
    #sessions = new Map();
    /** Events of the browser: `{ method, params }`. */
    events = [];

    async begin() {
        const root = process.geteuid?.() === 0 ? ["--no-sandbox"] : [];   // Chromium's sandbox doesn't work for root
        this.run("chromium", [
            "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--use-fake-device-for-media-stream",
            "--no-proxy-server", "--hide-scrollbars", "--remote-debugging-port=0", `--user-data-dir=${this.profile}`, ...root,
            "about:blank",
        ]);
        const [port, path] = await until("Chromium's port", async () => {
            const lines = (await readFile(join(this.profile, "DevToolsActivePort"), "utf8")).split("\n");
            return lines.length > 1 && lines;
        }, starting);
        this.#socket = await WebSocketConnection.connect(`ws://127.0.0.1:${port}${path}`);
        this.#socket.onmessage = (text) => this.#receive(JSON.parse(text));
        // The port opens before there is a page.
        const { targetId } = await until("a page", async () => (await this.call("Target.getTargets")).targetInfos
            .find(({ type }) => type === "page"), starting);
        this.#session = (await this.call("Target.attachToTarget", { targetId, flatten: true })).sessionId;
        for (const domain of ["Page", "Runtime", "Log", "Network", "ServiceWorker"]) await this.call(`${domain}.enable`);
    }

    #receive({ id, method, params, result, error }) {
        if (id === undefined) return void this.events.push({ method, params });
        const { resolve, reject } = this.#waiting.get(id);
        this.#waiting.delete(id);
        return error ? reject(new Error(error.message)) : resolve(result);
    }

    call(method, params = {}, sessionId = this.#session) {
        const id = ++this.#count;
        this.#socket.send(JSON.stringify({ id, method, params, sessionId }));
        return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    }

    async open(url) {
        const { loaderId } = await this.call("Page.navigate", { url });
        if (loaderId) await until(`${url} loaded`, async () => this.events.find(({ method,
            params }) => method === "Page.domContentEventFired" || params?.loaderId === loaderId));
    }

    async evaluate(expression, session = this.#session) {
        const { result, exceptionDetails } = await this.call("Runtime.evaluate",
            { expression: `(async () => (${expression}))()`, awaitPromise: true, returnByValue: true, userGesture: true }, session);
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        return result.value;
    }

    /** Evaluates an expression in another target, such as the worker. */
    async inTarget(targetId, expression) {
        if (!this.#sessions.has(targetId)) {
            const { sessionId } = await this.call("Target.attachToTarget", { targetId, flatten: true });
            this.#sessions.set(targetId, sessionId);
        }
        return this.evaluate(expression, this.#sessions.get(targetId));
    }

    click(selector) {
        return this.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
    }

    /** Delivers a push to the worker, as from a push service. */
    async deliver(origin, data) {
        const registrationId = await until("the worker's registration",
            async () => this.events.filter(({ method }) => method === "ServiceWorker.workerRegistrationUpdated")
            .flatMap(({ params }) => params.registrations).find(({ isDeleted }) => !isDeleted)?.registrationId);
        await this.call("ServiceWorker.deliverPushMessage", { origin, registrationId, data });
    }

    /** The errors that the browser reported: of scripts, of workers and of the policy. */
    get complaints() {
        return this.events.flatMap(({ method, params }) => {
            if (method === "ServiceWorker.workerErrorReported") return [params.errorMessage.errorMessage];
            if (method === "Runtime.exceptionThrown") return [params.exceptionDetails.exception?.description ?? params.exceptionDetails.text];
            return method === "Log.entryAdded" && params.entry.source === "security" ? [params.entry.text] : [];
        });
    }

    /** Makes the window look as on a device. */
    async resize({ width, height, scheme, scale = 1 }) {
        await this.call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: scale, mobile: width < 600 });
        await this.call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme },
            { name: "prefers-reduced-motion", value: "reduce" }] });
    }

    async screenshot() {
        const { data } = await this.call("Page.captureScreenshot", { format: "png" });
        return Buffer.from(data, "base64");
    }
}
