// Explains a request's faults to people; runs only once the request has been refused.

extension APIError {
    /// The error for a body with a content coding.
    init(contentCoding coding: String) {
        let isName = coding.utf8.allSatisfy { byte in
            byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")
                || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ",") || byte == UInt8(ascii: " ")
        }
        let name = isName && coding.utf8.count <= Bounds.contentCodingCountMax ? ": \(coding)" : ""
        self.init(.unsupportedEncoding, hint: "Send it without Content-Encoding\(name).")
    }
}

/// A body that isn't JSON.
enum BodyMistake {
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The body after UTF-8's byte order mark; `nil` if it doesn't begin with one.
    static func afterByteOrderMark(_ body: [UInt8]) -> [UInt8]? {
        body.starts(with: byteOrderMark) ? Array(body.dropFirst(byteOrderMark.count)) : nil
    }

    /// A sentence for the sender; `nil` if the mistake isn't a common one.
    static func hint(_ body: [UInt8]) -> String? {
        guard let first = body.first else { return "It is empty." }
        guard let second = body.dropFirst().first else { return nil }
        let isWide =
            first == 0 || second == 0 || first == 0xFF && second == 0xFE
            || first == 0xFE && second == 0xFF
        if isWide { return "It is encoded in UTF-16 or UTF-32; send it in UTF-8." }
        let isForm =
            first | 0x20 >= UInt8(ascii: "a") && first | 0x20 <= UInt8(ascii: "z")
            && body.contains(UInt8(ascii: "="))
        if isForm { return "It looks like a form; send a JSON object." }
        guard first == UInt8(ascii: "'") else { return nil }
        return "It begins with a single quote that the shell did not remove."
    }
}

/// A device token in a form that APNs doesn't accept.
enum TokenMistake {
    /// A sentence for the sender, without the token; `nil` if the mistake isn't a common one.
    static func hint(_ text: String) -> String? {
        if text.hasPrefix("ExponentPushToken[") || text.hasPrefix("ExpoPushToken[") {
            return "This is an Expo push token. Send the APNs token, which getDevicePushTokenAsync() returns."
        }
        if text.contains(":APA91") {
            return "This is a Firebase registration token. Send the APNs token, in hexadecimal."
        }
        if text.hasPrefix("<") || text.hasPrefix("{") || text.hasSuffix(" bytes") {
            return "This is a description of Data. Send its bytes in hexadecimal."
        }
        if text.utf8.count > 2, text.hasPrefix("0x") || text.hasPrefix("0X") {
            return "Send the token without 0x."
        }
        let isUUID = text.utf8.count == 36 && text.split(separator: "-").map(\.count) == [8, 4, 4, 4, 12]
        if isUUID { return "This is a UUID, not the token that APNs gave the app." }
        if text.utf8.count >= Bounds.base64TokenCountMin, text.utf8.allSatisfy(isBase64) {
            return "This looks like base64. Send the token's bytes in hexadecimal."
        }
        return nil
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        let letter = byte | 0x20
        return letter >= UInt8(ascii: "a") && letter <= UInt8(ascii: "z")
            || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
            || "+/-_=".utf8.contains(byte)
    }
}
