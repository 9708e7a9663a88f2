import Gzip
import HTTPServer

extension Request {
    /// The body's content coding, as the sender names it; `nil` if it has none.
    var contentCoding: String? {
        let coding = headers.values(of: "Content-Encoding").joined(separator: ", ")
        return coding.isEmpty || coding.lowercased() == "identity" ? nil : coding
    }

    /// The body, decoded if it is compressed with gzip; `nil` if that isn't valid, or too large.
    func body(unzippedUpTo bytesMax: Int) -> [UInt8]? {
        contentCoding.map(Gzip.isName) == true ? Gzip.content(of: body, bytesMax: bytesMax) : body
    }
}
