internal import CPageFiles
internal import Gzip

/// A file of a page in clients/web or clients/console, embedded in the program.
package struct PageFile: Sendable {
    /// The path in the page's folder.
    package let path: String
    /// The file's contents.
    package let bytes: [UInt8]
    /// The file compressed with gzip (RFC 1952); `nil` if that isn't smaller.
    package let compressed: [UInt8]?

    /// Every file of the web page, as clients/web/src/files.js lists them, compressed on each call.
    package static func all() -> [PageFile] { unsafe files(page_files(), page_files_count) }

    /// Every file of the operator's console in clients/console, compressed on each call.
    package static func console() -> [PageFile] { unsafe files(console_files(), console_files_count) }

    private static func files(_ first: UnsafePointer<page_file>?, _ count: Int) -> [PageFile] {
        let files = unsafe UnsafeBufferPointer(start: first, count: count)
        return unsafe files.map { file in
            let bytes = unsafe Array(UnsafeBufferPointer(start: file.bytes, count: file.length))
            return unsafe PageFile(
                path: String(cString: file.path), bytes: bytes, compressed: Gzip.compressed(bytes))
        }
    }
}
