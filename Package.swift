// swift-tools-version: 6.2
import PackageDescription

/// Every target is compiled with the same settings; `cFacing` adds the checker for unsafe memory.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    // libevent's configuration header defines _GNU_SOURCE. Every module must see the C library the same way,
    // or `fd_set` has two definitions (docs/design/compiler.md).
    .unsafeFlags(["-Xcc", "-D_GNU_SOURCE"]),
    // Debug builds, and so the tests, have these checks; release builds don't (docs/design/compiler.md).
    .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release)),
]
let cFacing = strict + [.strictMemorySafety()]
/// How tests are compiled.
///
/// Optimised builds optimise what is tested, but not the tests: that would take half of the compile time.
let testing = strict + [.unsafeFlags(["-Onone"], .when(configuration: .release))]

/// Every symbol is resolved at startup, so that the table of addresses can be read-only while the program runs.
let hardened: [LinkerSetting] = [
    .unsafeFlags(["-Xlinker", "-z", "-Xlinker", "now"], .when(configuration: .release))
]

func library(_ name: String, _ dependencies: [Target.Dependency], _ settings: [SwiftSetting]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func system(_ name: String, pkgConfig: String) -> Target {
    .systemLibrary(name: name, path: "Sources/System/\(name)", pkgConfig: pkgConfig)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: testing)
}

let package = Package(
    name: "apn-relay",
    products: [
        .executable(name: "relay", targets: ["Relay"]),
        .executable(name: "apns-simulator", targets: ["APNsSimulator"]),
        .executable(name: "agent-bridge", targets: ["AgentBridge"]),
        // For tests: programs that preload it use another wall clock.
        .library(name: "WallClock", type: .dynamic, targets: ["CWallClock"]),
    ],
    targets: [
        system("CCurl", pkgConfig: "libcurl"),
        system("CEvent", pkgConfig: "libevent_core"),
        system("CMariaDB", pkgConfig: "libmariadb"),
        system("CNghttp2", pkgConfig: "libnghttp2"),
        system("COpenSSL", pkgConfig: "openssl"),
        system("CPostgres", pkgConfig: "libpq"),
        system("CQrencode", pkgConfig: "libqrencode"),
        system("CSQLite", pkgConfig: "sqlite3"),
        system("CZlib", pkgConfig: "zlib"),

        .target(name: "CWallClock", path: "Tests/WallClock"),
        // Embeds files from clients/web and clients/js.
        .target(name: "CPageFiles"),

        library("JSON", [], strict),
        library("Delays", [], strict),
        library("Spelling", [], strict),
        library("Instruments", [], strict),
        library("Programs", ["Spelling"], strict),
        library("QRCode", ["CQrencode"], cFacing),
        library("Gzip", ["CZlib"], cFacing),
        library("PageFiles", ["CPageFiles", "Gzip"], cFacing),
        // Part of the package for apps (docs/design/clients.md): the same sources, with this package's settings.
        .target(
            name: "PushSealing", dependencies: ["COpenSSL"], path: "clients/swift/Sources/PushSealing",
            swiftSettings: cFacing),
        library("Storage", ["COpenSSL", "Delays", "Instruments"], cFacing),
        library("StorageSQLite", ["Instruments", "Storage", "CSQLite"], cFacing),
        library("StorageMySQL", ["Spelling", "Storage", "CMariaDB"], cFacing),
        library("StoragePostgres", ["Spelling", "Storage", "CPostgres"], cFacing),
        library("Network", ["CEvent", "COpenSSL"], cFacing),
        library("HTTPServer", ["Network"], strict),
        library("HTTP2", ["Network", "CNghttp2"], cFacing),
        library("WebClient", ["CCurl"], cFacing),
        library("Cryptography", ["COpenSSL"], cFacing),
        library("APNs", ["Cryptography", "Delays", "HTTP2", "Network", "JSON"], cFacing),
        library("WebPush", ["Cryptography", "Delays", "HTTP2", "JSON", "Network"], cFacing),
        .executableTarget(
            name: "Relay",
            dependencies: [
                "APNs", "Cryptography", "Delays", "Gzip", "HTTPServer", "Instruments", "JSON", "Network",
                "PageFiles",
                "Programs", "Spelling", "Storage", "StorageMySQL", "StoragePostgres", "StorageSQLite",
                "WebClient", "WebPush",
            ],
            swiftSettings: strict, linkerSettings: hardened),
        .executableTarget(
            name: "APNsSimulator",
            dependencies: [
                "COpenSSL", "Cryptography", "HTTP2", "HTTPServer", "JSON", "Network", "Programs",
                "PushSealing",
            ],
            swiftSettings: cFacing, linkerSettings: hardened),
        .executableTarget(
            name: "AgentBridge",
            dependencies: [
                "Delays", "Instruments", "JSON", "Network", "Programs", "PushSealing", "QRCode", "Storage",
                "WebClient",
            ],
            swiftSettings: strict, linkerSettings: hardened),

        .target(
            name: "HTTP2Testing", dependencies: ["ChildProcess", "HTTP2", "Network"],
            path: "Tests/HTTP2Testing",
            swiftSettings: testing),
        .executableTarget(
            name: "Bench",
            dependencies: [
                "APNs", "JSON", "Network", "Storage", "StorageMySQL", "StoragePostgres", "StorageSQLite",
                "WebPush",
            ], path: "Tests/Bench/Driver", swiftSettings: strict),

        tests("JSONTests", ["JSON", "OwnThread"]),
        tests("QRCodeTests", ["ChildProcess", "QRCode"]),
        .testTarget(
            name: "PushSealingTests", dependencies: ["PushSealing"],
            path: "clients/swift/Tests/PushSealingTests", swiftSettings: testing),
        .target(
            name: "RelayClient", dependencies: ["PushSealing"], path: "clients/swift/Sources/RelayClient",
            swiftSettings: cFacing),
        // A library, because the tests of most targets start programs.
        .target(name: "ChildProcess", path: "Tests/ChildProcess", swiftSettings: testing),
        // A library, because the tests of most targets have cases that block.
        .target(name: "OwnThread", path: "Tests/OwnThread", swiftSettings: testing),
        // A library, because the tests of every storage driver run its cases.
        .target(
            name: "StorageContract", dependencies: ["CEvent", "Instruments", "Storage"],
            path: "Tests/StorageContract",
            swiftSettings: testing),
        tests("StorageTests", ["ChildProcess", "OwnThread", "Storage", "StorageContract", "StorageSQLite"]),
        tests(
            "StorageMySQLTests",
            ["CEvent", "ChildProcess", "OwnThread", "Storage", "StorageContract", "StorageMySQL"]),
        tests("StoragePostgresTests", ["OwnThread", "Storage", "StorageContract", "StoragePostgres"]),
        tests(
            "TransferTests",
            ["OwnThread", "Storage", "StorageContract", "StorageMySQL", "StoragePostgres", "StorageSQLite"]),
        tests("NetworkTests", ["ChildProcess", "COpenSSL", "Network"]),
        tests(
            "HTTPServerTests", ["ChildProcess", "HTTPServer", "Network", "OwnThread"],
            exclude: ["node-parser.mjs"]),
        tests("HTTP2Tests", ["CNghttp2", "HTTP2", "HTTP2Testing", "Network", "OwnThread"]),
        tests(
            "APNsTests",
            ["APNs", "ChildProcess", "COpenSSL", "HTTP2", "HTTP2Testing", "JSON", "Network", "OwnThread"],
            exclude: ["http2-server.mjs"]),
        tests(
            "WebPushTests",
            [
                "ChildProcess", "COpenSSL", "Cryptography", "HTTP2", "HTTP2Testing", "JSON", "Network",
                "WebPush",
            ],
            exclude: ["push-service.mjs"]),
        // A library, because each program's tests check its table of commands.
        .target(
            name: "ProgramTesting", dependencies: ["ChildProcess", "Programs"], path: "Tests/ProgramTesting",
            swiftSettings: testing),
        // A library, because two suites read what Prometheus would read.
        .target(name: "PrometheusText", path: "Tests/PrometheusText", swiftSettings: testing),
        tests(
            "RelayTests",
            [
                "Relay", "APNs", "ChildProcess", "HTTP2Testing", "HTTPServer", "Instruments", "JSON",
                "Network",
                "OwnThread", "PageFiles", "ProgramTesting", "Programs", "PrometheusText", "Spelling",
                "Storage", "StorageSQLite", "WebClient", "WebPush",
            ],
            exclude: ["MCP/initialize.json"]),
        tests(
            "AgentBridgeTests",
            [
                "AgentBridge", "ChildProcess", "Delays", "HTTPServer", "Instruments", "JSON", "Network",
                "ProgramTesting", "Programs", "PushSealing", "QRCode", "WebClient",
            ],
            exclude: ["Hooks/captures", "Streams"]),
        tests(
            "APNsSimulatorTests",
            [
                "APNsSimulator", "ChildProcess", "Cryptography", "HTTP2", "HTTP2Testing", "HTTPServer",
                "JSON", "Network",
                "ProgramTesting", "Programs", "PushSealing", "WebPush",
            ]),
        tests(
            "EndToEndTests",
            [
                "ChildProcess", "CSQLite", "JSON", "Network", "PrometheusText", "PushSealing", "RelayClient",
                "Storage", "StorageContract", "StorageMySQL", "StoragePostgres",
            ],
            exclude: [
                "Support/agent.py", "Support/crowd.py", "Support/opencode.py", "Support/proxy.py",
                "Support/terminal.py",
            ]),
    ]
)

// Builds for some tests leave out targets that those tests don't use.
if let names = Context.environment["LEFT_OUT_TARGETS"]?.split(separator: ",").map(String.init) {
    package.targets.removeAll { names.contains($0.name) }
}

// The fuzzer needs the compiler's instrumentation: Tests/Fuzz/run builds it on its own.
if Context.environment["RELAY_FUZZ"] == "1" {
    package.targets.append(
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "HTTP2", "HTTPServer", "JSON", "Storage", "StorageMySQL", "StoragePostgres", "StorageSQLite",
            ],
            path: "Tests/Fuzz",
            exclude: ["corpora", "http.dict", "http2.dict", "json.dict", "run", "url.dict"],
            swiftSettings: strict))
}
