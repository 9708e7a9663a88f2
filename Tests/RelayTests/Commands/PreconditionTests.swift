import APNs
import ChildProcess
import Glibc
import JSON
import Network
import Programs
import Storage
import Testing

@testable import HTTPServer
@testable import Relay

@Suite("Preconditions of relay serve and relay check", .timeLimit(.minutes(2)))
struct PreconditionTests {
    private static let good = [
        "APNS_TEAM_ID": "ABCDE12345", "APNS_KEY_ID": "KEY1234567", "APNS_PRIVATE_KEY": TestKey.pem,
        "PORT": "0",
        "RELAY_ADMIN_LISTEN": "off",
    ]

    /// A number of connections for which no machine has enough file descriptors.
    private static let tooMany = 1 << 40

    /// Settings with which a precondition doesn't hold.
    private static func broken(
        _ name: Precondition.Name, in directory: Files, taken: SocketAddress
    ) throws -> [String: String] {
        func certificate(_ validity: ClosedRange<Int>? = nil, otherKey: Bool = false) throws -> [String:
            String]
        {
            let made = try validity.map { try SelfSignedCertificate(validFor: $0) } ?? SelfSignedCertificate()
            let key = otherKey ? try SelfSignedCertificate().privateKey : made.privateKey
            return [
                "RELAY_TLS_CERT_FILE": try directory.write(made.certificate, "c.pem"),
                "RELAY_TLS_KEY_FILE": try directory.write(key, "k.pem"),
            ]
        }
        return switch name {
        case .settings: ["RELAY_QEUE_MAX": "1"]
        case .certificate: try certificate(otherKey: true)
        case .certificateDates: try certificate(-7_200...(-3_600))
        case .apnsCertificates: ["APNS_CA_FILE": directory.path + "/missing.pem"]
        case .webPushCertificates:
            [
                "RELAY_VAPID_SUBJECT": "mailto:push@example.org",
                "RELAY_WEBPUSH_CA_FILE": directory.path + "/missing.pem",
            ]
        // A key that can't sign isn't accepted as a setting.
        case .signingKeys: ["APNS_PRIVATE_KEY": TestKey.p384PEM]
        case .adminAddress: ["RELAY_ADMIN_LISTEN": taken.description]
        case .address: ["HOST": taken.host, "PORT": String(taken.port)]
        // See `tooMany`: no setting accepts a number that exceeds every machine's file descriptors.
        case .openFiles: [:]
        case .database: ["DATABASE_URL": "sqlite:\(directory.path)/missing/relay.db"]
        case .databaseWrites: ["DATABASE_URL": "sqlite:\(directory.path)/relay.db"]
        }
    }

    @Test("A path that the admin listener can't use as its Unix socket is refused by serve and check")
    func adminSocket() async throws {
        let directory = try Files()
        let changes = ["RELAY_ADMIN_LISTEN": "unix:" + (try directory.write([], "admin.sock"))]
        let sources = SettingSources(environment: Self.good.merging(changes) { $1 })
        let (refused, _) = try await serve(sources, .adminAddress)
        #expect(refused?.precondition == .adminAddress)
        #expect(try await check(sources, .adminAddress).map(\.status) == [.failed])
    }

    @Test(
        "What relay serve refuses, relay check refuses too, or warns of where a relay that runs may be the cause"
    )
    func agreement() async throws {
        let loop = EventLoop(label: "taken")
        let listener = try await loop.run { loop throws(NetworkError) in
            guard let address = SocketAddress(ip: "127.0.0.1", port: 0) else { throw .badAddress("") }
            return LoopBound(try Listener(address, on: loop) { _ in Silent() }, on: loop)
        }
        let taken = await loop.run { _ in listener.value.localAddress }
        for name in Precondition.Name.allCases {
            let directory = try Files()
            let changes = try Self.broken(name, in: directory, taken: taken)
            let sources = SettingSources(environment: Self.good.merging(changes) { $1 })
            let (refused, warned) = try await serve(sources, name)
            let check = try await check(sources, name)
            let statuses = Set(check.filter { $0.fault != nil }.map(\.status))
            let advice = check.compactMap(\.advice)
            #expect(!advice.isEmpty, "\(name): \(check)")
            switch Precondition(name).consequence {
            case .refusal(let status):
                #expect(refused?.status == status, "\(name)")
                #expect(name == .settings || name == .signingKeys || refused?.precondition == name, "\(name)")
                #expect(statuses == [name == .address ? .warning : .failed], "\(name): \(check)")
                if let refused, name != .settings, name != .signingKeys {
                    #expect(advice.contains { refused.message.contains($0) }, "\(name): \(refused.message)")
                }
            case .warning:
                #expect(refused == nil && warned, "\(name)")
                #expect(!statuses.isEmpty, "\(name)")
            }
        }
        await loop.run { _ in listener.value.close() }
        await loop.stop()
    }

    /// How `relay serve` would exit, and whether it warns.
    private func serve(
        _ sources: SettingSources, _ name: Precondition.Name
    ) async throws -> (StartError?, warned: Bool) {
        let lines = LogLines()
        let configuration: ServeConfiguration
        do throws(ConfigurationError) {
            configuration = try ServeConfiguration(sources)
        } catch {
            return (StartError(.settings, "\(error)"), false)
        }
        var subject = PreconditionSubject(configuration)
        if name == .openFiles { subject.server?.connectionsMax = Self.tooMany }
        do throws(StartError) {
            try await Precondition.require(Precondition.beforeOpening, of: subject, log: lines.log)
            if name == .database {
                let start = DatabaseStart(
                    place: "here", engine: .sqlite, deadline: .zero, log: lines.log, isStopping: { false })
                let opened = try await start.open { () async throws(StorageError) in
                    try await OpenStorage.open(configuration.database)
                }
                await opened.storage.close()
            }
            if name == .databaseWrites {
                let storage = FakeStorage()
                storage.state.withLock { $0.writeFailure = .full(logDetail: "disk") }
                subject.database = .opened(WriteWatch(storage: storage, log: lines.log))
                try await Precondition.require([.databaseWrites], of: subject, log: lines.log)
            }
        } catch {
            await lines.log.close()
            return (error, false)
        }
        let warnings = try await lines.closed().filter {
            $0["level"] == "warning" && $0["advice"]?.string != ""
        }
        return (nil, !warnings.isEmpty)
    }

    /// The findings of `relay check` about a precondition.
    private func check(_ sources: SettingSources, _ name: Precondition.Name) async throws -> [CheckFinding] {
        let configuration = CheckConfiguration(sources)
        let look = configuration.database.map {
            DatabaseCheck.Look($0, options: ServerOptions(), clock: .system)
        }
        if name == .databaseWrites {
            let inspection = DatabaseInspection(
                missingSteps: [], hasDevices: true, clock: nil, write: .failed(.full(logDetail: "disk")))
            return DatabaseCheck.Found(place: "here", engine: .sqlite, outcome: .success(inspection))
                .writeFindings
        }
        var subject = PreconditionSubject(
            configuration, look.map { .look($0) } ?? .none, clock: .system, relayRuns: false)
        if name == .openFiles { subject.server?.connectionsMax = Self.tooMany }
        let found = await Precondition(name).test(subject)
        guard found.isEmpty else { return found }
        return await Precondition(.settings).test(subject)
    }

    @Test("Beside a relay that runs, its own address and its own file are in order")
    func besideARelay() async throws {
        let inspection = DatabaseInspection(
            missingSteps: [], hasDevices: true, clock: nil, write: .heldBy(process: "812"))
        let found = DatabaseCheck.Found(place: "here", engine: .sqlite, outcome: .success(inspection))
        #expect(found.openingFindings(relayRuns: true).map(\.status) == [.ok])
        #expect(found.openingFindings(relayRuns: false).map(\.fault) == [nil, .databaseInUse])
    }

    // MARK: The clock

    @Test(
        "A refused provider token puts the clock first where it is ahead, and names it where nothing speaks for it"
    )
    func clock() {
        let refused = CheckFinding.fault(.providerTokenRefused, .push, "production", "APNs answers 403")
        func finding(_ ahead: EpochMilliseconds?) -> CheckFinding? {
            let readings = ahead.map { [ClockCheck.Reading(name: "APNs", server: 0, local: $0)] } ?? []
            return [refused].withClocks(readings, now: 1_800_000_000_000).first
        }
        #expect(finding(0) == refused && finding(-7_200_000) == refused)
        #expect(finding(7_200_000)?.advice?.hasPrefix("Synchronize the clock") == true)
        #expect(
            finding(nil)?.text.contains("2027-01-15T08:00:00") == true, "\(String(describing: finding(nil)))")
        #expect(finding(nil)?.advice?.hasPrefix("Compare the clock") == true)
    }

    @Test("An account without a right, a read-only server and a wrong password have advice of their own")
    func databaseAdvice() {
        func fault(_ error: StorageError) -> CheckFault? {
            DatabaseCheck.finding(error, place: "here", .postgres).fault
        }
        #expect(fault(.denied(logDetail: "x")) == .databaseDenied)
        #expect(fault(.readOnly(logDetail: "x")) == .databaseReadOnly)
        #expect(fault(.refused(logDetail: "x")) == .databaseRefused)
        #expect(fault(.unavailable(logDetail: "x")) == .databaseUnreachable)
        #expect(CheckFault.databaseDenied.advice.contains("CREATE"))
        #expect(CheckFault.databaseReadOnly.advice.contains("primary"))
    }
}

/// Accepts connections and does nothing with them.
final class Silent: ChannelHandler {
    func channelActive(_ channel: Channel) {}
    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {}
    func channelReadEnded(_ channel: Channel) { channel.close() }
    func channelWritable(_ channel: Channel) {}
    func channelClosed(_ channel: Channel, reason: ChannelCloseReason) {}
}

/// A test's own directory.
private struct Files {
    let path: String

    init() throws {
        path = try makeTemporaryDirectory()
    }

    func write(_ bytes: [UInt8], _ name: String) throws -> String {
        let file = path + "/" + name
        let descriptor = open(file, O_WRONLY | O_CREAT, 0o600)
        guard descriptor >= 0, Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw FileError(errno: errno)
        }
        close(descriptor)
        return file
    }
}
