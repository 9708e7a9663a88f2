// The settings of one pairing: its name, what rings when, its devices, and its removal.
import { devicesOf } from "../api.js";
import { confirm, fill, foreign, h } from "../dom.js";
import { icon } from "../icons.js";
import { deviceName } from "../platform.js";
import { formOf, localZone, preferencesOf, types } from "../preferences.js";
import { register, unpair } from "../registration.js";
import { hrefOf } from "../routes.js";
import { pairings, values } from "../store.js";
import { deviceOf, isDevice } from "../subscription.js";
import { texts } from "../texts.js";
import { tokensCard } from "./tokens.js";

const devicesMax = 200;
const nameCharactersMax = 60;
const words = texts.settings;

/** The view of the pairing with an ID. */
export function pairingView(app, { id, announce, go }) {
    const pairing = app.pairing(id);
    const back = h("a", { class: "back", href: hrefOf({ page: "settings" }) }, icon("back"), words.heading);
    if (!pairing) {
        const element = h("div", { class: "settings" }, back, h("h1", { tabindex: "-1" }, words.unknown));
        return { element, title: () => words.heading };
    }
    const devices = h("div", { class: "card", "aria-live": "polite" }, h("p", { class: "quiet" }, words.loadingDevices));
    const showDevices = () => void fillDevices(devices, pairing, app);
    const remove = h("button", { id: "unpair", class: "button danger", type: "button" }, words.unpair);
    remove.addEventListener("click", () => void removePairing(pairing, app, { announce, go }));
    showDevices();
    return {
        element: h("div", { class: "settings" }, back, foreign("h1", { tabindex: "-1" }, pairing.name),
            pairingForm(app, pairing, announce, showDevices), h("h2", {}, words.devices), devices,
            h("h2", {}, texts.tokens.heading), tokensCard(pairing, announce), h("div", { class: "buttons" }, remove)),
        title: () => pairing.name,
    };
}

async function removePairing(pairing, app, { announce, go }) {
    const { unpairText: text, unpairAction: action, unpaired, unpairedLater } = words;
    const title = words.unpairTitle(pairing.name);
    if (!(await confirm({ title, text, action, cancel: texts.cancel }))) return;
    const isTold = await unpair(pairing);
    await app.reload("pairings");
    if (app.pairings.length === 0) await (await app.registration?.pushManager?.getSubscription())?.unsubscribe();
    announce(isTold ? unpaired : unpairedLater);
    go(app.pairings.length > 0 ? "#/settings" : "#/");
}

async function fillDevices(element, pairing, app) {
    let list;
    try {
        list = await devicesOf(pairing);
    } catch (error) {
        return void fill(element, h("p", { class: "problem" }, texts.failed(texts.reasonOf(error))));
    }
    const subscription = await app.registration?.pushManager?.getSubscription();
    const own = subscription && await deviceOf(subscription.endpoint);
    const rows = list.slice(0, devicesMax).map((device) => deviceRow(device, isDevice(device, own)));
    fill(element, rows.length > 0 ? h("ul", { class: "rows" }, ...rows) : h("p", { class: "quiet" }, words.noDevices),
        rows.length > 1 && h("p", { class: "quiet" }, words.removeOther));
    return undefined;
}

function deviceRow({ deviceName, device, createdAt, service, bundleId, lastPush }, isOwn) {
    const name = [deviceName, device, ""].find((text) => typeof text === "string");
    const pushed = lastPush && words.lastPush(String(lastPush.status).slice(0, 20), texts.when(Date.parse(lastPush.at)));
    const since = texts.when(Date.parse(createdAt));
    // Distinguishes devices with the same name.
    const place = [service, bundleId].find((text) => typeof text === "string")?.slice(0, 128);
    return h("li", {}, icon("phone"), h("div", {}, foreign("strong", {}, name.slice(0, 128)),
        isOwn && h("span", { class: "tag done" }, words.thisDevice), h("p", { class: "quiet" }, pushed || words.neverPushed),
        foreign("p", { class: "quiet" }, [since && words.registered(since), place].filter(Boolean).join(" · "))));
}

/** The place where an invalid value is explained. */
function problemOf(name) {
    return h("small", { class: "problem", "data-wrong": name, role: "alert" });
}

function field(name, label, input, hint) {
    return h("label", { class: "field" }, h("span", {}, label), input, hint && h("small", {}, hint), problemOf(name));
}

function box(name, label, checked) {
    return h("label", { class: "box" }, h("input", { type: "checkbox", name, checked }), h("span", {}, label));
}

function textInput(name, value, others) {
    return h("input", { name, type: "text", value, autocomplete: "off", ...others });
}

function numberInput(name, value) {
    return h("input", { name, type: "number", min: "1", max: "1000", inputmode: "numeric", placeholder: words.unlimited, value });
}

function group(title, ...children) {
    return h("fieldset", {}, h("legend", {}, title), ...children);
}

function quietGroup({ isQuiet, from, to, zone, mode, letsPermissionsRing }) {
    const zones = new Set([localZone(), ...(Intl.supportedValuesOf?.("timeZone") ?? [])]);
    const modes = Object.entries(words.modes).map(([value, text]) => h("option", { value, selected: value === mode }, text));
    return group(words.quiet, box("isQuiet", words.quietOn, isQuiet),
        h("div", { class: "while-quiet" },
            h("div", { class: "pairwise" },
                field("from", words.from, h("input", { name: "from", type: "time", value: from })),
                field("to", words.to, h("input", { name: "to", type: "time", value: to }))),
            field("mode", words.mode, h("select", { name: "mode" }, ...modes)),
            box("letsPermissionsRing", words.letPermissions, letsPermissionsRing)),
        // Schedules also use it.
        field("zone", words.zone, textInput("zone", zone, { list: "zones", spellcheck: "false" })),
        h("datalist", { id: "zones" }, ...[...zones].map((value) => h("option", { value }))));
}

function limitsGroup({ perHour, perDay, badge }) {
    return group(words.limits,
        h("div", { class: "pairwise" }, field("perHour", words.perHour, numberInput("perHour", perHour)),
            field("perDay", words.perDay, numberInput("perDay", perDay))),
        box("badge", words.badge, badge));
}

function pairingForm(app, pairing, announce, saved) {
    const known = formOf(pairing.preferences);
    const device = textInput("deviceName", "", { maxlength: nameCharactersMax });
    void values.get("deviceName").then((name) => (device.value = name || deviceName()));
    const result = h("p", { class: "quiet", role: "status" });
    const submit = async (event) => {
        event.preventDefault();
        const text = await save(element, pairing, app);
        if (text === undefined) return;
        fill(result, text);
        announce(text);
        saved();
    };
    const key = pairing.registration?.reason === "unauthorized"
        && field("registrationKey", words.registrationKey, textInput("registrationKey", "", { type: "password" }), words.registrationKeyHint);
    const element = h("form", { class: "card form", novalidate: true, onsubmit: (event) => void submit(event) },
        field("name", words.name, textInput("name", pairing.name, { maxlength: nameCharactersMax, required: true })),
        field("deviceName", words.deviceName, device),
        group(words.what, ...types.map((type) => box(type, words[type], known.types.includes(type))), problemOf("types")),
        quietGroup(known), limitsGroup(known), key,
        h("div", { class: "buttons" }, h("button", { id: "save", class: "button primary", type: "submit" }, texts.save)), result);
    return element;
}

/** Stores the form here and at the relay. Returns the message to show; undefined if a value is invalid. */
async function save(element, pairing, app) {
    const input = (name) => element.elements[name];
    const checked = (name) => input(name).checked;
    const text = (name) => input(name).value.trim();
    const { preferences, wrong } = preferencesOf({
        types: types.filter(checked), isQuiet: checked("isQuiet"), from: text("from"), to: text("to"), zone: text("zone"), mode: text("mode"),
        letsPermissionsRing: checked("letsPermissionsRing"), perHour: text("perHour"), perDay: text("perDay"), badge: checked("badge"),
    });
    for (const place of element.querySelectorAll("[data-wrong]")) {
        fill(place, wrong.includes(place.dataset.wrong) && words.wrong[place.dataset.wrong]);
    }
    if (wrong.length > 0) return void input(wrong[0] === "types" ? types[0] : wrong[0]).focus();
    await values.put("deviceName", text("deviceName").slice(0, nameCharactersMax));
    const named = ({ name }) => ({ name: text("name").slice(0, nameCharactersMax) || name, preferences });
    const next = await pairings.update(pairing.id, named);
    const subscription = await app.registration?.pushManager?.getSubscription();
    if (!subscription || !next) return texts.saved;
    const registrationKey = input("registrationKey")?.value || undefined;
    const { state, ignored, ...failure } = await register(next, subscription, { registrationKey });
    if (state === "failed") {
        return ["unreachable", "timeout"].includes(failure.reason) ? words.savedOffline : texts.failed(texts.registration(failure));
    }
    return ignored?.length > 0 ? words.ignored(ignored.join(", ")) : texts.saved;
}
