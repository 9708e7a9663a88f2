/// A Sendable box for a value that only its loop's thread may access.
///
/// Access from another thread traps. The value is released on its loop, regardless of which thread drops the last box.
package struct LoopBound<Value>: Sendable {
    private let box: Box

    /// Manages the value manually, so that its last reference can be released on the loop.
    @safe private final class Box: @unchecked Sendable {  // why: the value is used on one thread only
        let held: Unmanaged<Held>
        let loop: EventLoop

        init(_ value: Value, on loop: EventLoop) {
            unsafe held = .passRetained(Held(value))
            self.loop = loop
        }

        deinit {
            guard !loop.isCurrent else { return unsafe held.release() }
            nonisolated(unsafe) let held = unsafe held  // why: the only reference moves to the loop
            loop.submit { unsafe held.release() }
        }
    }

    private final class Held {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    /// Boxes `value`; must be called on `loop`.
    package init(_ value: Value, on loop: EventLoop) {
        precondition(loop.isCurrent, "boxed outside its event loop")
        box = Box(value, on: loop)
    }

    /// The value; access it only on its loop.
    package var value: Value {
        precondition(box.loop.isCurrent, "used outside its event loop")
        return unsafe box.held._withUnsafeGuaranteedRef { $0.value }
    }

    /// The loop that the value belongs to.
    package var loop: EventLoop { box.loop }
}
