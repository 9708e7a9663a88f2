// What the page and the worker store: pairings, items and a few values. Changes are announced to the other windows and the worker.
import { Replay } from "./library.js";
import * as database from "./database.js";
import { itemsMax, merged, sorted } from "./items.js";

const channel = globalThis.BroadcastChannel ? new BroadcastChannel("apn-relay") : undefined;
const listeners = new Set();
if (channel) channel.onmessage = ({ data }) => notify(data);

/** Calls a function with each change: `{ kind }`, which is `pairings`, `items`, `arrived` or `state`. Returns a function that stops this. */
export function observe(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
}

function notify(change) {
    for (const listener of listeners) listener(change);
}

/** Announces a change here and in other windows. */
export function announce(change) {
    notify(change);
    channel?.postMessage(change);
}

export const pairings = {
    all: async () => (await database.all("pairings")).sort((one, other) => one.addedAt - other.addedAt),
    get: (id) => database.get("pairings", id),
    async put(pairing) {
        await database.put("pairings", pairing);
        announce({ kind: "pairings" });
    },
    /** Changes a pairing if it still exists. */
    async update(id, change) {
        const next = await database.update("pairings", id, (old) => (old ? { ...old, ...change(old) } : undefined));
        announce({ kind: "pairings" });
        return next;
    },
    async remove(id) {
        await database.remove("pairings", id);
        for (const item of await database.all("items")) if (item.pairing === id) await database.remove("items", item.key);
        announce({ kind: "pairings" });
        announce({ kind: "items" });
    },
};

export const items = {
    all: async () => sorted(await database.all("items")),
    get: (key) => database.get("items", key),
    /** Adds items, or completes existing ones. Keeps the newest items; fewer if there is no room. */
    async add(list, change = { kind: "items" }) {
        const added = [];
        for (const item of list) {
            const put = () => database.update("items", item.key, (old) => merged(old, item));
            added.push(await put().catch(async () => {
                await keep(itemsMax / 4);
                return put();
            }));
        }
        await keep(itemsMax);
        announce(change);
        return added;
    },
    async update(key, change) {
        const next = await database.update("items", key, (old) => (old ? { ...old, ...change(old) } : undefined));
        announce({ kind: "items" });
        return next;
    },
    async clear() {
        await database.clear("items");
        announce({ kind: "items" });
    },
};

async function keep(count) {
    const old = sorted(await database.all("items")).slice(count);
    for (const { key } of old) await database.remove("items", key);
}

/** Small values by name, such as this installation's ID. */
export const values = {
    get: (name) => database.get("values", name),
    put: (name, value) => database.put("values", value, name),
    remove: (name) => database.remove("values", name),
    update: (name, change) => database.update("values", name, change),
};

const replay = new Replay({ get: values.get, set: values.put });

/** Whether an opened envelope is `fresh`, `stale` or `repeated`; remembers it. One at a time, even across workers and windows. */
export function checkReplay(opened) {
    const check = () => replay.check(opened);
    return globalThis.navigator?.locks ? navigator.locks.request("apn-relay.replay", check) : check();
}
