// swift-tools-version: 6.2
import PackageDescription

// No C targets and no unsafe flags on Apple platforms, where CryptoKit has what sealing needs.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .strictMemorySafety(),
]
var ciphers: [Target.Dependency] = []
var systemLibraries: [Target] = []
#if os(Linux)
ciphers = ["COpenSSL"]
systemLibraries = [
    .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])])
]
#endif

let package = Package(
    name: "apn-relay-client",
    platforms: [.iOS(.v16), .macOS(.v13)],
    products: [
        .library(name: "RelayClient", targets: ["RelayClient"]),
        .library(name: "PushSealing", targets: ["PushSealing"]),
    ],
    targets: systemLibraries + [
        .target(name: "PushSealing", dependencies: ciphers, swiftSettings: settings),
        .target(name: "RelayClient", dependencies: ["PushSealing"], swiftSettings: settings),
        .testTarget(name: "PushSealingTests", dependencies: ["PushSealing"], swiftSettings: settings),
        .testTarget(name: "RelayClientTests", dependencies: ["RelayClient"], swiftSettings: settings),
    ]
)
