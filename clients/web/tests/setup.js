// Browser features that Node lacks. Import it before the page's modules.
import { webcrypto } from "node:crypto";

globalThis.crypto ??= webcrypto;
// Its messages would keep Node running.
delete globalThis.BroadcastChannel;
globalThis.location = new URL("https://relay.example.org/app/?x=1#pair=secret");
Object.defineProperty(globalThis, "navigator", { value: { userAgent: "Mozilla/5.0 (X11; Linux) Firefox/153.0" }, configurable: true });

/** As much of IndexedDB as the page uses. */
class Records {
    rows = new Map();

    constructor(keyPath) {
        this.keyPath = keyPath ?? null;
    }
}

class Store {
    constructor(records, transaction) {
        this.keyPath = records.keyPath;
        const request = (work) => () => transaction.add(work);
        const { rows } = records;
        this.get = (key) => request(() => structuredClone(rows.get(key)))();
        this.getAll = request(() => [...rows.values()].map((row) => structuredClone(row)));
        this.put = (row, key) => request(() => void rows.set(key ?? row[this.keyPath], structuredClone(row)))();
        this.delete = (key) => request(() => void rows.delete(key))();
        this.clear = request(() => rows.clear());
    }
}

class Transaction {
    waiting = [];

    constructor() {
        queueMicrotask(() => this.run());
    }

    add(work) {
        const request = { work };
        this.waiting.push(request);
        return request;
    }

    run() {
        while (this.waiting.length > 0) {
            const request = this.waiting.shift();
            request.result = request.work();
            request.onsuccess?.();
        }
        this.oncomplete?.();
    }
}

const stores = new Map();
const database = {
    createObjectStore: (name, options) => stores.set(name, new Records(options?.keyPath)),
    transaction: (name) => {
        const transaction = new Transaction();
        transaction.objectStore = () => new Store(stores.get(name), transaction);
        return transaction;
    },
    close() {},
};
globalThis.indexedDB = {
    open() {
        const request = { result: database };
        queueMicrotask(() => {
            request.onupgradeneeded();
            request.onsuccess();
        });
        return request;
    },
};

/** Removes everything that is stored. */
export function forgetAll() {
    for (const { rows } of stores.values()) rows.clear();
}

/** A relay in place of `fetch`: `answer(path, body)` returns the response's JSON, `{ status, … }` for errors, or throws. Returns the requests. */
export function useRelay(answer) {
    const requests = [];
    globalThis.fetch = async (url, { body } = {}) => {
        const path = new URL(url).pathname;
        const members = body ? JSON.parse(body) : undefined;
        requests.push({ path, body: members });
        const { status = 200, ...rest } = await answer(path, members);
        return new Response(JSON.stringify({ ok: status === 200, ...rest }), { status });
    };
    return requests;
}
