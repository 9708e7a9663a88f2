internal import Storage

/// The devices of the secrets that were asked for last.
///
/// It is right because this process is the file's one writer: every change of a device passes by here, and is answered
/// only after what it touches has been forgotten. Whoever changes the file by other means (the `sqlite3` program) is
/// seen after `lifetime`. A pure value; times are milliseconds of a clock that never goes back.
struct DeviceCache: Sendable {
    /// When a look-up began, as seen from the changes: what it finds is kept only if there was none since.
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
    /// Secrets used since the last change of generations, and those used in the one before.
    private var young: [SecretHash: Entry] = [:]
    private var old: [SecretHash: Entry] = [:]
    /// Which secret's entry has rows under a legacy hash.
    private var primaries: [SecretHash: SecretHash] = [:]
    /// Devices in the young generation, each entry counting as one more.
    private var weight = 0
    private var changes: UInt64 = 0

    /// A cache of about `capacity` devices, each believed for `lifetime` milliseconds.
    init(capacity: Int, lifetime: Int64) {
        self.capacity = capacity
        self.lifetime = lifetime
    }

    /// The beginning of a look-up that may be kept.
    var epoch: Epoch { Epoch(changes: changes) }

    /// What is known of a secret's devices; nil when they must be looked up.
    mutating func devices(of key: SecretKey, at now: Int64) -> [Device]? {
        if let entry = young[key.primary] {
            return entry.legacy == key.legacy && now < entry.until ? entry.devices : nil
        }
        guard let entry = old[key.primary], entry.legacy == key.legacy, now < entry.until else { return nil }
        insert(entry, key)
        return entry.devices
    }

    /// Keeps what a look-up found, unless something has changed since it began.
    mutating func keep(_ devices: [Device], of key: SecretKey, since epoch: Epoch, at now: Int64) {
        guard epoch == self.epoch, capacity > 0 else { return }
        insert(Entry(devices: devices, legacy: key.legacy, until: now + lifetime), key)
    }

    /// Forgets a secret's devices, after a change of them and before it is answered.
    mutating func forget(_ key: SecretKey) {
        for hash in key.hashes { forget(hash) }
    }

    /// Forgets the devices of which one row is kept under this hash.
    mutating func forget(_ hash: SecretHash) {
        changes &+= 1
        for hash in [hash, primaries.removeValue(forKey: hash)].compactMap(\.self) {
            if let entry = young.removeValue(forKey: hash) { weight -= entry.devices.count + 1 }
            old.removeValue(forKey: hash)
        }
    }

    /// Forgets everything and keeps nothing from now on.
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
