import Storage

extension Settings {
    // MARK: Commands

    /// A flag with the secret itself is refused: whoever lists processes would see it, and shells remember it.
    static let secret = Setting(
        "RELAY_SECRET", .commands, optional: .secret, unset: "asked for, on a terminal", secret: true,
        users: .inspecting + [.check, .send], flag: "--secret",
        flagRefusal: "--secret would show the secret in the list of processes and in the shell's history: "
            + "leave it out to be asked for it, or use --secret-file PATH (- is standard input) or RELAY_SECRET",
        "The secret that a command is about. RELAY_SECRET_FILE=- reads it from standard input.")
}
