// The page's and the worker's IndexedDB database. Each call is one transaction.

const name = "apn-relay";
const version = 1;
const stores = { pairings: { keyPath: "id" }, items: { keyPath: "key" }, values: undefined };

let opened;

/** Reads one record; undefined if there is none. */
export function get(store, key) {
    return transact(store, "readonly", (records) => records.get(key));
}

/** Reads all records. */
export function all(store) {
    return transact(store, "readonly", (records) => records.getAll());
}

/** Stores a record; `key` is for the store `values`. */
export function put(store, value, key) {
    return transact(store, "readwrite", (records) => records.put(value, key));
}

export function remove(store, key) {
    return transact(store, "readwrite", (records) => records.delete(key));
}

export function clear(store) {
    return transact(store, "readwrite", (records) => records.clear());
}

/** Atomically replaces a record with the result of a function; undefined removes it. Returns the new record. */
export function update(store, key, change) {
    let next;
    return transact(store, "readwrite", (records) => {
        const read = records.get(key);
        read.onsuccess = () => {
            next = change(read.result);
            if (next === undefined) records.delete(key);
            else if (records.keyPath === null) records.put(next, key);
            else records.put(next);
        };
        return read;
    }).then(() => next);
}

async function transact(store, mode, work) {
    const database = await (opened ??= open());
    return new Promise((resolve, reject) => {
        const transaction = database.transaction(store, mode);
        const request = work(transaction.objectStore(store));
        transaction.oncomplete = () => resolve(request.result);
        transaction.onabort = () => reject(transaction.error ?? new Error("the database aborted"));
    });
}

function open() {
    return new Promise((resolve, reject) => {
        const request = globalThis.indexedDB.open(name, version);
        request.onupgradeneeded = () => {
            for (const [store, options] of Object.entries(stores)) request.result.createObjectStore(store, options);
        };
        request.onsuccess = () => {
            const database = request.result;
            // Another window is upgrading or deleting it; the next call opens it again.
            const forget = () => {
                database.close();
                opened = undefined;
            };
            database.onversionchange = forget;
            database.onclose = forget;
            resolve(database);
        };
        request.onerror = () => {
            opened = undefined;
            reject(request.error);
        };
    });
}
