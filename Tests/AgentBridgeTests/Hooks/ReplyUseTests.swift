import JSON
import Testing

@testable import AgentBridge

@Suite("From a reply to a decision", .timeLimit(.minutes(2)))
struct ReplyUseTests {
    /// What happens around a decision.
    private final class World {
        var over: ReplyFate?
        var state = ClaudeTranscript.State.open
        var isLogged = true
        var isRead = true
        /// What happens while the log is written.
        var meanwhile: (World) -> Void = { _ in }
        var log: [String] = []
        var printed: [String] = []

        func take(_ reply: RequestReply, of name: String) throws -> ReplyFate {
            let capture = try Capture(name)
            let request = try #require(AgentRequest(capture.json, of: capture.agent, host: "desk"))
            let use = ReplyUse(
                request: request, over: { self.over }, state: { self.state },
                record: { word in
                    self.log.append(word)
                    self.meanwhile(self)
                    return self.isLogged
                },
                print: { output in
                    guard self.isRead else { return false }
                    self.printed.append(String(decoding: output.encoded(), as: UTF8.self))
                    return true
                })
            return use.take(reply)
        }
    }

    private let rule = "claude_PermissionRequest_Bash_addRules"
    private let once = RequestReply(choice: .once)
    private let always = RequestReply(choice: .always)

    @Test("a reply to an open request is logged and printed")
    func taken() throws {
        let world = World()
        #expect(try world.take(always, of: rule) == .taken && world.log == ["always"])
        #expect(world.printed.count == 1 && world.printed[0].contains("updatedPermissions"))
    }

    @Test("always without a proof allows once, says so, and is logged so")
    func unknown() throws {
        let world = World()
        world.state = .unknown
        #expect(try world.take(always, of: rule) == .takenOnce && world.log == ["once"])
        #expect(world.printed.count == 1 && !world.printed[0].contains("updatedPermissions"))
        // An "always" that wasn't offered is refused instead of being reduced to "once".
        for name in ["claude_PermissionRequest_Bash", "claude_PermissionRequest_ExitPlanMode"] {
            #expect(try world.take(always, of: name) == .refused("not_offered"))
        }
        #expect(world.printed.count == 1)
    }

    @Test("an end before the reply or while it is logged leaves the decision to the terminal")
    func ended() throws {
        let ends: [((World) -> Void, ReplyFate)] = [
            // SIGTERM.
            ({ $0.over = .answeredElsewhere }, .answeredElsewhere), ({ $0.over = .tooLate }, .tooLate),
            ({ $0.state = .answered }, .answeredElsewhere),
        ]
        for (end, fate) in ends {
            for reply in [once, always, RequestReply(choice: .reject)] {
                let before = World()
                end(before)
                #expect(try before.take(reply, of: rule) == fate)
                #expect(before.log == [fate.word] && before.printed.isEmpty)
                let meanwhile = World()
                meanwhile.meanwhile = end
                #expect(try meanwhile.take(reply, of: rule) == fate)
                #expect(meanwhile.log == [reply.choice.rawValue, fate.word] && meanwhile.printed.isEmpty)
            }
        }
        let lost = World()
        lost.meanwhile = { $0.state = .unknown }
        #expect(try lost.take(always, of: rule) == .answeredElsewhere && lost.printed.isEmpty)
    }

    @Test("without a log only a rejection is printed, and a decision that nobody reads isn't taken")
    func faults() throws {
        let world = World()
        world.isLogged = false
        #expect(try world.take(once, of: rule) == .refused("not_recorded") && world.printed.isEmpty)
        #expect(try world.take(RequestReply(choice: .reject), of: rule) == .taken)
        #expect(world.printed.count == 1)
        let closed = World()
        closed.isRead = false
        #expect(try closed.take(once, of: rule) == .notDelivered("agent_gone"))
        #expect(closed.log == ["once", "agent_gone"])
    }
}
