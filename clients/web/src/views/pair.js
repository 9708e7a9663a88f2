// Pairing: the welcome, the link, its confirmation, and the way to the home screen of iOS.
import { PairingError } from "../library.js";
import { fill, foreign, h } from "../dom.js";
import { icon } from "../icons.js";
import { isPairingFragment, nameOf, openingsOf, readLink, relayOfPage } from "../link.js";
import { addPairing } from "../pairings.js";
import { hasWebPush, isTabOnIOS } from "../platform.js";
import { register } from "../registration.js";
import { texts } from "../texts.js";
import { scanPart } from "./scan.js";

/** The pairing view, with the address's link if it has one. */
export function pairView(app, { announce, fragment, clearFragment, go }) {
    const { pair } = texts;
    const element = h("div", { class: "pair" });
    let camera;
    const show = (...children) => {
        fill(element, ...children);
        element.querySelector("h1, h2")?.focus();
    };

    function welcome(problem, text = "") {
        const isFirst = app.pairings.length === 0;
        camera = scanPart({ announce, found: (link) => void read(link) });
        const field = h("input", {
            id: "link", type: "text", value: text, placeholder: pair.pastePlaceholder, autocomplete: "off", autocapitalize: "off",
            spellcheck: "false",
            required: true, "aria-describedby": "link-hint link-problem", "aria-invalid": problem ? "true" : undefined,
        });
        const form = h("form", { class: "card", onsubmit: (event) => {
            event.preventDefault();
            void read(field.value);
        } },
        camera.element, h("label", { class: "field" }, h("span", {}, pair.pasteLabel), field, h("small", { id: "link-hint" }, pair.hint)),
        h("p", { id: "link-problem", class: "problem", role: "alert" }, problem),
        h("div", { class: "buttons" }, h("button", { class: "button primary", type: "submit" }, pair.submit)));
        const top = isFirst ? h("div", { class: "hero" }, h("img", { src: "icons/icon.svg", alt: "", width: "72", height: "72" }))
            : h("a", { class: "back", href: "#/settings" }, icon("back"), texts.settings.heading);
        show(top, h("h1", { tabindex: "-1" }, isFirst ? pair.welcome : pair.heading), isFirst && h("p", { class: "lead" }, pair.welcomeText),
            h("ol", { class: "steps" }, ...pair.steps.map((step) => h("li", {}, step))), form);
    }

    async function read(text) {
        let pairing;
        camera?.stop();
        try {
            pairing = await readLink(text);
        } catch (error) {
            if (!(error instanceof PairingError)) throw error;
            return welcome(pair.errors[error.reason], text);
        }
        // The app on the home screen starts with the link each time.
        const known = app.pairing(pairing.id);
        if (fragment && known && !known.keys === !pairing.keys) {
            clearFragment();
            // There, the link is old, and so is its code.
            return pairing.code && !navigator.standalone ? paired(pairing, known.name) : go("#/");
        }
        const relayURL = pairing.relayURL ?? relayOfPage(location.href.replace(/#.*$/s, ""));
        const isOwn = new URL(relayURL).origin === location.origin;
        // In a tab on iOS, the link stays in the address, with which the app on the home screen starts.
        if (isTabOnIOS()) return toHome(pairing, relayURL, text);
        return confirmPairing(pairing, relayURL, isOwn);
    }

    function confirmPairing(pairing, relayURL, isOwn) {
        const name = h("input", { id: "name", type: "text", value: app.pairing(pairing.id)?.name ?? nameOf(pairing),
            maxlength: "60", required: true, autocomplete: "off" });
        const problem = h("p", { class: "problem", role: "alert" });
        const canRing = hasWebPush();
        const main = h("button", { class: "button primary", type: "submit", disabled: canRing },
            canRing ? pair.pairAndRing : pair.pairOnly);
        const key = h("input", { type: "password", autocomplete: "off" });
        const keyField = h("label", { class: "field", hidden: true }, h("span", {}, texts.settings.registrationKey), key,
            h("small", {}, texts.settings.registrationKeyHint));
        const state = {};
        const submit = (event) => {
            event.preventDefault();
            // The browser asks only within the click, so this comes first.
            const turnedOn = canRing && typeof state.key === "object" ? app.turnOn(relayURL) : undefined;
            turnedOn?.catch(() => {});
            void finish({ pairing, relayURL, name: name.value, turnedOn, main, problem, keyField, key });
        };
        show(h("h1", { tabindex: "-1" }, pair.confirm), h("form", { class: "card", onsubmit: submit },
            h("label", { class: "field" }, h("span", {}, pair.nameLabel), name),
            h("dl", {}, entry(pair.relay, new URL(relayURL).host), entry(pair.hosts,
                pairing.hosts.map((host) => host.replace(/^https?:\/\//, "")).join(", ")),
                h("div", {}, h("dt", {}, pair.encryption), h("dd", { class: pairing.keys ? "good" : "bad" },
                    pairing.keys && icon("lock"), pairing.keys ? pair.encrypted : pair.notEncrypted))),
            !isOwn && h("p", { class: "note" }, pair.otherRelay(relayURL)), keyField, problem,
            h("div", { class: "buttons" }, main, h("button", { class: "button", type: "button", onclick: () => {
                clearFragment();
                go("#/");
            } }, texts.cancel))));
        // The button works once the relay's key is here, since a click can't wait for it.
        if (canRing) {
            void Promise.all([app.loadKey(relayURL), app.workerStarted]).then(([key]) => {
                state.key = key;
                main.disabled = false;
                if (typeof key !== "object") fill(problem, { off: texts.ring.webPushOff,
                    old: texts.ring.oldRelay }[key] ?? texts.ring.offline);
                if (typeof key !== "object") fill(main, pair.pairOnly);
            });
        }
    }

    async function finish({ pairing, relayURL, name, turnedOn, main, problem, keyField, key }) {
        main.disabled = true;
        fill(main, pair.pairing);
        const { pairing: stored, isNew } = await addPairing(pairing, { name, relayURL });
        clearFragment();
        let words = isNew ? pair.done(stored.name) : pair.again;
        try {
            if (turnedOn) {
                await turnedOn;
                const subscription = await app.registration.pushManager.getSubscription();
                const { state, reason, message } = await register(stored, subscription, { registrationKey: key.value || undefined });
                if (state === "failed") {
                    keyField.hidden = reason !== "unauthorized";
                    main.disabled = false;
                    fill(main, texts.tryAgain);
                    return void fill(problem, texts.failed(texts.registration({ reason, message })));
                }
                if (state === "challenged") words = texts.ring.challenged;
            }
        } catch (error) {
            words = `${words} ${Notification.permission === "denied" ? texts.ring.denied : texts.ring.failed(error?.name ?? "")}`;
        }
        await app.reload("pairings");
        announce(words);
        // Not if something else was opened in the meantime.
        if (element.isConnected) {
            if (pairing.code) paired(pairing, stored.name);
            else go("#/");
        }
        void app.refresh({ force: true });
    }

    function paired(pairing, name) {
        show(h("h1", { tabindex: "-1" }, pair.done(name)), h("div", { class: "card" }, openCodePart(pairing)),
            h("div", { class: "buttons" }, h("a", { class: "button", href: "#/" }, texts.list.heading)));
    }

    function toHome(pairing, relayURL, text) {
        const copy = async () => {
            await navigator.clipboard.writeText(isPairingFragment(location.hash) ? location.href : text);
            announce(pair.copied);
            fill(copied, pair.copied);
        };
        const copied = h("p", { class: "quiet" });
        show(h("h1", { tabindex: "-1" }, pair.homeTitle), h("p", { class: "lead" }, pair.homeText),
            h("ol", { class: "steps" }, ...pair.homeSteps.map((step) => h("li", {}, step))),
            h("div", { class: "card" }, h("p", {}, pair.homeFallback),
                h("div", { class: "buttons" }, h("button", { class: "button primary", type: "button", onclick: copy }, pair.copy)), copied),
            pairing.code && h("div", { class: "card" }, openCodePart(pairing)),
            h("button", { class: "button plain", type: "button", onclick: () => confirmPairing(pairing, relayURL, true) }, pair.homeSkip));
    }

    if (fragment) void read(fragment);
    else welcome();
    return { element, title: () => texts.pair.heading, dispose: () => camera?.stop() };
}

/** The links that open OpenCode with the pairing's one-time code: the first address is the one that works in most places. */
function openCodePart(pairing) {
    const { openCode } = texts.pair;
    const links = openingsOf(pairing).map(({ url, host }, index) => h("a", { class: index === 0 ? "button primary" : "button", href: url,
        target: "_blank", rel: "noreferrer" }, openCode.at(host)));
    return [h("p", {}, openCode.text), h("div", { class: "buttons" }, ...links)];
}

function entry(name, value) {
    return h("div", {}, h("dt", {}, name), foreign("dd", {}, value));
}
