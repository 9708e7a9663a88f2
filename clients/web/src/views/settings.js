// This device's settings, with links to the pairings' settings and to the diagnosis.
import { post } from "../api.js";
import { fill, foreign, h } from "../dom.js";
import { icon } from "../icons.js";
import { Envelope } from "../library.js";
import { hrefOf } from "../routes.js";
import { observe } from "../store.js";
import { deviceOf } from "../subscription.js";
import { texts } from "../texts.js";

const ringMilliseconds = 20_000;
const words = texts.settings;

/** All settings: this device, the pairings, the diagnosis. */
export function settingsView(app, { announce }) {
    const device = h("div", { class: "card" });
    const list = h("ul", { class: "cards" });
    const add = h("a", { class: "button", href: hrefOf({ page: "pair" }) }, icon("pair"), words.add);
    const element = h("div", { class: "settings" }, h("h1", { tabindex: "-1" }, words.heading),
        h("h2", {}, words.device), device, h("h2", {}, words.pairings), list, h("div", { class: "buttons" }, add));
    let drawn;

    function update() {
        const { ring, failed, pairings } = app;
        const state = JSON.stringify([ring, failed.map(({ pairing, reason }) => [pairing.id, reason]), pairings.map(({ id, name }) => [id, name])]);
        if (state === drawn) return;
        drawn = state;
        fill(device, ...deviceParts(app, announce, () => {
            drawn = undefined;
            update();
        }));
        fill(list, ...pairings.map((pairing) => h("li", {}, pairingLine(pairing))));
    }
    return { element, update, title: () => words.heading };
}

/** A line of a card: an icon, a title with a note, and what can be done. */
function line(name, title, word, end) {
    return [h("span", { class: "disc" }, icon(name)), h("div", { class: "words" }, title, word), end];
}

function quiet(text) {
    return h("span", { class: "quiet" }, text);
}

function pairingLine({ id, name, keys, relayURL }) {
    const parts = line(keys ? "lock" : "pair", foreign("strong", {}, name), quiet(new URL(relayURL).host), icon("next"));
    return h("a", { class: "line link card", href: hrefOf({ page: "settings", id }) }, ...parts);
}

function deviceParts(app, announce, redraw) {
    const { ring, pairings } = app;
    const canTurnOn = (ring === "off" || ring === "renew") && pairings.length > 0;
    const turnOn = h("button", { id: "turn-on", class: "button primary", type: "button" }, texts.ring.on);
    turnOn.addEventListener("click", () => {
        // The browser asks only within the click, so this comes first.
        const turnedOn = app.turnOn();
        turnOn.disabled = true;
        fill(turnOn, texts.ring.turningOn);
        const failed = (error) => announce(Notification.permission === "denied" ? texts.ring.denied : texts.ring.failed(error?.name ?? ""));
        void turnedOn.then(() => app.refresh({ force: true })).then(() => announce(texts.ring.done), failed).finally(redraw);
    });
    const state = { on: words.on, denied: words.blocked }[ring] ?? words.off;
    const hint = pairings.length > 0 && texts.ring.hints[ring];
    const failed = app.failed.map(({ pairing, ...failure }) => `${pairing.name}: ${texts.registration(failure)}`).join(", ");
    const check = line("question", h("strong", {}, words.check), quiet(words.checkHint), icon("next"));
    return [
        h("div", { class: "line" }, ...line("notify", h("strong", {}, words.notifications), quiet(state), canTurnOn && turnOn)),
        hint && h("p", { class: "note" }, hint), failed && h("p", { class: "problem" }, texts.ring.several(failed)),
        ring === "on" && ringLine(app, announce),
        h("a", { class: "line link", href: hrefOf({ page: "check" }) }, ...check),
    ];
}

/** "Ring this device": asks the relay for a push to this device only, and waits until it is here. */
function ringLine(app, announce) {
    const result = h("span", { class: "quiet", role: "status" }, words.ringHint);
    const button = h("button", { id: "ring", class: "button", type: "button" }, words.ring);
    button.addEventListener("click", async () => {
        button.disabled = true;
        fill(result, words.ringing);
        fill(result, await ringAndWait(app));
        button.disabled = false;
        announce(result.textContent);
    });
    return h("div", { class: "line" }, ...line("phone", h("strong", {}, words.ringTitle), result, button));
}

/** Returns the message to show. */
async function ringAndWait({ pairings: [pairing], registration }) {
    const subscription = await registration?.pushManager.getSubscription();
    if (!pairing || !subscription) return texts.ring.off;
    const begin = Date.now();
    const arrived = arrival(`ring-${crypto.randomUUID()}`);
    try {
        await ringDevice(pairing, subscription, arrived.eventID);
        return (await arrived.promise) ? words.rang(Math.max(1, Math.round((Date.now() - begin) / 100)) / 10) : words.notRung;
    } catch (error) {
        return words.ringRefused(texts.reasonOf(error));
    } finally {
        arrived.stop();
    }
}

async function ringDevice(pairing, subscription, eventID) {
    const { testTitle: title, testBody: body } = words;
    const sealed = pairing.keys && await Envelope.seal({ keys: pairing.keys, type: "notify", content: { title, body, eventID, ttl: 300 } });
    const notification = sealed ? { title, sound: "default" } : { title, body, sound: "default", data: { eventID } };
    await post(pairing, "/v1/notify", { notification, eventID, sealed, deviceToken: await deviceOf(subscription.endpoint) });
}

/** Waits until the worker reports that an event arrived. */
function arrival(eventID) {
    let stop = () => {};
    const promise = new Promise((resolve) => {
        const end = observe((change) => change.kind === "arrived" && change.eventID === eventID && resolve(true));
        const timer = setTimeout(() => resolve(false), ringMilliseconds);
        stop = () => {
            end();
            clearTimeout(timer);
        };
    });
    return { eventID, promise, stop: () => stop() };
}
