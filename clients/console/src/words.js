// What the relay's faults and names mean.

const checks = {
    storage: ["Database", "answers"],
    write: ["Database writes", "can be written"],
    apns: ["APNs", "accepts the relay's pushes"],
    queue: ["Queue", "nothing overdue"],
    clock: ["Clock", "agrees with the database's"],
};
const faults = {
    storage: { unavailable: "The database doesn't answer. Events get 503 until it does." },
    write: {
        full: "The disk or the database is full.", read_only: "The database is read-only.", refused: "The database refuses writes: check its account's privileges.",
        timeout: "Writes take too long.", failed: "Writes fail: see the relay's log.",
    },
    queue: { overdue: "A queued push is overdue: the push service or the database is slow or away." },
    clock: { differs: "This machine's clock differs from the database server's." },
};

/** A check of /ready as `{ name, text, isGood }`. */
export function check({ name, fault }) {
    const [title, fine] = checks[name] ?? [name, "fine"];
    if (fault === undefined) return { name: title, text: fine, isGood: true };
    if (fault === "unknown") return { name: title, text: "Can't be checked while the database is away.", isGood: false };
    return { name: title, text: faults[name]?.[fault] ?? `APNs answers ${fault}.`, isGood: false };
}

/** The limits, by their names in the metrics. */
export const limits = {
    events: "Events per minute of a secret", registrations: "Registrations per minute of a secret",
    unknown_secrets: "Unknown secrets of an address", device_pushes: "Pushes per minute to a device",
    device_secrets: "New secrets per day of a device", challenges: "Registration challenges", devices: "Devices of a secret",
    devices_total: "Devices in all", pushes: "Pushes in flight", connections: "Connections", reply_waits: "Waits for replies of a secret",
    queue: "Size of the queue",
};

export const transports = { apns: "APNs", webpush: "Web Push" };
