import Testing

@testable import Relay

@Suite("Slots", .timeLimit(.minutes(2)))
struct PushSlotsTests {
    @Test("Slots are taken for a whole event or not at all")
    func taken() {
        var slots = PushSlots(capacity: 5)
        func take(_ count: Int) -> Bool { slots.take(count) }
        #expect(take(3))
        #expect(!take(3))
        #expect(take(2))
        #expect(slots.refuses(1))
        slots.giveBack(4)
        #expect(slots.taken == 1)
        #expect(take(4))
    }

    @Test("A reservation is adjusted to the number that is needed, up or down")
    func exchanged() {
        var slots = PushSlots(capacity: 5)
        func take(_ count: Int) -> Bool { slots.take(count) }
        #expect(take(2))
        #expect(take(2))
        slots.exchange(2, for: 4)
        #expect(slots.taken == 6 && slots.refuses(1))
        slots.exchange(4, for: 0)
        #expect(slots.taken == 2)
    }

    @Test("An event with more devices than slots is sent when no slot is in use")
    func tooLarge() {
        var slots = PushSlots(capacity: 5)
        func take(_ count: Int) -> Bool { slots.take(count) }
        #expect(take(7))
        #expect(slots.refuses(1))
        slots.giveBack(7)
        #expect(take(1))
        #expect(!take(7))
    }
}
