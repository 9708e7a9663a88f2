/// The sources of settings.
///
/// All sources name settings by their environment variables.
package struct SettingSources: Sendable {
    /// Flags from the command line, by setting name.
    package var flags: [String: String]
    /// The process's environment.
    ///
    /// An empty value counts as not set.
    package var environment: [String: String]
    /// A file with settings; `nil` for none.
    package var file: SettingsFile?
    /// Whether the file takes precedence over the environment.
    package var prefersFile = false
    /// Reads the file named by a `…_FILE` setting.
    package var readFile: @Sendable (String) -> Result<[UInt8], FileError>

    /// Creates sources in which the environment takes precedence over the file.
    package init(
        flags: [String: String] = [:], environment: [String: String] = [:], file: SettingsFile? = nil,
        readFile: @escaping @Sendable (String) -> Result<[UInt8], FileError> = { _ in
            .failure(FileError("no files"))
        }
    ) {
        self.flags = flags
        self.environment = environment
        self.file = file
        self.readFile = readFile
    }

    /// A variable's value from the first source that has one, unparsed.
    package func value(of name: String) -> String? {
        let sources = prefersFile ? [flags, file?.values, environment] : [flags, environment, file?.values]
        return sources.lazy.compactMap { $0?[name] }.first { !$0.isEmpty }
    }
}

/// A file that provides settings in addition to flags and the environment.
package struct SettingsFile: Sendable {
    /// The file's path.
    package let path: String
    /// The variables in the file.
    package var values: [String: String] = [:]
    /// Why the file can't be read; `nil` if it was read.
    package var fault: FileError?
    /// Whether the user didn't choose the file, so that a problem with it matters only if a setting in it is needed.
    package let isDefault: Bool
    /// What a user can do if a default file can't be read; ends a sentence.
    package var advice = ""
    /// Whether the file could contain a setting.
    package var provides: @Sendable (SettingRow) -> Bool = { _ in true }
    /// Completes a setting's text, such as a relative path.
    package var resolve: @Sendable (String, SettingRow) -> String = { text, _ in text }

    /// Reads and parses a file.
    package init(
        path: String, isDefault: Bool, reading: (String) -> Result<[UInt8], FileError>
    ) {
        self.path = path
        self.isDefault = isDefault
        switch reading(path) {
        case .failure(let fault): self.fault = fault
        case .success(let bytes):
            guard let text = String(validating: bytes, as: UTF8.self) else {
                fault = FileError("it is not UTF-8")
                return
            }
            guard !bytes.contains(0) else {
                // The system would truncate a path at the NUL and open another file.
                fault = FileError("it contains a NUL byte")
                return
            }
            values = EnvironmentFile.parse(text)
        }
    }

    /// The problem to report if the file's settings are needed.
    package var problem: String? {
        guard let fault else { return nil }
        let head = "the settings file \(Quoted.value(path)) can't be read: \(fault.reason)"
        return isDefault ? head + advice : head
    }
}
