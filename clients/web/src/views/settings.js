// Settings of this device and of each pairing.
import { devicesOf, post } from "../api.js";
import { confirm, fill, foreign, h } from "../dom.js";
import { icon } from "../icons.js";
import { Envelope } from "../library.js";
import { deviceName } from "../platform.js";
import { formOf, localZone, preferencesOf } from "../preferences.js";
import { register, unpair } from "../registration.js";
import { hrefOf } from "../routes.js";
import { observe, pairings, values } from "../store.js";
import { deviceOf, isDevice } from "../subscription.js";
import { texts } from "../texts.js";

const ringMilliseconds = 20_000;
const words = texts.settings;

/** All settings: this device, the pairings, the diagnosis. */
export function settingsView(app, { announce }) {
    const device = h("div", { class: "card" });
    const list = h("ul", { class: "cards" });
    const element = h("div", { class: "settings" }, h("h1", { tabindex: "-1" }, words.heading),
        h("h2", {}, words.device), device, h("h2", {}, words.pairings), list,
        h("div", { class: "buttons" }, h("a", { class: "button", href: hrefOf({ page: "pair" }) }, icon("pair"), words.add)));
    let drawn;

    const turnOn = (event) => {
        const button = event.currentTarget;
        const turnedOn = app.turnOn();
        button.disabled = true;
        fill(button, texts.ring.turningOn);
        turnedOn.then(() => app.refresh({ force: true })).then(
            () => announce(texts.ring.done),
            (error) => announce(Notification.permission === "denied" ? texts.ring.denied : texts.ring.failed(error?.name ?? "")),
        ).finally(() => {
            drawn = undefined;
            update();
        });
    };

    function update() {
        const state = JSON.stringify([app.ring, app.failed.map(({ pairing, reason }) => [pairing.id, reason]), app.pairings.map(({ id, name }) => [id, name])]);
        if (state === drawn) return;
        drawn = state;
        const isOn = app.ring === "on";
        const hint = {
            off: texts.ring.off, denied: texts.ring.denied, renew: texts.ring.renew, "off-at-relay": texts.ring.webPushOff, old: texts.ring.oldRelay,
            offline: texts.ring.offline, unsupported: texts.ring.unsupported,
        }[app.ring];
        const failed = app.failed.map(({ pairing, ...failure }) => `${pairing.name}: ${texts.registration(failure)}`).join(", ");
        fill(device,
            h("div", { class: "line" }, h("span", { class: "disc" }, icon("notify")), h("div", { class: "words" }, h("strong", {}, words.notifications),
                h("span", { class: "quiet" }, isOn ? words.on : app.ring === "denied" ? words.blocked : words.off)),
            (app.ring === "off" || app.ring === "renew") && app.pairings.length > 0 && h("button", { id: "turn-on", class: "button primary", type: "button", onclick: turnOn }, texts.ring.on)),
            hint && app.pairings.length > 0 && h("p", { class: "note" }, hint), failed && h("p", { class: "problem" }, texts.ring.several(failed)),
            ringPart(app, announce),
            h("a", { class: "line link", href: hrefOf({ page: "check" }) }, h("span", { class: "disc" }, icon("question")), h("div", { class: "words" }, h("strong", {}, words.check), h("span", { class: "quiet" }, words.checkHint)), icon("next")));
        fill(list, ...app.pairings.map((pairing) => h("li", {}, h("a", { class: "line link card", href: hrefOf({ page: "settings", id: pairing.id }) },
            h("span", { class: "disc" }, icon(pairing.keys ? "lock" : "pair")), h("div", { class: "words" }, foreign("strong", {}, pairing.name), h("span", { class: "quiet" }, new URL(pairing.relayURL).host)), icon("next")))));
    }
    return { element, update, title: () => words.heading };
}

/** "Ring this device": asks the relay for a push to this device only, and waits until it is here. */
function ringPart(app, announce) {
    const result = h("span", { class: "quiet", role: "status" }, words.ringHint);
    const say = (text) => void fill(result, text);
    const ring = async (button) => {
        const pairing = app.pairings[0];
        const subscription = await app.registration?.pushManager.getSubscription();
        if (!pairing || !subscription) return say(texts.ring.off);
        button.disabled = true;
        say(words.ringing);
        const begin = Date.now();
        const arrived = arrival(`ring-${crypto.randomUUID()}`);
        try {
            await ringDevice(pairing, subscription, arrived.eventID);
            say((await arrived.promise) ? words.rang(Math.max(0.1, Math.round((Date.now() - begin) / 100) / 10)) : words.notRung);
        } catch (error) {
            say(words.ringRefused(texts.reasonOf(error)));
        }
        arrived.stop();
        button.disabled = false;
        announce(result.textContent);
    };
    return app.ring === "on" && h("div", { class: "line" }, h("span", { class: "disc" }, icon("phone")), h("div", { class: "words" }, h("strong", {}, words.ringTitle), result),
        h("button", { id: "ring", class: "button", type: "button", onclick: ({ currentTarget }) => void ring(currentTarget) }, words.ring));
}

async function ringDevice(pairing, subscription, eventID) {
    const { testTitle: title, testBody: body } = words;
    const sealed = pairing.keys && await Envelope.seal({ keys: pairing.keys, type: "notify", content: { title, body, eventID, ttl: 300 } });
    const notification = sealed ? { title, sound: "default" } : { title, body, sound: "default", data: { eventID } };
    await post(pairing, "/v1/notify", { notification, eventID, sealed, deviceToken: await deviceOf(subscription.endpoint) });
}

/** Waits for the worker's word that an event arrived. */
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

/** The settings of one pairing. */
export function pairingView(app, { id, announce, go }) {
    const pairing = app.pairing(id);
    const back = h("a", { class: "back", href: hrefOf({ page: "settings" }) }, icon("back"), words.heading);
    if (!pairing) return { element: h("div", { class: "settings" }, back, h("h1", { tabindex: "-1" }, words.unknown)), title: () => words.heading };
    const devices = h("div", { class: "card", "aria-live": "polite" }, h("p", { class: "quiet" }, words.loadingDevices));
    const element = h("div", { class: "settings" }, back, foreign("h1", { tabindex: "-1" }, pairing.name), form(app, pairing, announce, () => void showDevices()),
        h("h2", {}, words.devices), devices,
        h("div", { class: "buttons" }, h("button", { id: "unpair", class: "button danger", type: "button", onclick: () => void remove() }, words.unpair)));

    async function showDevices() {
        let list;
        try {
            list = await devicesOf(pairing);
        } catch (error) {
            return void fill(devices, h("p", { class: "problem" }, texts.failed(texts.reasonOf(error))));
        }
        const subscription = await app.registration?.pushManager?.getSubscription();
        const own = subscription && await deviceOf(subscription.endpoint);
        const rows = list.slice(0, 200).map((device) => deviceRow(device, isDevice(device, own)));
        fill(devices, rows.length > 0 ? h("ul", { class: "rows" }, ...rows) : h("p", { class: "quiet" }, words.noDevices), rows.length > 1 && h("p", { class: "quiet" }, words.removeOther));
    }

    async function remove() {
        if (!(await confirm({ title: words.unpairTitle(pairing.name), text: words.unpairText, action: words.unpairAction, cancel: texts.cancel }))) return;
        const isTold = await unpair(pairing);
        await app.reload("pairings");
        if (app.pairings.length === 0) await (await app.registration?.pushManager?.getSubscription())?.unsubscribe();
        announce(isTold ? words.unpaired : words.unpairedLater);
        go(app.pairings.length > 0 ? "#/settings" : "#/");
    }
    void showDevices();
    return { element, title: () => pairing.name };
}

function deviceRow(device, isOwn) {
    const { lastPush } = device ?? {};
    const name = [device?.deviceName, device?.device, ""].find((text) => typeof text === "string");
    return h("li", {}, icon("phone"), h("div", {}, foreign("strong", {}, name.slice(0, 128)), isOwn && h("span", { class: "tag done" }, words.thisDevice),
        h("p", { class: "quiet" }, lastPush ? words.lastPush(String(lastPush.status).slice(0, 20), texts.when(Date.parse(lastPush.at))) : words.neverPushed)));
}

function form(app, pairing, announce, saved) {
    const known = formOf(pairing.preferences);
    const field = (name, label, input, hint) => h("label", { class: "field" }, h("span", {}, label), input, hint && h("small", {}, hint), h("small", { class: "problem", "data-wrong": name, role: "alert" }));
    const box = (name, label, checked) => h("label", { class: "box" }, h("input", { type: "checkbox", name, checked }), h("span", {}, label));
    const zones = h("datalist", { id: "zones" }, ...[...new Set([localZone(), ...(Intl.supportedValuesOf?.("timeZone") ?? [])])].map((zone) => h("option", { value: zone })));
    const deviceField = h("input", { name: "deviceName", type: "text", maxlength: "60", autocomplete: "off" });
    const number = (name, value) => h("input", { name, type: "number", min: "1", max: "1000", inputmode: "numeric", placeholder: words.unlimited, value });
    const result = h("p", { class: "quiet", role: "status" });
    const needsKey = pairing.registration?.reason === "unauthorized";
    void values.get("deviceName").then((name) => (deviceField.value = name || deviceName()));
    const element = h("form", { class: "card form", novalidate: true, onsubmit: (event) => {
        event.preventDefault();
        void save();
    } },
    field("name", words.name, h("input", { name: "name", type: "text", value: pairing.name, maxlength: "60", required: true, autocomplete: "off" })),
    field("deviceName", words.deviceName, deviceField),
    h("fieldset", {}, h("legend", {}, words.what), ...["permission", "complete", "error"].map((type) => box(type, words[type], known.types.includes(type))), h("small", { class: "problem", "data-wrong": "types", role: "alert" })),
    h("fieldset", {}, h("legend", {}, words.quiet), box("isQuiet", words.quietOn, known.isQuiet),
        h("div", { class: "pairwise" }, field("from", words.from, h("input", { name: "from", type: "time", value: known.from })), field("to", words.to, h("input", { name: "to", type: "time", value: known.to }))),
        field("zone", words.zone, h("input", { name: "zone", list: "zones", value: known.zone, autocomplete: "off", spellcheck: "false" })), zones,
        field("mode", words.mode, h("select", { name: "mode" }, ...Object.entries(words.modes).map(([value, text]) => h("option", { value, selected: value === known.mode }, text)))),
        box("letsPermissionsRing", words.letPermissions, known.letsPermissionsRing)),
    h("fieldset", {}, h("legend", {}, words.limits), h("div", { class: "pairwise" }, field("perHour", words.perHour, number("perHour", known.perHour)), field("perDay", words.perDay, number("perDay", known.perDay))),
        box("badge", words.badge, known.badge)),
    needsKey && field("registrationKey", words.registrationKey, h("input", { name: "registrationKey", type: "password", autocomplete: "off" }), words.registrationKeyHint),
    h("div", { class: "buttons" }, h("button", { id: "save", class: "button primary", type: "submit" }, texts.save)), result);

    async function save() {
        const input = (name) => element.elements[name];
        const { preferences, wrong } = preferencesOf({
            types: ["permission", "complete", "error"].filter((type) => input(type).checked), isQuiet: input("isQuiet").checked, from: input("from").value, to: input("to").value,
            zone: input("zone").value.trim(), mode: input("mode").value, letsPermissionsRing: input("letsPermissionsRing").checked,
            perHour: input("perHour").value, perDay: input("perDay").value, badge: input("badge").checked,
        });
        for (const place of element.querySelectorAll("[data-wrong]")) fill(place, wrong.includes(place.dataset.wrong) ? words.wrong[place.dataset.wrong] : "");
        if (wrong.length > 0) return void input(wrong[0] === "types" ? "permission" : wrong[0]).focus();
        await values.put("deviceName", input("deviceName").value.trim().slice(0, 60));
        const next = await pairings.update(pairing.id, ({ name }) => ({ name: input("name").value.trim().slice(0, 60) || name, preferences }));
        const subscription = await app.registration?.pushManager?.getSubscription();
        let text = texts.saved;
        if (subscription && next) {
            const { state, ignored, ...failure } = await register(next, subscription, { registrationKey: input("registrationKey")?.value || undefined });
            if (state === "failed") text = ["unreachable", "timeout"].includes(failure.reason) ? words.savedOffline : texts.failed(texts.registration(failure));
            else if (ignored?.length > 0) text = words.ignored(ignored.join(", "));
        }
        fill(result, text);
        announce(text);
        saved();
    }
    return element;
}
