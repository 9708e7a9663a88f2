import Programs
import Storage

extension Settings {
    // MARK: Commands

    /// Passing the secret itself as a flag is refused: it would appear in process lists and shell histories.
    static let secret = Setting(
        "RELAY_SECRET", .commands, optional: .secret, unset: "asked for on a terminal", secret: true,
        flag: "--secret",
        flagRefusal: "--secret would expose the secret in the process list and in the shell's history: "
            + "leave it out to be asked for it, or use --secret-file PATH (- is standard input) or RELAY_SECRET",
        "The secret that the command applies to. RELAY_SECRET_FILE=- reads it from standard input.")

    static let envFile = Setting(
        "RELAY_ENV_FILE", .commands, optional: .path,
        unset: "\(InstalledHost.settingsFile) if it exists; none for serve", flag: "--env-file",
        "A file with further settings, in the format of systemd's EnvironmentFile. Flags and environment variables take precedence."
    )
}
