internal import Storage

/// A cache for the devices of recently used secrets.
///
/// It is consistent because this process is the file's only writer: every change to a device passes through here and is
/// confirmed only after the affected entries are dropped. Changes by other programs (such as `sqlite3`) are seen after
/// `lifetime` at the latest. The cache is a pure value; times are in milliseconds on a monotonic clock.
struct DeviceCache: Sendable {
    /// The number of changes before a look-up started: the look-up's result is cached only if nothing has changed since
    /// then.
    struct Epoch: Equatable, Sendable {
        fileprivate let changes: UInt64
    }

    private struct Entry: Sendable {
        let devices: [Device]
        let legacy: [SecretHash]
        let until: Int64
    }

    private let capacity: Int
    private let lifetime: Int64
    /// Secrets used in the current generation, and those used in the previous one.
    private var young: [SecretHash: Entry] = [:]
    private var old: [SecretHash: Entry] = [:]
    /// For each legacy hash of a cached secret, the primary hash under which the secret is cached.
    private var primaries: [SecretHash: SecretHash] = [:]
    /// The number of devices in the young generation, plus one for each entry.
    private var weight = 0
    private var changes: UInt64 = 0

    /// Creates a cache of about `capacity` devices, each valid for `lifetime` milliseconds.
    init(capacity: Int, lifetime: Int64) {
        self.capacity = capacity
        self.lifetime = lifetime
    }

    /// Marks the start of a look-up whose result may be cached.
    var epoch: Epoch { Epoch(changes: changes) }

    /// A secret's cached devices; nil if they must be looked up.
    mutating func devices(of key: SecretKey, at now: Int64) -> [Device]? {
        if let entry = young[key.primary] {
            return entry.legacy == key.legacy && now < entry.until ? entry.devices : nil
        }
        guard let entry = old[key.primary], entry.legacy == key.legacy, now < entry.until else { return nil }
        insert(entry, key)
        return entry.devices
    }

    /// Caches a look-up's result, unless something has changed since the look-up began.
    mutating func keep(_ devices: [Device], of key: SecretKey, since epoch: Epoch, at now: Int64) {
        guard epoch == self.epoch, capacity > 0 else { return }
        insert(Entry(devices: devices, legacy: key.legacy, until: now + lifetime), key)
    }

    /// Drops a secret's devices after they have changed; call it before the change is confirmed.
    mutating func forget(_ key: SecretKey) {
        for hash in key.hashes { forget(hash) }
    }

    /// Drops the entries that have a row under this hash.
    mutating func forget(_ hash: SecretHash) {
        changes &+= 1
        for hash in [hash, primaries.removeValue(forKey: hash)].compactMap(\.self) {
            if let entry = young.removeValue(forKey: hash) { weight -= entry.devices.count + 1 }
            old.removeValue(forKey: hash)
        }
    }

    /// Drops everything and caches nothing from now on.
    mutating func end() {
        self = DeviceCache(capacity: 0, lifetime: 0)
        changes = .max
    }

    private mutating func insert(_ entry: Entry, _ key: SecretKey) {
        if weight >= capacity / 2 {
            old = young
            young = [:]
            weight = 0
            primaries = primaries.filter { old[$0.value] != nil }
        }
        if let before = young.updateValue(entry, forKey: key.primary) { weight -= before.devices.count + 1 }
        for legacy in key.legacy { primaries[legacy] = key.primary }
        weight += entry.devices.count + 1
    }
}
