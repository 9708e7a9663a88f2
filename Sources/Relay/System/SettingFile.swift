import Programs

/// Reads the files that `…_FILE` settings name.
enum SettingFile {
    /// The file's contents, or why it can't be read; `-` is standard input.
    static func read(_ path: String) -> Result<[UInt8], FileError> {
        do throws(FileError) {
            return .success(try SmallFile.readGiven(path, bytesMax: Bounds.settingFileBytesMax))
        } catch {
            return .failure(error)
        }
    }
}
