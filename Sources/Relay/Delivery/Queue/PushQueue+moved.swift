import Storage

/// Stores pushes for devices whose rows another relay may be moving to another hash.
extension PushQueue {
    /// A push and its device as read from the database.
    struct Addressed {
        var push: PendingPush
        var device: Device
    }

    /// The result of storing a push, with the row that was used.
    struct Stored {
        var row: Addressed
        var result: Result
    }

    /// Stores pushes and returns a result for each, in order.
    ///
    /// During a pepper change, another relay may move a secret's rows (`Storage.rehash`) after the devices were
    /// read. If a device is gone, it is looked up again under all hashes of its secret, and its push is stored
    /// under its new hash.
    func store(_ rows: [Addressed], of key: SecretKey, lease: PushLease?) async -> [Stored] {
        let results = await store(rows.map(\.push), lease: lease)
        var stored = zip(rows, results).map { Stored(row: $0, result: $1) }
        let gone = stored.indices.filter {
            stored[$0].result == .refused(reason: FailureReason.deviceRemoved)
        }
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
    /// Whether this is the same token under another hash.
    ///
    /// Compares bytes, because Swift treats canonically equivalent strings as equal.
    fileprivate func isMoved(from other: Device) -> Bool {
        secretHash != other.secretHash && token.utf8.elementsEqual(other.token.utf8)
    }
}
