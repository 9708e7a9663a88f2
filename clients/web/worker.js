// The service worker: receives pushes, shows them, and keeps the page for offline use.
import { answer, isFinal } from "./src/answering.js";
import { showBadge } from "./src/badge.js";
import { files } from "./src/files.js";
import { useStoredKeys } from "./src/keys.js";
import { readMessage } from "./src/message.js";
import { notificationOf, quickActionsOf, tagOf } from "./src/notification.js";
import { itemOf } from "./src/pushes.js";
import { answerChallenge, sync } from "./src/registration.js";
import { hrefOfItem } from "./src/routes.js";
import { announce, checkReplay, items, pairings, values } from "./src/store.js";
import { texts } from "./src/texts.js";

const cacheName = "apn-relay-page";
const networkMilliseconds = 3_000;
const base = new URL("./", self.location.href).href;
const addresses = new Set([base, ...files.map((file) => base + file)]);
let offlineUntil = 0;

useStoredKeys();

self.addEventListener("install", (event) => {
    event.waitUntil(keepPage().then(() => self.skipWaiting()));
});
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => event.waitUntil(receive(event)));
self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(pairings.all().then((list) => sync(self.registration, list))));
self.addEventListener("notificationclick", (event) => {
    event.notification.close();
    const { item } = event.notification.data ?? {};
    event.waitUntil(item && event.action ? reply(item, event.action) : open(item));
});
self.addEventListener("fetch", (event) => {
    const { request } = event;
    const address = request.url.replace(/[?#].*$/s, "");
    if (request.method === "GET" && addresses.has(address)) event.respondWith(fromNetworkOrCache(request, address));
});

/** Always shows something: browsers end subscriptions whose pushes show nothing. */
async function receive(event) {
    const message = readMessage(event);
    let list = [];
    const load = async () => (list = await pairings.all());
    const item = await itemOf(message, { load, check: checkReplay });
    if (message.challenge) return showChallenge(message, item);
    if (message.clear) return showCleared(message.clear.eventID);
    const pairing = list.find(({ id }) => id === item.pairing);
    await show(notificationOf(item, { pairing, isNamed: list.length > 1, base }));
    // Failures from here on must not hide the notification.
    await Promise.allSettled([keep(item), values.put("arrival", { at: Date.now(), isLocked: item.isSealed && !item.isOpened })]);
    announce({ kind: "arrived", key: item.key, eventID: item.eventID });
    showBadge().catch(() => {});
}

async function show({ title, options }) {
    try {
        await self.registration.showNotification(title, options);
    } catch {
        // If the browser refuses an option, at least show the text.
        const { body, tag, data } = options;
        await self.registration.showNotification(title, { body, tag, data });
    }
}

async function keep(item) {
    const [stored] = await items.add([item]);
    // An event that rings again stays answered, but is unread again.
    if (stored?.readAt && !stored.reply) await items.update(item.key, () => ({ readAt: undefined }));
}

async function showChallenge({ challenge }, item) {
    const subscription = await self.registration.pushManager.getSubscription();
    const isDone = await answerChallenge(challenge, subscription).catch(() => false);
    const text = isDone ? texts.challenge.done : texts.challenge.unknown;
    await show(notificationOf({ ...item, title: text.title, body: text.body, level: "passive", actions: [] }, { base }));
}

/** Web Push can't remove a notification without showing one, so the request's notification is replaced by one that says it is over. */
async function showCleared(eventID) {
    const item = (await items.all()).find((item) => item.eventID === eventID);
    const over = { key: "-.cleared", type: "notify", at: Date.now(), ...item, title: item?.title,
        body: texts.fate.answered_elsewhere, level: "passive", actions: [] };
    const { title, options } = notificationOf(over, { base });
    await show({ title, options: { ...options, tag: item ? tagOf(item) : options.tag, data: { item } } });
}

/** Shows an item in an open window, or else in a new one. */
async function open(item) {
    // The worker may have been unable to store it.
    if (item) await items.add([item]).catch(() => {});
    const address = base + (item ? hrefOfItem(item.key) : "");
    const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
    const own = windows.find(({ url }) => url.startsWith(base));
    if (!own) return self.clients.openWindow(address);
    own.postMessage({ open: address.slice(base.length) });
    return own.focus().catch(() => undefined);
}

/** Sends the answer of a notification's button, and shows a notification if that fails. */
async function reply(shown, action) {
    const item = (await items.get(shown.key)) ?? (await items.add([shown]).then(([item]) => item));
    const pairing = await pairings.get(item.pairing);
    if (item.reply || !quickActionsOf(item, pairing).includes(action)) return open(item);
    const last = await answer({ item, pairing, action, waits: 2 }).catch(() => ({ fate: "unsent" }));
    if (last.fate === "taken" || last.fate === "waiting") return undefined;
    const body = texts.fateOf(last);
    if (isFinal(last.fate) || last.fate === "unsent") {
        const { options } = notificationOf({ ...item, actions: [] }, { pairing, base });
        await show({ title: texts.fate.failedTitle, options: { ...options, body, tag: tagOf(item), data: { item } } });
    }
    return undefined;
}

async function keepPage() {
    const cache = await caches.open(cacheName);
    await cache.addAll([...addresses].map((address) => new Request(address, { cache: "no-cache" })));
}

/** The relay's file if it arrives soon, so that the page is never older than the relay; else the cached file. */
async function fromNetworkOrCache(request, address) {
    const cache = await caches.open(cacheName);
    if (Date.now() >= offlineUntil) {
        try {
            const response = await fetch(address, { cache: "no-cache", signal: AbortSignal.timeout(networkMilliseconds) });
            if (response.ok && !response.redirected) {
                await cache.put(address, response.clone()).catch(() => {});
                return response;
            }
        } catch {
            // Applies to all files of one visit, so that they don't each wait.
            offlineUntil = Date.now() + 10_000;
        }
    }
    return (await cache.match(address)) ?? fetch(request);
}
