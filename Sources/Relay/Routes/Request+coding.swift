import HTTPServer

extension Request {
    /// The body's content coding, as the sender names it; `nil` if it has none.
    var contentCoding: String? {
        let coding = headers.values(of: "Content-Encoding").joined(separator: ", ")
        return coding.isEmpty || coding.lowercased() == "identity" ? nil : coding
    }
}
