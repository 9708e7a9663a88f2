// Starts the page.
import { App } from "./app.js";
import { fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { useStoredKeys } from "./keys.js";
import { isPairingFragment } from "./link.js";
import { isTabOnIOS } from "./platform.js";
import { Presence } from "./presence.js";
import { routeOf } from "./routes.js";
import { texts } from "./texts.js";
import { checkView } from "./views/check.js";
import { itemView } from "./views/item.js";
import { listView } from "./views/list.js";
import { pairView } from "./views/pair.js";
import { pairingView } from "./views/pairing.js";
import { settingsView } from "./views/settings.js";
import { shell } from "./views/shell.js";

const views = {
    list: () => ({ element: h("div", { class: "empty choose" }, h("div", { class: "disc" }, icon("notify")),
        h("p", {}, texts.list.choose)) }),
    item: itemView, check: checkView, pair: pairView,
    settings: (app, options) => (options.id === undefined ? settingsView(app, options) : pairingView(app, options)),
};

function refuse(text) {
    fill(document.body, h("main", { class: "refusal" }, h("h1", {}, texts.unsupported.title), h("p", {}, text)));
}

async function start() {
    if (!globalThis.isSecureContext || !globalThis.crypto?.subtle) return refuse(texts.unsupported.insecure);
    useStoredKeys();
    // Without a start address, the app on the home screen starts where it was added, with the pairing's link.
    if (isTabOnIOS()) document.querySelector("link[rel=manifest]").href = "home.webmanifest";
    const app = new App();
    try {
        await app.load();
    } catch {
        return refuse(texts.unsupported.storage);
    }
    app.workerStarted = app.startWorker();
    const frame = shell(document.body);
    const list = listView(app, frame);
    fill(frame.list, list.element);
    let view;
    let shown;

    const go = (fragment) => {
        if (location.hash === fragment) show();
        else location.hash = fragment;
    };
    // Only after storing, so that nothing is lost if the page is closed first; from then on, the address contains no secret.
    const clearFragment = () => history.replaceState(null, "", location.pathname + location.search);

    function draw() {
        list.update(view?.key);
        view?.update?.();
        document.title = [view?.title?.(), texts.title(app.unread)].filter(Boolean).join(" – ");
    }

    function show() {
        const { hash } = location;
        const isLink = isPairingFragment(hash);
        const route = isLink || (app.pairings.length === 0 && routeOf(hash).page === "list") ? { page: "pair" } : routeOf(hash);
        view?.dispose?.();
        view = views[route.page](app, { ...route, fragment: isLink ? hash : undefined, clearFragment, go, announce: frame.announce });
        view.key = route.page === "item" ? route.id : undefined;
        frame.select(route.page, app.pairings.length === 0);
        fill(frame.detail, h("div", { class: "scroll" }, h("a", { class: "back only-item", href: "#/" }, icon("back"), texts.back), view.element));
        draw();
        // Not at startup: a screen reader begins at the top.
        if (shown !== undefined && route.page !== "list") frame.detail.querySelector("h1")?.focus({ preventScroll: true });
        shown = route.page;
    }

    app.observe(draw);
    addEventListener("hashchange", show);
    const presence = new Presence(() => app.pairings);
    // After the registration, which would end the presence.
    const refresh = (options) => void app.refresh(options).catch(() => {}).then(() => presence.update());
    const setOnline = () => {
        frame.setOffline(!navigator.onLine);
        if (navigator.onLine) refresh({ force: true });
    };
    addEventListener("online", setOnline);
    addEventListener("offline", setOnline);
    document.addEventListener("visibilitychange", () => (document.hidden ? void presence.update() : refresh()));
    navigator.serviceWorker?.addEventListener("message", ({ data }) => {
        if (typeof data?.open === "string" && /^#\//.test(data.open)) go(data.open);
    });
    frame.setOffline(!navigator.onLine);
    show();
    await app.workerStarted;
    setOnline();
    // The browser then keeps the page's store when space is short.
    navigator.storage?.persist?.().catch(() => {});
}

void start();
