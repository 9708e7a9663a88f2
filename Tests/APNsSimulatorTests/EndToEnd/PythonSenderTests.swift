import APNsSimulator
import ChildProcess
import Foundation
import JSON
import Testing

/// Needs Python packages, which `Tests/WebPush/run` installs.
@Suite(
    "Other senders", .timeLimit(.minutes(2)),
    .enabled(if: ProcessInfo.processInfo.environment["RELAY_TEST_HTTP_ECE"] != nil))
struct PythonSenderTests {
    @Test(
        "Messages of http_ece with tokens of py_vapid are accepted and decrypted",
        arguments: WebPushVendor.allCases)
    func python(vendor: WebPushVendor) async throws {
        let simulator = try await RunningSimulator(["--webpush-port", "0"])
        let made = try await simulator.control(
            "POST", "/webpush/subscriptions", #"{"vendor":"\#(vendor.rawValue)"}"#)
        let texts = ["x", "hello", String(repeating: "é", count: 1_996)]
        let given: JSON.Value = [
            "endpoint": made["endpoint"] ?? nil, "p256dh": made["keys"]?["p256dh"] ?? nil,
            "auth": made["keys"]?["auth"] ?? nil, "certificate": .string(simulator.certificateFile),
            "texts": .array(texts.map { .string($0) }),
        ]
        let script = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../WebPush/send.py").standardizedFileURL.path
        let ran = try await ChildProcess.finished(
            "/usr/bin/env", ["python3", script, String(decoding: given.encoded(), as: UTF8.self)])
        try #require(ran.status == 0, "\(ran.errors)")
        let statuses = try JSON.parse(Array(ran.output.utf8), maxBytes: 4_096)
        #expect(statuses.array == texts.map { _ in .int(vendor.acceptedStatus) })
        #expect(try await simulator.pushes().map { $0["payloadText"]?.string } == texts)
    }
}
