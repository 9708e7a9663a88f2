import APNsSimulator
import Testing

@Suite("Payloads", .timeLimit(.minutes(2)))
struct PayloadTests {
    private static func reason(_ payload: String, _ type: PushType?, limit: Int = 4_096) -> Reason? {
        do throws(PushRefusal) {
            try PayloadRules.check(Array(payload.utf8), type: type, limit: limit)
            return nil
        } catch {
            return error.reason
        }
    }

    /// A push of the given type and payload.
    private static func push(_ type: PushType, _ payload: String) -> PushFixture {
        var push = PushFixture()
        push.set("apns-push-type", type.rawValue)
        push.set("apns-topic", "com.example.app\(type.topicSuffix)")
        if type == .background { push.set("apns-priority", "5") }
        push.payload = payload
        return push
    }

    private static func payload(ofSize size: Int) -> String {
        let frame = #"{"aps":{"alert":""}}"#
        return #"{"aps":{"alert":""# + String(repeating: "x", count: size - frame.utf8.count) + #""}}"#
    }

    @Test("An empty payload is PayloadEmpty")
    func empty() {
        #expect(Self.push(.alert, "").check().reason == .payloadEmpty)
    }

    @Test(
        "Size limits are exact to the byte",
        arguments: [(PushType.alert, 4_096), (.voip, 5_120), (.location, 4_096)])
    func sizes(type: PushType, limit: Int) {
        #expect(Self.push(type, Self.payload(ofSize: limit)).check().reason == nil)
        #expect(Self.push(type, Self.payload(ofSize: limit + 1)).check().reason == .payloadTooLarge)
        #expect(Reason.payloadTooLarge.status == 413)
    }

    @Test("Without a push type the topic identifies a VoIP push")
    func sizeByTopic() {
        var push = Self.push(.voip, Self.payload(ofSize: 5_120))
        push.set("apns-push-type", nil)
        #expect(push.check().reason == nil)
    }

    @Test(
        "A payload that isn't a JSON object with aps is refused",
        arguments: [
            "x", "{", #"{"aps":{}"#, "[]", "null", "7", #""aps""#, "{}", #"{"other":1}"#, #"{"aps":null}"#,
            #"{"aps":[]}"#, #"{"aps":"x"}"#, #"{"aps":{},}"#, #"{'aps':{}}"#, #"{"aps":{"alert":"x"}} x"#,
            "{\"aps\":{\"alert\":\"\u{1}\"}}", #"{"aps":{"alert":"x"},"aps":{"alert":"x"}}"#,
        ])
    func malformed(payload: String) {
        #expect(Self.reason(payload, .alert) == .badRequestPayload)
    }

    @Test("Invalid UTF-8 is refused")
    func invalidUTF8() {
        let bytes = Array(#"{"aps":{"alert":""#.utf8) + [0xC3, 0x28] + Array(#""}}"#.utf8)
        #expect(throws: PushRefusal.self) { try PayloadRules.check(bytes, type: .alert, limit: 4_096) }
    }

    @Test(
        "A key in aps with a value of the wrong type is refused",
        arguments: [
            #""alert":7"#, #""alert":[]"#, #""alert":null"#, #""alert":{"title":1}"#,
            #""alert":{"loc-args":"x"}"#, #""alert":{"loc-args":[1]}"#, #""alert":{"title-loc-key":{}}"#,
            #""badge":"1""#, #""badge":true"#, #""badge":null"#, #""sound":1"#, #""sound":{"critical":2}"#,
            #""sound":{"critical":true}"#, #""sound":{"volume":1.5}"#, #""sound":{"volume":"1"}"#,
            #""sound":{"name":1}"#, #""thread-id":1"#, #""category":{}"#, #""content-available":true"#,
            #""content-available":"1""#, #""content-available":2"#, #""mutable-content":true"#,
            #""target-content-id":1"#, #""interruption-level":"urgent""#, #""interruption-level":1"#,
            #""relevance-score":1.5"#, #""relevance-score":-0.1"#, #""relevance-score":"1""#,
            #""filter-criteria":1"#, #""stale-date":"x""#, #""content-state":1"#, #""timestamp":"1""#,
            #""event":"begin""#, #""dismissal-date":false"#, #""attributes-type":1"#, #""attributes":[]"#,
            #""input-push-channel":1"#, #""input-push-token":true"#, #""content-changed":1"#,
            #""url-args":["a",1]"#, #""al\u0065rt":7"#,
        ])
    func wrongKind(member: String) {
        #expect(Self.reason("{\"aps\":{\(member),\"thread-id2\":1}}", nil) == .badRequestPayload)
    }

    @Test(
        "Values of the right type are accepted",
        arguments: [
            #""alert":"x""#, #""alert":{}"#, #""alert":{"title":"a","loc-args":["a","b"],"own":7}"#,
            #""badge":0"#,
            #""badge":3"#, #""sound":"default""#, #""sound":{"critical":1,"name":"x","volume":0.5}"#,
            #""content-available":1"#, #""mutable-content":1"#, #""interruption-level":"time-sensitive""#,
            #""relevance-score":0.75"#, #""own-key":{"anything":[1,null,true]}"#, #""url-args":[]"#,
            #""al\u0065rt":"x""#, #""alert" : "a\"}]\\" , "badge" : 1 "#,
        ])
    func rightKind(member: String) {
        #expect(Self.reason("{\"aps\":{\(member)}}", nil) == nil)
        #expect(Self.reason(" { \"first\" : [ { } , [ ] , \"}\" ] , \"aps\" : { \(member) } } ", nil) == nil)
    }

    @Test("aps is found under an escaped name")
    func escapedAps() {
        #expect(Self.reason(#"{"\u0061ps":{"alert":"x"}}"#, .alert) == nil)
        #expect(Self.reason(#"{"\u0061ps":{"alert":7}}"#, .alert) == .badRequestPayload)
    }

    @Test("An alert push must show something")
    func alert() {
        #expect(Self.reason(#"{"aps":{"content-available":1}}"#, .alert) == .invalidPushType)
        #expect(Self.reason(#"{"aps":{}}"#, .alert) == .invalidPushType)
        #expect(Self.reason(#"{"aps":{"badge":1}}"#, .alert) == nil)
        #expect(Self.reason(#"{"aps":{"sound":"x"}}"#, .alert) == nil)
    }

    @Test("A background push has only content-available")
    func background() {
        #expect(Self.reason(#"{"aps":{"content-available":1},"own":1}"#, .background) == nil)
        #expect(Self.reason(#"{"aps":{"content-available":0}}"#, .background) == .invalidPushType)
        #expect(Self.reason(#"{"aps":{}}"#, .background) == .invalidPushType)
        for extra in [#""alert":"x""#, #""badge":1"#, #""sound":"x""#] {
            #expect(
                Self.reason("{\"aps\":{\"content-available\":1,\(extra)}}", .background) == .invalidPushType)
        }
    }

    @Test(
        "A background push must have priority 5",
        arguments: [("5", nil), ("10", Reason.badPriority), ("1", .badPriority), (nil, .badPriority)]
            as [(String?, Reason?)])
    func backgroundPriority(priority: String?, reason: Reason?) {
        var push = Self.push(.background, #"{"aps":{"content-available":1}}"#)
        push.set("apns-priority", priority)
        #expect(push.check().reason == reason)
    }

    @Test("A Live Activity push must have the keys its event requires")
    func liveActivity() {
        func reason(_ members: String) -> Reason? { Self.reason("{\"aps\":{\(members)}}", .liveactivity) }
        #expect(reason(#""timestamp":1,"event":"update","content-state":{}"#) == nil)
        #expect(reason(#""timestamp":1,"event":"end""#) == nil)
        #expect(reason(#""timestamp":1,"event":"update""#) == .invalidPushType)
        #expect(reason(#""event":"end""#) == .invalidPushType)
        #expect(reason(#""timestamp":1"#) == .invalidPushType)
        #expect(reason(#""timestamp":1,"event":"start","content-state":{}"#) == .invalidPushType)
        #expect(
            reason(
                #""timestamp":1,"event":"start","content-state":{},"attributes-type":"A","attributes":{},"#
                    + #""alert":{"title":{"loc-key":"k"},"body":"b"},"relevance-score":100"#) == nil)
    }

    @Test("A Live Activity push must not have priority 1")
    func liveActivityPriority() {
        var push = Self.push(.liveactivity, #"{"aps":{"timestamp":1,"event":"end"}}"#)
        #expect(push.check().reason == nil)
        push.set("apns-priority", "1")
        #expect(push.check().reason == .badPriority)
    }

    @Test(
        "Types that never show anything don't require aps",
        arguments: [
            PushType.mdm, .voip, .fileprovider, .location, .widgets, .controls, .complication, .pushtotalk,
        ])
    func withoutAps(type: PushType) {
        #expect(Self.push(type, #"{"mdm":"x"}"#).check().reason == nil)
        #expect(Self.push(type, #"{"aps":7}"#).check().reason == .badRequestPayload)
        #expect(Self.push(type, "[]").check().reason == .badRequestPayload)
    }
}
