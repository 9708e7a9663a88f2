import Network

/// Polls until a condition holds; gives up after a time that suffices even on a busy machine.
///
/// Between two polls it leaves the processor, and the locks that the condition takes, to the code under test.
func eventually(_ condition: () async -> Bool) async -> Bool {
    let end = MonotonicTime.current + .seconds(30)
    while MonotonicTime.current < end {
        if await condition() { return true }
        try? await Task.sleep(for: .milliseconds(1))
    }
    return false
}
