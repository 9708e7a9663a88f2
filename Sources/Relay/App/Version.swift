/// The program's version, as `relay --version` and the first log line say it.
enum Version {
    /// Semantic versioning; CHANGELOG.md has an entry for each.
    static let current = "0.1.0"
}
