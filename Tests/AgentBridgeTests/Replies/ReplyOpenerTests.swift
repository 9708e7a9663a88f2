import PushSealing
import Testing

@testable import AgentBridge

@Suite("Which replies count", .timeLimit(.minutes(2)))
struct ReplyOpenerTests {
    private let keyless = ReplyOpener(keys: [], requiresSealed: false)

    @Test("readable replies count only where texts are readable, and sealed ones only for their event")
    func opening() throws {
        let pairing = PairingSecret()
        let key = SealedReply.Key(pairing)
        let strict = ReplyOpener(keys: [key], requiresSealed: true)
        let lenient = ReplyOpener(keys: [key], requiresSealed: false)
        let sealed = GivenReply(
            action: "always", sealed: try SealedReply(action: "once", sentAt: 1).sealed(for: "e", with: key))
        let readable = GivenReply(action: "reject", text: "no")
        let rejection = RequestReply(choice: .reject, message: "no")
        for opener in [strict, lenient] {
            #expect(try opener.open(sealed, to: "e", of: .permission) == RequestReply(choice: .once))
            #expect(throws: ReplyRefusal.refused(.notAuthentic)) {
                try opener.open(sealed, to: "f", of: .permission)
            }
        }
        #expect(try lenient.open(readable, to: "e", of: .permission) == rejection)
        #expect(try keyless.open(readable, to: "e", of: .permission) == rejection)
        for blank in ["", " \n"] {
            let opened = try keyless.open(
                GivenReply(action: "reject", text: blank), to: "e", of: .permission)
            #expect(opened == RequestReply(choice: .reject))
        }
        #expect(throws: ReplyRefusal.readable) { try strict.open(readable, to: "e", of: .permission) }
        #expect(throws: ReplyRefusal.noKey) { try keyless.open(sealed, to: "e", of: .permission) }
        for action in ["approve", "Once", nil] {
            #expect(throws: ReplyRefusal.unknownAction) {
                try keyless.open(GivenReply(action: action, text: "once"), to: "e", of: .permission)
            }
        }
        // What an earlier process offered only becomes known later.
        #expect(throws: ReplyRefusal.notOffered) {
            try keyless.open(GivenReply(action: "always"), to: "e", of: ReplyOffer(actions: [.reject]))
        }
        #expect(
            try keyless.open(GivenReply(action: "always"), to: "e", of: nil) == RequestReply(choice: .always))
        let other = GivenReply(sealed: try SealedReply(action: "yes", sentAt: 1).sealed(for: "e", with: key))
        #expect(throws: ReplyRefusal.unknownAction) { try strict.open(other, to: "e", of: .permission) }
    }
}
