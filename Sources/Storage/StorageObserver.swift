/// Observes the calls that a task makes to a storage.
package protocol StorageObserver: Sendable {
    /// Called when a call begins; returns the time on the observer's clock.
    func beganCall() -> UInt64

    /// Called when a call has ended.
    ///
    /// - Parameters:
    ///   - name: The method's name, such as `claim`.
    ///   - began: The time that ``beganCall()`` returned.
    func endedCall(_ name: String, began: UInt64, isFailed: Bool)
}

/// Observes the current task's calls to storages.
package enum StorageCalls {
    /// The observer of calls made by this task and by the tasks that it starts.
    @TaskLocal package static var observer: (any StorageObserver)?

    /// Runs a call and notifies the observer, if there is one; without an observer, this costs one look-up of a
    /// task-local value.
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
