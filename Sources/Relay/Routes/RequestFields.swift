import JSON

/// The fields of a request's JSON body, read one by one with the error that each problem deserves.
struct RequestFields: Sendable {
    private let object: JSON.Object
    /// Characters before a field's own name: an object within the body has fields such as `notification.title`.
    private let prefixCount: Int

    /// Reads a body.
    ///
    /// - Throws: `invalid_body` when it is no JSON object.
    init(body: [UInt8]) throws(APIError) {
        let value: JSON.Value
        do throws(JSON.ParseError) {
            value = try JSON.parse(
                body, maxBytes: Bounds.requestBodyBytesMax, maxDepth: Bounds.requestJSONDepthMax,
                loneSurrogates: .replaced)
        } catch {
            throw APIError(
                .invalidBody, hint: body.isEmpty ? "It is empty." : nil, logDetail: error.description)
        }
        guard let object = value.object else { throw APIError(.invalidBody) }
        self.object = object
        prefixCount = 0
    }

    /// The fields of an object that is the value of another field.
    init(_ object: JSON.Object, within field: RequestField) {
        self.object = object
        prefixCount = field.rawValue.utf8.count + 1
    }

    /// A field's value as it is; `nil` when it is absent.
    func value(_ field: RequestField) -> JSON.Value? {
        object[prefixCount == 0 ? field.rawValue : String(field.rawValue.dropFirst(prefixCount))]
    }

    /// A field that may be absent, of whatever kind `read` takes.
    ///
    /// - Throws: `invalid_field` when it is there and `read` gives nothing.
    func optional<Value>(_ field: RequestField, _ read: (JSON.Value) -> Value?) throws(APIError) -> Value? {
        guard let value = value(field) else { return nil }
        guard let read = read(value) else { throw Self.invalid(field, value) }
        return read
    }

    /// A truth value that may be absent.
    func flag(_ field: RequestField) throws(APIError) -> Bool? { try optional(field, \.bool) }

    /// A whole number in a range that may be absent.
    func integer(_ field: RequestField, in range: ClosedRange<Int>) throws(APIError) -> Int? {
        try optional(field) { value in value.wholeNumber.flatMap { range.contains($0) ? $0 : nil } }
    }

    /// A number from 0 to 1 that may be absent, in the text it came with.
    func share(_ field: RequestField) throws(APIError) -> JSON.Number? {
        try optional(field) { value in
            value.number.flatMap { number in
                number.double.flatMap { (0...1).contains($0) ? number : nil }
            }
        }
    }

    /// A list of strings that may be absent.
    func texts(_ field: RequestField) throws(APIError) -> [String]? {
        try optional(field) { value in
            guard let elements = value.array else { return nil }
            let texts = elements.compactMap(\.string)
            return texts.count == elements.count ? texts : nil
        }
    }

    /// The fields of an object that may be absent.
    func object(_ field: RequestField) throws(APIError) -> RequestFields? {
        try optional(field) { value in value.object.map { RequestFields($0, within: field) } }
    }

    /// A name or word that may be absent: 1 to `most` bytes without NUL.
    func word(_ field: RequestField, most: Int) throws(APIError) -> String? {
        try optional(field) { (1...most).contains($0.count) && !$0.contains(0) }
    }

    /// A field that may be absent.
    ///
    /// - Throws: `invalid_field` when it is there and no string; `null` is no string, nor is what has a lone surrogate
    ///   where every byte counts.
    func optional(_ field: RequestField) throws(APIError) -> String? {
        guard let value = value(field) else { return nil }
        guard let text = field.isProse ? value.text : value.string else { throw Self.invalid(field, value) }
        return text
    }

    private static func invalid(_ field: RequestField, _ value: JSON.Value) -> APIError {
        guard case .repairedString = value else { return APIError(.invalidField, field: field) }
        return APIError(
            .invalidField, field: field, hint: "\(field.rawValue) contains half of a surrogate pair.")
    }

    /// A field that may be absent, with a condition on its UTF-8.
    func optional(
        _ field: RequestField, where holds: (String.UTF8View) -> Bool
    ) throws(APIError) -> String? {
        guard let text = try optional(field) else { return nil }
        guard holds(text.utf8) else { throw APIError(.invalidField, field: field) }
        return text
    }

    /// A field that must be there.
    ///
    /// - Throws: `missing_field` when it is absent, `invalid_field` when it is no string.
    func required(_ field: RequestField) throws(APIError) -> String {
        guard let text = try optional(field) else { throw APIError(.missingField, field: field) }
        return text
    }

    /// A field that must be there, with a condition on its UTF-8.
    func required(
        _ field: RequestField, where holds: (String.UTF8View) -> Bool
    ) throws(APIError) -> String {
        guard let text = try optional(field, where: holds) else {
            throw APIError(.missingField, field: field)
        }
        return text
    }
}

extension JSON.Value {
    /// The number, if it is a whole one, however it is written: JSON Schema counts `1.0` among the integers.
    var wholeNumber: Int? { int ?? double.flatMap { Int(exactly: $0) } }
}
