import Gzip
import HTTPServer

extension Request {
    /// The body's content coding, as the sender wrote it; `nil` if there is none.
    var contentCoding: String? {
        let coding = headers.values(of: "Content-Encoding").joined(separator: ", ")
        return coding.isEmpty || coding.lowercased() == "identity" ? nil : coding
    }

    /// The body, decoded if it is compressed with gzip; `nil` if the gzip is invalid or the result too large.
    func body(unzippedUpTo bytesMax: Int) -> [UInt8]? {
        contentCoding.map(Gzip.isName) == true ? Gzip.content(of: body, bytesMax: bytesMax) : body
    }
}
