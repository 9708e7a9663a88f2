/// A bounded queue of calls for one thread, which takes them in batches.
///
/// The caller whose `put` returns true wakes the thread; later callers don't need to. The thread takes batches
/// until one is empty; after that, the next `put` must wake it again.
package struct Inbox<Element: Sendable>: Sendable {
    @usableFromInline
    struct State: Sendable {
        @usableFromInline var elements: [Element] = []
        @usableFromInline var awake = false
        @usableFromInline var closed = false
    }

    @usableFromInline let state = Guarded(State())
    @usableFromInline let capacity: Int

    /// Creates an inbox for at most `capacity` waiting elements.
    package init(capacity: Int) {
        self.capacity = capacity
    }

    /// Adds an element; returns true if the caller must wake the thread.
    ///
    /// Throws `closed` after `close()`, and `unavailable` while the inbox is full.
    @inlinable
    package func put(_ element: Element) throws(StorageError) -> Bool {
        let result: Result<Bool, StorageError> = state.withLock { state in
            guard !state.closed else { return .failure(.closed) }
            guard state.elements.count < capacity else {
                return .failure(.unavailable(logDetail: "\(capacity) calls are already waiting"))
            }
            state.elements.append(element)
            defer { state.awake = true }
            return .success(!state.awake)
        }
        return try result.get()
    }

    /// Takes the oldest elements, at most `limit`; when there are none, the next `put` returns true.
    @inlinable
    package func take(limit: Int) -> [Element] {
        state.withLock { state in
            guard state.elements.count > limit else {
                let batch = state.elements
                state.elements = []
                if batch.isEmpty { state.awake = false }
                return batch
            }
            let batch = Array(state.elements.prefix(limit))
            state.elements.removeFirst(limit)
            return batch
        }
    }

    /// Refuses new elements; waiting ones stay until they are taken.
    package func close() {
        state.withLock { $0.closed = true }
    }

    /// The number of waiting elements, counting a batch in progress as one; 0 if the thread is idle.
    @inlinable package var load: Int {
        state.withLock { $0.elements.count + ($0.awake ? 1 : 0) }
    }
}
