package import HTTP2

/// What a client sent on one stream: the header fields, of which APNs reads nine, and the payload.
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

        /// The field with this name; the length alone nearly decides.
        @inline(__always)
        fileprivate static func named(_ name: UnsafeBufferPointer<UInt8>) -> Field? {
            func check(_ field: Field) -> Field? {
                let text = field.name
                for offset in 0..<name.count where unsafe name[offset] != text.utf8Start[offset] {
                    return nil
                }
                return field
            }
            switch name.count {
            case 5: return check(.path)
            case 7: return check(.method) ?? check(.id)
            case 10: return check(.topic)
            case 13: return check(.authorization) ?? check(.priority)
            case 14: return check(.pushType)
            case 15: return check(.expiration)
            case 16: return check(.collapseID)
            default: return nil
            }
        }
    }

    /// Where a value is.
    private struct Slot: Sendable {
        var start: Int32 = -1
        var end: Int32 = 0
    }

    /// The largest payload that is kept whole for `GET /pushes`, in bytes.
    package static let keptPayloadBytesMax = 8_192

    /// What HTTP/2 delivered.
    package private(set) var request: ServerRequest
    private var slots = InlineArray<9, Slot>(repeating: Slot())
    /// A field that APNs reads and that came more than once.
    package private(set) var repeatedField: Field?

    /// A push as it came in.
    package init(_ request: ServerRequest) {
        self.request = request
        var slots = InlineArray<9, Slot>(repeating: Slot())
        var repeated: Field?
        unsafe request.fields.forEachField { name, value in
            guard let field = unsafe Field.named(name) else { return }
            if slots[field.rawValue].start >= 0 { repeated = repeated ?? field }
            slots[field.rawValue] = Slot(start: Int32(value.lowerBound), end: Int32(value.upperBound))
        }
        self.slots = slots
        repeatedField = repeated
    }

    /// The value of a field; `nil` when it was not sent.
    package subscript(_ field: Field) -> ArraySlice<UInt8>? {
        let slot = slots[field.rawValue]
        return slot.start >= 0 ? request.fields[Int(slot.start)..<Int(slot.end)] : nil
    }

    /// The value of a field as text; `nil` when it was not sent.
    package func text(_ field: Field) -> String? {
        self[field].map { String(decoding: $0, as: UTF8.self) }
    }

    /// The payload; its beginning, where it was too long to be kept.
    package var payload: [UInt8] { request.body }

    /// The push as it is kept: of a payload that is far too large only the beginning.
    package var kept: PushRequest {
        guard request.body.count > Self.keptPayloadBytesMax else { return self }
        var kept = self
        kept.request.body = Array(request.body.prefix(Self.keptPayloadBytesMax))
        return kept
    }
}
