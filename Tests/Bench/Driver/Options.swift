import Network

/// An error that the driver reports.
enum BenchError: Error, CustomStringConvertible {
    case usage(String)
    case failed(String)

    var description: String {
        switch self {
        case .usage(let text), .failed(let text): text
        }
    }
}

/// The command line's `--name value` pairs.
struct Options {
    private var values: [String: String] = [:]

    init(_ arguments: ArraySlice<String>) throws(BenchError) {
        var rest = arguments
        while let name = rest.popFirst() {
            guard name.hasPrefix("--"), let value = rest.popFirst() else {
                throw .usage("what is '\(name)'?")
            }
            values[String(name.dropFirst(2))] = value
        }
    }

    func string(_ name: String) throws(BenchError) -> String {
        guard let value = values[name] else { throw .usage("--\(name) is missing") }
        return value
    }

    func integer(_ name: String) throws(BenchError) -> Int {
        guard let value = Int(try string(name)), value > 0 else {
            throw .usage("--\(name) takes a number above 0")
        }
        return value
    }

    func integer(_ name: String, default value: Int) throws(BenchError) -> Int {
        values[name] == nil ? value : try integer(name)
    }

    func port() throws(BenchError) -> UInt16 {
        UInt16(clamping: try integer("port"))
    }

    /// The contents of a file.
    func file(_ name: String) throws(BenchError) -> String {
        let path = try string(name)
        do {
            return String(decoding: try contents(ofFile: path), as: UTF8.self)
        } catch {
            throw .failed("\(error)")
        }
    }

    /// Trusts the certificates in a file.
    func trust(_ name: String) throws(BenchError) -> TLSClientContext {
        let path = try string(name)
        do {
            return try TLSClientContext(caFile: path, alpn: ["h2"])
        } catch {
            throw .failed("\(error)")
        }
    }
}
