import Network

/// Waits until something holds; gives up after a time that a loaded machine doesn't need either.
func eventually(_ condition: () async -> Bool) async -> Bool {
    let end = MonotonicTime.current + .seconds(30)
    while MonotonicTime.current < end {
        if await condition() { return true }
        await Task.yield()
    }
    return false
}
