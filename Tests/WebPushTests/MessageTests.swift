import Testing

@testable import WebPush

@Suite("Headers of requests", .timeLimit(.minutes(1)))
struct MessageTests {
    @Test("a topic is a keyed hash of 32 characters, whatever the collapse ID is")
    func topic() {
        let key = [UInt8](repeating: 1, count: 32)
        let topics = ["", "a", "build", "日本", String(repeating: "x", count: 64)].map {
            Topic(collapseID: $0, key: key).text
        }
        #expect(Set(topics).count == topics.count)
        for topic in topics {
            #expect(topic.utf8.count == 32)
            #expect(
                topic.utf8.allSatisfy {
                    $0 == 0x2D || $0 == 0x5F || Character(Unicode.Scalar($0)).isLetter
                        || Character(Unicode.Scalar($0)).isNumber
                })
        }
        #expect(Topic(collapseID: "a", key: key).text == topics[1])
        #expect(Topic(collapseID: "a", key: [2]).text != topics[1])
    }

    @Test("the urgency follows the priority")
    func urgency() {
        #expect([10, 5, 1].map { Urgency(priority: $0) } == [.high, .normal, .low])
    }

    @Test("the time to live is limited to what services accept")
    func timeToLive() {
        #expect(Handling(timeToLive: -1, urgency: .high).timeToLive == 0)
        #expect(Handling(timeToLive: 90, urgency: .high).timeToLive == 90)
        #expect(Handling(timeToLive: .max, urgency: .high).timeToLive == 2_592_000)
    }

    @Test("a request has the fields that RFC 8030, 8188 and 8292 name")
    func fields() {
        let topic = Topic(collapseID: "a", key: [1])
        let fields = RequestHeaders.fields(
            for: Handling(timeToLive: 60, urgency: .veryLow, topic: topic), authorization: "vapid t=T, k=K",
            service: .google)
        #expect(
            fields == [
                "TTL: 60", "Urgency: very-low", "Content-Encoding: aes128gcm",
                "Content-Type: application/octet-stream", "Authorization: vapid t=T, k=K",
                "Topic: \(topic.text)",
            ])
    }

    @Test("Microsoft's cache policy agrees with the time to live")
    func cachePolicy() {
        func fields(_ timeToLive: Int, _ service: PushService) -> [String] {
            RequestHeaders.fields(
                for: Handling(timeToLive: timeToLive, urgency: .high), authorization: "", service: service)
        }
        #expect(fields(0, .microsoft).contains("X-WNS-Cache-Policy: no-cache"))
        #expect(fields(1, .microsoft).contains("X-WNS-Cache-Policy: cache"))
        #expect(!fields(1, .apple).contains { $0.hasPrefix("X-WNS") })
    }
}
