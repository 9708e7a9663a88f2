import HTTP2
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

    private func fields(_ handling: Handling, at url: String) throws -> HeaderFields {
        RequestHeaders.fields(
            for: handling, to: try PushEndpoint(url), authorization: "vapid t=T, k=K", bodyBytes: 12)
    }

    @Test("a request has the fields that RFC 8030, 8188 and 8292 name, in HTTP/2 and in HTTP/1.1")
    func request() throws {
        let topic = Topic(collapseID: "a", key: [1])
        let fields = try fields(
            Handling(timeToLive: 60, urgency: .veryLow, topic: topic),
            at: "https://Push.example:8443/a/../?b=%2f")
        #expect(
            fields.strings.map { "\($0.name)=\($0.value)" } == [
                ":method=POST", ":scheme=https", ":authority=push.example:8443", ":path=/a/../?b=%2f",
                "authorization=vapid t=T, k=K", "content-encoding=aes128gcm",
                "content-type=application/octet-stream", "content-length=12", "user-agent=apn-relay",
                "ttl=60",
                "urgency=very-low", "topic=\(topic.text)",
            ])
        #expect([":path", "authorization", "topic"].allSatisfy { fields.isIndexed($0) == false })
        #expect(
            String(decoding: RequestHeaders.head(fields), as: UTF8.self) == """
                POST /a/../?b=%2f HTTP/1.1\r
                host: push.example:8443\r
                authorization: vapid t=T, k=K\r
                content-encoding: aes128gcm\r
                content-type: application/octet-stream\r
                content-length: 12\r
                user-agent: apn-relay\r
                ttl: 60\r
                urgency: very-low\r
                topic: \(topic.text)\r
                \r

                """)
    }

    @Test("Microsoft's cache policy agrees with the time to live")
    func cachePolicy() throws {
        func policy(_ timeToLive: Int, at url: String) throws -> String? {
            try fields(Handling(timeToLive: timeToLive, urgency: .high), at: url).string("x-wns-cache-policy")
        }
        #expect(try policy(0, at: "https://wns2-par02p.notify.windows.com/w/?token=a") == "no-cache")
        #expect(try policy(1, at: "https://wns2-par02p.notify.windows.com/w/?token=a") == "cache")
        #expect(try policy(1, at: "https://web.push.apple.com/a") == nil)
    }
}
