/// Look-ups of several secrets' devices with one statement.
extension SQLSession {
    /// The devices of each secret.
    ///
    /// One statement reads all of a secret's rows. Two statements could miss rows that another caller moves between the
    /// secret's hashes in the meantime.
    func devices(of keys: [SecretKey]) throws(SQLFailure) -> [[Device]] {
        if keys.count == 1 { return [try devices(of: keys[0])] }
        var found: [SecretHash: [Device]] = [:]
        var hashes: Set<SecretHash> = []
        for key in keys {
            if hashes.count + SecretKey.legacyMax + 1 > Self.hashesPerLookupMax {
                try collectDevices(of: hashes, in: &found)
                hashes = []
            }
            hashes.formUnion(key.hashes)
        }
        try collectDevices(of: hashes, in: &found)
        return keys.map { key in key.ordered(key.hashes.flatMap { found[$0] ?? [] }) }
    }

    private func collectDevices(
        of hashes: Set<SecretHash>, in found: inout [SecretHash: [Device]]
    ) throws(SQLFailure) {
        guard let any = hashes.first,
            let selection = Self.lookups.first(where: { $0.places >= hashes.count })
        else { return }
        // The remaining parameters repeat a hash, so they match no additional rows.
        let filling = Array(repeating: any, count: selection.places - hashes.count)
        for hash in hashes { found[hash] = [] }
        try query(selection.sql, (hashes + filling).map { .hash($0) }) { row throws(SQLFailure) in
            let device = try Device(row)
            found[device.secretHash, default: []].append(device)
        }
    }

    private static let hashesPerLookupMax = lookups.last?.places ?? 0

    /// Look-ups in only a few sizes, because each size is a separate prepared statement.
    private static let lookups = [4, 16, 66].map { places in
        let list = Array(repeating: "?", count: places).joined(separator: ", ")
        return (places, "SELECT \(Device.columns) FROM device_registration WHERE secret_hash IN (\(list))")
    }.map { (places: $0.0, sql: $0.1) }
}
