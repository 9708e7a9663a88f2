import JSON

/// The fields of a request's JSON body, read one by one with the error that each problem deserves.
struct RequestFields: Sendable {
    private let object: JSON.Object

    /// Reads a body.
    ///
    /// - Throws: `invalid_body` when it is no JSON object.
    init(body: [UInt8]) throws(APIError) {
        let value: JSON.Value
        do throws(JSON.ParseError) {
            value = try JSON.parse(
                body, maxBytes: Bounds.requestBodyBytesMax, maxDepth: Bounds.requestJSONDepthMax)
        } catch {
            throw APIError(
                .invalidBody, hint: body.isEmpty ? "It is empty." : nil, logDetail: error.description)
        }
        guard let object = value.object else { throw APIError(.invalidBody) }
        self.object = object
    }

    /// A field that may be absent.
    ///
    /// - Throws: `invalid_field` when it is there and no string; `null` is no string.
    func optional(_ field: RequestField) throws(APIError) -> String? {
        guard let value = object[field.rawValue] else { return nil }
        guard let text = value.string else { throw APIError(.invalidField, field: field) }
        return text
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
