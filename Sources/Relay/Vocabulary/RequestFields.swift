import JSON

/// How large a body may be, and how deeply nested.
struct BodyBounds: Sendable {
    let bytesMax: Int
    let depthMax: Int

    /// The bounds of most routes.
    static let single = BodyBounds(
        bytesMax: Bounds.requestBodyBytesMax, depthMax: Bounds.requestJSONDepthMax)
    /// The bounds of a batch, whose events are nested two levels deeper than a single event.
    static let batch = BodyBounds(
        bytesMax: Bounds.batchBodyBytesMax, depthMax: Bounds.requestJSONDepthMax + 2)
}

/// Reads the fields of a JSON body one by one, with a specific error for each problem.
struct RequestFields: Sendable {
    private let object: JSON.Object
    /// The length of the prefix of a nested field's name, such as `notification.`.
    private let prefixCount: Int

    /// Parses a body.
    ///
    /// - Throws: `invalid_body` if it isn't a JSON object.
    init(body: [UInt8], bounds: BodyBounds = .single) throws(APIError) {
        guard let object = try Self.value(of: body, bounds).object else { throw APIError(.invalidBody) }
        self.object = object
        prefixCount = 0
    }

    private static func value(
        of body: [UInt8], _ bounds: BodyBounds, isMarked: Bool = false
    ) throws(APIError) -> JSON.Value {
        do throws(JSON.ParseError) {
            return try JSON.parse(
                body, maxBytes: bounds.bytesMax, maxDepth: bounds.depthMax, loneSurrogates: .replaced)
        } catch {
            if !isMarked, let rest = BodyMistake.afterByteOrderMark(body) {
                return try value(of: rest, bounds, isMarked: true)
            }
            throw APIError(.invalidBody, hint: BodyMistake.hint(body), logDetail: error.description)
        }
    }

    /// The fields of a body that has already been parsed.
    init(_ object: JSON.Object) {
        self.object = object
        prefixCount = 0
    }

    /// The fields of an object within another field.
    init(_ object: JSON.Object, within field: RequestField) {
        self.object = object
        prefixCount = field.rawValue.utf8.count + 1
    }

    /// The number of members, including unknown ones.
    var count: Int { object.members.count }

    /// An object with all members except the given fields.
    func members(without fields: Set<RequestField>) -> JSON.Object {
        var rest = object
        for field in fields { rest[field.rawValue] = nil }
        return rest
    }

    /// A field's raw value; `nil` if it is absent.
    func value(_ field: RequestField) -> JSON.Value? {
        object[prefixCount == 0 ? field.rawValue : String(field.rawValue.dropFirst(prefixCount))]
    }

    /// An optional field, converted by `read`.
    ///
    /// - Throws: `invalid_field` if it is present and `read` returns nothing.
    func optional<Value>(_ field: RequestField, _ read: (JSON.Value) -> Value?) throws(APIError) -> Value? {
        guard let value = value(field) else { return nil }
        guard let read = read(value) else { throw Self.invalid(field, value) }
        return read
    }

    /// An optional boolean.
    func flag(_ field: RequestField) throws(APIError) -> Bool? { try optional(field, \.bool) }

    /// An optional whole number in a range.
    func integer(_ field: RequestField, in range: ClosedRange<Int>) throws(APIError) -> Int? {
        try optional(field) { value in value.wholeNumber.flatMap { range.contains($0) ? $0 : nil } }
    }

    /// An optional number from 0 to 1, as the text that was sent.
    func unitInterval(_ field: RequestField) throws(APIError) -> JSON.Number? {
        try optional(field) { value in
            value.number.flatMap { number in
                number.double.flatMap { (0...1).contains($0) ? number : nil }
            }
        }
    }

    /// An optional list of strings.
    func texts(_ field: RequestField) throws(APIError) -> [String]? {
        try optional(field) { value in
            guard let elements = value.array else { return nil }
            let texts = elements.compactMap(\.string)
            return texts.count == elements.count ? texts : nil
        }
    }

    /// An optional list of whole numbers.
    func integers(_ field: RequestField) throws(APIError) -> [Int]? {
        try optional(field) { value in
            guard let elements = value.array else { return nil }
            let numbers = elements.compactMap(\.wholeNumber)
            return numbers.count == elements.count ? numbers : nil
        }
    }

    /// The fields of an optional object.
    func object(_ field: RequestField) throws(APIError) -> RequestFields? {
        try optional(field) { value in value.object.map { RequestFields($0, within: field) } }
    }

    /// An optional name: 1 to `most` bytes without NUL.
    func word(_ field: RequestField, most: Int) throws(APIError) -> String? {
        try optional(field) { (1...most).contains($0.count) && !$0.contains(0) }
    }

    /// An optional string.
    ///
    /// - Throws: `invalid_field` if it is present and not a string (`null` isn't one), or contains a lone
    ///   surrogate where every byte matters.
    func optional(_ field: RequestField) throws(APIError) -> String? {
        guard let value = value(field) else { return nil }
        guard let text = field.isProse ? value.text : value.string else { throw Self.invalid(field, value) }
        return text
    }

    /// Optional text for people; empty text counts as absent, because senders' templates can leave it empty.
    func shownText(_ field: RequestField) throws(APIError) -> String? {
        guard let text = try optional(field), !text.isEmpty else { return nil }
        return text
    }

    /// Whether a field is present; empty text for people counts as absent.
    func has(_ field: RequestField) -> Bool {
        guard let value = value(field) else { return false }
        return !(field.isShownText && value.string?.isEmpty == true)
    }

    private static func invalid(_ field: RequestField, _ value: JSON.Value) -> APIError {
        guard case .repairedString = value else {
            let hint = field.isToken ? value.string.flatMap(TokenMistake.hint) : nil
            return APIError(.invalidField, field: field, hint: hint)
        }
        return APIError(
            .invalidField, field: field, hint: "\(field.rawValue) contains half of a surrogate pair.")
    }

    /// An optional string with a condition on its UTF-8 bytes.
    func optional(
        _ field: RequestField, where holds: (String.UTF8View) -> Bool
    ) throws(APIError) -> String? {
        guard let text = try optional(field) else { return nil }
        guard holds(text.utf8) else { throw APIError(.invalidField, field: field) }
        return text
    }

    /// A required string.
    ///
    /// - Throws: `missing_field` if it is absent, `invalid_field` if it isn't a string.
    func required(_ field: RequestField) throws(APIError) -> String {
        guard let text = try optional(field) else { throw APIError(.missingField, field: field) }
        return text
    }

    /// A required string with a condition on its UTF-8 bytes.
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
    /// The number if it is whole, in any notation: JSON Schema counts `1.0` as an integer.
    var wholeNumber: Int? { int ?? double.flatMap { Int(exactly: $0) } }
}

extension JSON.Writer {
    /// A member with a list of field names.
    mutating func member(_ name: StaticString, _ fields: [RequestField]) {
        self.name(name)
        beginArray()
        for field in fields { string(field.rawValue) }
        endArray()
    }
}
