// Firefox, driven by Marionette's own protocol: no driver is needed.
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { Program } from "./program.js";
import { starting, until } from "./wait.js";

const element = "element-6066-11e4-a52e-4f735466cecf";

export class Firefox extends Program {
    #socket;
    #waiting = new Map();
    #received = Buffer.alloc(0);
    #count = 0;

    /** Starts Firefox with a stand-in for Mozilla's push service. */
    async begin(pushURL) {
        const settings = {
            "marionette.port": 0, "dom.push.serverURL": pushURL, "dom.push.testing.allowInsecureServerURL": true,
            "dom.push.connection.enabled": true,
            "permissions.default.desktop-notification": 1, "dom.webnotifications.requireuserinteraction": false,
            "alerts.useSystemBackend": false,
            "app.update.disabledForTesting": true, "datareporting.policy.dataSubmissionEnabled": false,
            "network.captive-portal-service.enabled": false,
            "network.connectivity-service.enabled": false, "browser.shell.checkDefaultBrowser": false,
        };
        const lines = Object.entries(settings).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`);
        await writeFile(join(this.profile, "user.js"), lines.join(""));
        this.run("firefox-esr", ["--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile",
            this.profile, "about:blank"], { MOZ_DISABLE_CONTENT_SANDBOX: "1" });
        const port = await until("Firefox's port", async () => Number(await readFile(join(this.profile, "MarionetteActivePort"),
            "utf8")), starting);
        this.#socket = connect(port, "127.0.0.1");
        this.#socket.on("data", (bytes) => this.#receive(bytes));
        await once(this.#socket, "connect", { signal: AbortSignal.timeout(starting) });
        this.#socket.on("error", () => {});   // a killed Firefox resets the connection
        // The greeting comes seconds after the port opens, later on a busy machine.
        await until("Marionette", async () => this.greeted, starting);
        await this.call("WebDriver:NewSession", {});
        await this.call("WebDriver:SetTimeouts", { script: 60_000 });
        // Marionette turns off the connection to the push service.
        await this.chrome('Services.prefs.setBoolPref("dom.push.connection.enabled", true)');
    }

    #receive(bytes) {
        this.#received = Buffer.concat([this.#received, bytes]);
        for (;;) {
            const colon = this.#received.indexOf(":");
            if (colon < 0) return;
            const end = colon + 1 + Number(this.#received.subarray(0, colon));
            if (this.#received.length < end) return;
            const message = JSON.parse(this.#received.subarray(colon + 1, end));
            this.#received = this.#received.subarray(end);
            if (!Array.isArray(message)) {
                this.greeted = true;
                continue;
            }
            const [, id, error, result] = message;
            const { resolve, reject } = this.#waiting.get(id);
            this.#waiting.delete(id);
            if (error) reject(new Error(`${error.error}: ${error.message}`));
            else resolve(result?.value ?? result);
        }
    }

    call(name, parameters = {}) {
        const id = ++this.#count;
        const text = JSON.stringify([0, id, name, parameters]);
        this.#socket.write(`${Buffer.byteLength(text)}:${text}`);
        return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    }

    open(url) {
        return this.call("WebDriver:Navigate", { url });
    }

    /** Evaluates an expression in the page; it may be a promise. */
    async evaluate(expression) {
        const script = `const done = arguments[arguments.length - 1]; (async () => (${expression}))().then((value) => done({ value }), (error) => done({ error: String(error) }));`;
        const { value, error } = await this.call("WebDriver:ExecuteAsyncScript", { script, args: [], sandbox: null });
        if (error) throw new Error(error);
        return value;
    }

    /** Runs a script with the browser's own privileges. */
    async chrome(script) {
        await this.call("Marionette:SetContext", { value: "chrome" });
        try {
            return await this.call("WebDriver:ExecuteScript", { script, args: [] });
        } finally {
            await this.call("Marionette:SetContext", { value: "content" });
        }
    }

    /** The text of an element, or undefined. */
    text(selector) {
        return this.evaluate(`document.querySelector(${JSON.stringify(selector)})?.innerText`);
    }

    /** Waits until an element shows this text. */
    shows(selector, pattern) {
        return until(`${selector} shows ${pattern}`, async () => {
            const shown = await this.text(selector);
            if (typeof shown !== "string" || !pattern.test(shown)) throw new Error(`it shows ${shown}`);
            return true;
        });
    }

    /** Waits until the worker shows a notification. */
    notification(title) {
        return until(`the notification ${title}`, async () => (await this.notifications()).find((one) => one.title === title));
    }

    notifications() {
        return this.evaluate(`(await navigator.serviceWorker.getRegistration()).getNotifications().then((list) =>
            list.map(({ title, body, tag, actions }) => ({ title, body, tag, actions: actions?.map(({ action }) => action) })))`);
    }

    /** What a person does with the notification that is on the screen. */
    clickAlert(title) {
        return until(`the alert ${title}`, () => this.chrome(`
            const alert = [...Services.wm.getEnumerator("alert:alert")].find(({ document }) => document.documentElement.textContent.includes(${JSON.stringify(title)})
                || document.getElementById("alertTitleLabel")?.getAttribute("value") === ${JSON.stringify(title)});
            alert?.onAlertClick();
            return alert !== undefined;`));
    }

    /** Opens a pairing link and pairs, with one click. */
    async pair(link) {
        await this.open(link);
        await until("the button", () => this.evaluate("document.querySelector('button[type=submit]:not(:disabled)') !== null"));
        await this.click("button[type=submit]");
        await until("the list", () => this.evaluate("location.hash === '#/' && document.body.dataset.bare === 'false'"));
    }

    async #find(selector) {
        const found = await this.call("WebDriver:FindElement", { using: "css selector", value: selector });
        return found[element];
    }

    /** Clicks like a person: it counts as the user's activation. */
    async click(selector) {
        await this.call("WebDriver:ElementClick", { id: await this.#find(selector) });
    }

    async type(selector, text) {
        await this.call("WebDriver:ElementSendKeys", { id: await this.#find(selector), text });
    }
}
