import HTTPServer

extension Request {
    /// The coding that a body must be decoded by first, as the sender names it; `nil` if it has none.
    var contentCoding: String? {
        let coding = headers.values(of: "Content-Encoding").joined(separator: ", ")
        return coding.isEmpty || coding.lowercased() == "identity" ? nil : coding
    }
}
