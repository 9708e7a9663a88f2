/// Learns of the calls that a task makes to a storage.
package protocol StorageObserver: Sendable {
    /// A call begins; returns the time on the observer's clock.
    func beganCall() -> UInt64

    /// A call ended.
    ///
    /// - Parameters:
    ///   - name: The method's name, such as `claim`.
    ///   - began: What ``beganCall()`` returned.
    func endedCall(_ name: String, began: UInt64, isFailed: Bool)
}

/// The calls of the current task to storages.
package enum StorageCalls {
    /// Learns of the calls of this task and of those that it starts.
    @TaskLocal package static var observer: (any StorageObserver)?

    /// Does the work of a call and tells the observer, if there is one; without one, it costs a look-up of the task's
    /// values.
    ///
    /// - Parameter function: The method's `#function`.
    package static func observed<Output>(
        _ function: StaticString, _ work: () async throws(StorageError) -> Output
    ) async throws(StorageError) -> Output {
        guard let observer else { return try await work() }
        let name = String(function.description.prefix { $0 != "(" })
        let began = observer.beganCall()
        do throws(StorageError) {
            let output = try await work()
            observer.endedCall(name, began: began, isFailed: false)
            return output
        } catch {
            observer.endedCall(name, began: began, isFailed: true)
            throw error
        }
    }
}
