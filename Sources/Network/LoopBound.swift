/// A value that only its loop's thread can reach, in a box that may travel anywhere.
///
/// Reaching it elsewhere stops the program. When the last box goes elsewhere, the value is released on its loop.
package struct LoopBound<Value>: Sendable {
    private let box: Box

    private final class Box: @unchecked Sendable {  // why: used on one thread only
        let value: Value
        let loop: EventLoop

        init(_ value: Value, on loop: EventLoop) {
            self.value = value
            self.loop = loop
        }

        deinit {
            guard !loop.isCurrent else { return }
            nonisolated(unsafe) let value = value  // why: the last reference moves to the loop and ends there
            loop.submit { _ = unsafe value }
        }
    }

    /// Boxes `value`.
    ///
    /// Only on `loop`.
    package init(_ value: Value, on loop: EventLoop) {
        precondition(loop.isCurrent, "boxed outside its event loop")
        box = Box(value, on: loop)
    }

    /// The value.
    ///
    /// Only on its loop.
    package var value: Value {
        precondition(box.loop.isCurrent, "used outside its event loop")
        return box.value
    }

    /// The loop that the value belongs to.
    package var loop: EventLoop { box.loop }
}
