import Network

/// Waits until a condition holds; gives up after a time that suffices even on a busy machine.
func eventually(_ condition: () async -> Bool) async -> Bool {
    let end = MonotonicTime.current + .seconds(30)
    while MonotonicTime.current < end {
        if await condition() { return true }
        await Task.yield()
    }
    return false
}
