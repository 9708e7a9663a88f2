/// The version of the programs, shown by `--version` and in the relay's first log line.
package enum Version {
    /// A semantic version with an entry in CHANGELOG.md.
    package static let current = "1.0.0"
}
