package import HTTP2

/// What a client sent on one stream, as it came: the header fields, of which APNs reads nine, and the payload.
package struct PushRequest: Sendable {
    /// A header field that APNs reads.
    package enum Field: Int, CaseIterable, Sendable {
        case method, path, authorization, topic, pushType, id, expiration, priority, collapseID

        /// The field's name on the wire.
        package var name: StaticString {
            switch self {
            case .method: ":method"
            case .path: ":path"
            case .authorization: "authorization"
            case .topic: "apns-topic"
            case .pushType: "apns-push-type"
            case .id: "apns-id"
            case .expiration: "apns-expiration"
            case .priority: "apns-priority"
            case .collapseID: "apns-collapse-id"
            }
        }
    }

    /// What HTTP/2 delivered.
    package let request: ServerRequest

    /// A push as it came in.
    package init(_ request: ServerRequest) { self.request = request }

    /// The value of a field; `nil` when it was not sent.
    ///
    /// The first one when it was sent more than once.
    package subscript(_ field: Field) -> ArraySlice<UInt8>? { request.fields[field.name] }

    /// The value of a field as text; `nil` when it was not sent.
    package func text(_ field: Field) -> String? {
        self[field].map { String(decoding: $0, as: UTF8.self) }
    }

    /// A field that APNs reads and that came more than once.
    package var repeatedField: Field? {
        Field.allCases.first { request.fields.count(of: $0.name) > 1 }
    }

    /// The payload; its beginning, where it was too long to be kept.
    package var payload: [UInt8] { request.body }
}
