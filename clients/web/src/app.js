// The page's state, and what changes it.
import { keyOf, post } from "./api.js";
import { showBadge } from "./badge.js";
import { historyOf } from "./history.js";
import { unreadCount } from "./items.js";
import { WebPush } from "./library.js";
import { hasWebPush } from "./platform.js";
import { sync } from "./registration.js";
import { announce, items, observe, pairings, values } from "./store.js";

const syncMilliseconds = 60_000;

export class App {
    pairings = [];
    items = [];
    filter = {};
    /** The result of `sync`: whether this device rings. */
    ring = hasWebPush() ? "unknown" : "unsupported";
    failed = [];
    isHistoryOff = false;
    registration;
    #next = new Map();
    #keys = new Map();
    #listeners = new Set();
    #synced = 0;

    /** Calls a function after each change. */
    observe(listener) {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
    }

    changed() {
        for (const listener of this.#listeners) listener();
    }

    get unread() {
        return unreadCount(this.items);
    }

    get hasOlder() {
        return [...this.#next.values()].some(Boolean);
    }

    pairing(id) {
        return this.pairings.find((pairing) => pairing.id === id);
    }

    /** Reads what is stored, and follows changes by the worker and other windows. */
    async load() {
        observe(({ kind }) => void this.reload(kind).catch(() => {}));
        await this.reload("pairings");
        await this.reload("items");
    }

    async reload(kind) {
        if (kind === "pairings") this.pairings = await pairings.all();
        else this.items = await items.all();
        if (kind !== "pairings") showBadge().catch(() => {});
        this.changed();
    }

    /** Starts the worker that receives pushes. */
    async startWorker() {
        if (!globalThis.navigator?.serviceWorker) return;
        try {
            await navigator.serviceWorker.register("worker.js", { type: "module", updateViaCache: "none" });
            this.registration = await navigator.serviceWorker.ready;
        } catch {
            this.registration = undefined;
        }
        this.changed();
    }

    /** Brings registrations and history up to date; not often, unless forced. */
    async refresh({ force = false } = {}) {
        if (!force && Date.now() - this.#synced < syncMilliseconds) return;
        this.#synced = Date.now();
        await Promise.all([this.#sync(), this.loadHistory()]);
    }

    async #sync() {
        for (const { relayURL } of this.pairings) await this.loadKey(relayURL);
        if (!hasWebPush()) return;
        const { ring, results } = await sync(this.registration, this.pairings);
        this.ring = Notification.permission === "denied" ? "denied" : ring;
        this.failed = results.filter(({ state }) => state === "failed");
        this.changed();
    }

    /** Loads a relay's key early: in a click there is no time to ask for it. */
    async loadKey(relayURL) {
        try {
            this.#keys.set(relayURL, await keyOf(relayURL));
        } catch {
            this.#keys.delete(relayURL);
        }
        return this.#keys.get(relayURL);
    }

    keyOf(relayURL) {
        return this.#keys.get(relayURL);
    }

    /** Subscribes; must be called directly in a click. Then registers. Throws what the browser throws. */
    async turnOn(relayURL = this.pairings[0]?.relayURL) {
        const key = this.#keys.get(relayURL);
        if (typeof key !== "object" || !this.registration) throw new TypeError("not ready");
        const { pushManager } = this.registration;
        // The first call to the browser must come before any wait.
        const subscribed = this.ring === "renew"
            ? pushManager.getSubscription().then((old) => WebPush.subscribe(pushManager, key.publicKey, old))
            : WebPush.subscribe(pushManager, key.publicKey);
        try {
            await subscribed;
        } catch (error) {
            if (error?.name !== "InvalidStateError") throw error;
            await WebPush.subscribe(pushManager, key.publicKey, await pushManager.getSubscription());
        }
    }

    async loadHistory() {
        await Promise.allSettled(this.pairings.map((pairing) => this.#loadPage(pairing)));
        await this.#sendRead();
    }

    async loadOlder() {
        const waiting = this.pairings.filter(({ id }) => this.#next.get(id));
        await Promise.allSettled(waiting.map((pairing) => this.#loadPage(pairing, this.#next.get(pairing.id))));
    }

    async #loadPage(pairing, before) {
        const page = await historyOf(pairing, { before });
        this.isHistoryOff = page.isOff === true && this.pairings.length === 1;
        this.#next.set(pairing.id, page.next);
        const clearedAt = (await values.get("clearedAt")) ?? 0;
        const kept = page.items.filter((item) => item.at > clearedAt);
        if (kept.length < page.items.length) this.#next.delete(pairing.id);
        if (kept.length > 0) await items.add(kept);
        else this.changed();
    }

    /** Marks items as read here and in the relay's history. */
    async markRead(list) {
        const unread = list.filter((item) => !item.readAt);
        if (unread.length === 0) return;
        for (const { key } of unread) await items.update(key, () => ({ readAt: Date.now(), isReadUntold: true }));
        await this.#sendRead();
    }

    /** Tells the relay what was read, including what was read while it couldn't be reached. */
    async #sendRead() {
        const all = await items.all();
        for (const pairing of this.pairings) {
            const untold = all.filter((item) => item.pairing === pairing.id && item.isReadUntold && item.historyID);
            for (let index = 0; index < untold.length; index += 100) {
                const part = untold.slice(index, index + 100);
                try {
                    await post(pairing, "/v1/history/read", { ids: part.map(({ historyID }) => historyID) });
                } catch {
                    return;
                }
                for (const { key } of part) await items.update(key, () => ({ isReadUntold: undefined }));
            }
        }
    }

    async clearItems() {
        await this.markRead(this.items);
        await values.put("clearedAt", Date.now());
        this.#next.clear();
        await items.clear();
        announce({ kind: "items" });
        for (const notification of (await this.registration?.getNotifications?.()) ?? []) notification.close();
    }

    /** Removes the notifications of an item that was read or answered. */
    async closeNotification(key) {
        for (const notification of (await this.registration?.getNotifications?.()) ?? []) {
            if (notification.data?.item?.key === key) notification.close();
        }
    }
}
