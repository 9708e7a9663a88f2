import Glibc

/// When someone last typed in a terminal, determined as `w` does: the kernel records when a program reads from a
/// terminal.
enum TerminalActivity {
    /// The directory with the terminals of SSH sessions, terminal windows, tmux and the like.
    static let directory = "/dev/pts"

    /// When a program last read input from a user's terminals; `nil` if the user has none.
    ///
    /// The kernel rounds the time to eight seconds. Input that a terminal sends on its own, such as replies about its
    /// colours, counts as typing.
    static func lastInput(in directory: String = directory, of user: uid_t = geteuid()) -> EpochMilliseconds?
    {
        guard let listing = opendir(directory) else { return nil }
        defer { closedir(listing) }
        var last: EpochMilliseconds?
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            var status = stat()
            // `ptmx` belongs to root and isn't a terminal.
            guard name != "ptmx", stat(directory + "/" + name, &status) == 0,
                status.st_mode & S_IFMT == S_IFCHR, status.st_uid == user
            else { continue }
            last = max(last ?? 0, EpochMilliseconds(status.st_atim.tv_sec) * 1000)
        }
        return last
    }
}
