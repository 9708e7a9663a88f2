import Glibc
import Programs

/// Keeps commands run by root from creating root-owned files next to a service's SQLite database.
///
/// The service couldn't open such files. A command therefore switches permanently to the database's owner before it
/// opens anything; in another user's directory, links could also lead root to other files.
enum DatabaseOwner {
    /// The user and group of a file.
    struct Owner: Equatable {
        let user: uid_t
        let group: gid_t
    }

    /// Switches to the databases' owner, if this process is root and they are SQLite files owned by one other user.
    static func become(
        _ databases: [DatabaseURL], for command: String
    ) throws(ConfigurationError) {
        guard geteuid() == 0 else { return }
        let owners = databases.compactMap { OpenStorage.file(of: $0) }.map(owner(ofDatabase:))
        // Only root can copy between files of different users.
        guard let owner = owners.first ?? nil, owners.allSatisfy({ $0 == owner }) else { return }
        guard let step = change(to: owner) else {
            // Changing the user may have re-enabled core dumps.
            return CoreDumps.forbid()
        }
        let reason = FileError(errno: errno).reason
        throw ConfigurationError(
            [
                "the database belongs to user \(owner.user), and root can't switch to that user "
                    + "(\(step): \(reason)); run the command as that user"
            ], command: "relay \(command)")
    }

    /// The owner of a database: the owner of its directory, or of the file if the directory is root's.
    ///
    /// `nil` if that is root, or if neither exists.
    static func owner(ofDatabase path: String) -> Owner? {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        var info = stat()
        if stat(folder, &info) == 0, info.st_uid != 0 { return Owner(user: info.st_uid, group: info.st_gid) }
        if lstat(path, &info) == 0, info.st_uid != 0 { return Owner(user: info.st_uid, group: info.st_gid) }
        return nil
    }

    /// Changes the process's user and groups; returns the name of the call that failed, if any.
    private static func change(to owner: Owner) -> String? {
        var group = owner.group
        if let entry = getpwuid(owner.user)?.pointee {
            group = entry.pw_gid
            guard initgroups(entry.pw_name, group) == 0 else { return "initgroups" }
        } else {
            guard setgroups(1, &group) == 0 else { return "setgroups" }
        }
        guard setresgid(group, group, group) == 0 else { return "setresgid" }
        guard setresuid(owner.user, owner.user, owner.user) == 0 else { return "setresuid" }
        return nil
    }
}
