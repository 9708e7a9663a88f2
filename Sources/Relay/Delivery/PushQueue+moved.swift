import Storage

/// Storing pushes for devices whose rows another relay may move under another hash at the same moment.
extension PushQueue {
    /// A push and the device that it is for, as the device was read.
    struct Addressed {
        var push: PendingPush
        var device: Device
    }

    /// What became of a push that was to be stored, and its row as it was stored.
    struct Stored {
        var row: Addressed
        var result: Result
    }

    /// Stores pushes; a result for each, in their order.
    ///
    /// While a pepper is changed, a relay with the new one moves a secret's rows (`Storage.rehash`). A device that is
    /// gone from where it was read may then be under another hash of its secret, and its push is stored there.
    func store(_ rows: [Addressed], of key: SecretKey, lease: PushLease?) async -> [Stored] {
        let results = await store(rows.map(\.push), lease: lease)
        var stored = zip(rows, results).map { Stored(row: $0, result: $1) }
        let gone = stored.indices.filter { stored[$0].result == .refused(reason: Self.deviceRemoved) }
        guard key.hasLegacy, !gone.isEmpty else { return stored }
        let devices: [Device]
        do throws(StorageError) {
            devices = try await storage.devices(of: key)
        } catch {
            log(.warning, "queue.failed", [.count("pushes", gone.count), .storageError(error)])
            return stored
        }
        let moved = gone.filter { index in
            guard let device = devices.first(where: { $0.isMoved(from: rows[index].device) }) else {
                return false
            }
            let push = rows[index].push.moved(to: device.secretHash, for: device.id)
            stored[index].row = Addressed(push: push, device: device)
            return true
        }
        let again = await store(moved.map { stored[$0].row.push }, lease: lease)
        for (index, result) in zip(moved, again) { stored[index].result = result }
        return stored
    }
}

extension Device {
    /// Whether it is the other's token under another hash.
    ///
    /// By bytes: Swift takes canonically equal texts for equal.
    fileprivate func isMoved(from other: Device) -> Bool {
        secretHash != other.secretHash && token.utf8.elementsEqual(other.token.utf8)
    }
}
