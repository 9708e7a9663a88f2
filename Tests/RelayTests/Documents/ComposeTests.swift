import Testing

@testable import Relay

@Suite("deploy/compose.*.yaml", .timeLimit(.minutes(2)))
struct ComposeTests {
    /// The lines of each service in a compose file, by the service's name.
    private func services(_ text: String) -> [Substring: [Substring]] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let section = lines.drop { $0 != "services:" }.dropFirst().prefix { $0.isEmpty || $0.hasPrefix(" ") }
        var services: [Substring: [Substring]] = [:]
        var name: Substring = ""
        for line in section {
            let isName = line.hasPrefix("  ") && line.hasSuffix(":") && line.dropFirst(2).first != " "
            if isName { name = line.dropFirst(2).dropLast() }
            services[name, default: []].append(line)
        }
        return services
    }

    @Test("Every service has a bound on its log", arguments: [("sqlite", 1), ("postgres", 2), ("mysql", 2)])
    func logs(database: String, count: Int) throws {
        let services = services(Documents.read("../deploy/compose.\(database).yaml"))
        #expect(services.count == count)
        for (name, lines) in services {
            let logging = try #require(lines.firstIndex(of: "    logging:"), "\(name)")
            #expect(
                lines[logging...].prefix(5) == [
                    "    logging:", "      driver: json-file", "      options:",
                    "        max-size: \"10m\"", "        max-file: \"5\"",
                ], "\(name)")
        }
    }

    @Test("So does the container that docs/operate/install.md starts without compose")
    func withoutCompose() {
        let page = Documents.read("operate/install.md")
        #expect(page.contains("--log-driver json-file --log-opt max-size=10m --log-opt max-file=5"))
    }
}
