package import HTTP2

/// A client's request on one stream: its header fields, nine of which APNs reads, and the payload.
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

        /// The field with this name; the length alone almost identifies it.
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

    /// The position of a value.
    private struct Slot: Sendable {
        var start: Int32 = -1
        var end: Int32 = 0
    }

    /// The largest payload that is kept in full for `GET /pushes`, in bytes.
    package static let keptPayloadBytesMax = 8_192

    /// The request as HTTP/2 delivered it.
    package private(set) var request: ServerRequest
    private var slots = InlineArray<9, Slot>(repeating: Slot())
    /// The first field that was sent more than once, of those that APNs reads.
    package private(set) var repeatedField: Field?

    /// Creates a push from a request.
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

    /// The payload; truncated if it was too long to keep.
    package var payload: [UInt8] { request.body }

    /// A copy for the log, with an oversized payload truncated.
    package var kept: PushRequest {
        guard request.body.count > Self.keptPayloadBytesMax else { return self }
        var kept = self
        kept.request.body = Array(request.body.prefix(Self.keptPayloadBytesMax))
        return kept
    }
}
