package import JSON

/// Reads the members of a JSON object with type and range checks, and rejects unknown members.
package struct FieldReader {
    private let object: JSON.Object
    private let what: String
    private var known: Set<String> = []

    /// Starts reading an object.
    ///
    /// - Parameter what: The name of the object in error messages.
    package init(_ value: JSON.Value, _ what: String) throws(ControlError) {
        guard let object = value.object else { throw ControlError("\(what) must be a JSON object") }
        self.object = object
        self.what = what
    }

    /// The raw member; `nil` when it is absent.
    package mutating func value(_ name: String) -> JSON.Value? {
        known.insert(name)
        return object[name]
    }

    /// Whether the member is present.
    package func has(_ name: String) -> Bool { object[name] != nil }

    /// Reads a string.
    package mutating func string(_ name: String) throws(ControlError) -> String? {
        guard let value = value(name) else { return nil }
        guard let string = value.string else { throw wrong(name, "a string") }
        return string
    }

    /// Reads a Boolean.
    package mutating func bool(_ name: String) throws(ControlError) -> Bool? {
        guard let value = value(name) else { return nil }
        guard let bool = value.bool else { throw wrong(name, "true or false") }
        return bool
    }

    /// Reads an integer in a range.
    package mutating func int(_ name: String, in range: ClosedRange<Int>) throws(ControlError) -> Int? {
        guard let value = value(name) else { return nil }
        guard let int = value.int, range.contains(int) else {
            throw wrong(name, "an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return int
    }

    /// Reads a number in a range.
    package mutating func number(
        _ name: String, in range: ClosedRange<Double>
    ) throws(ControlError) -> Double? {
        guard let value = value(name) else { return nil }
        guard let number = value.double, range.contains(number) else {
            throw wrong(name, "a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Reads one of the choices of an enumeration.
    package mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: String, of type: Choice.Type
    ) throws(ControlError) -> Choice? {
        guard let text = try string(name) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw wrong(name, "one of " + type.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", "))
        }
        return choice
    }

    /// Reads a list of strings; `.some(nil)` for `null`.
    package mutating func strings(_ name: String) throws(ControlError) -> [String]?? {
        guard let value = value(name) else { return nil }
        if value.isNull { return .some(nil) }
        guard let array = value.array else { throw wrong(name, "a list of strings or null") }
        let strings = array.compactMap(\.string)
        guard strings.count == array.count else { throw wrong(name, "a list of strings or null") }
        return .some(strings)
    }

    /// Reads a latency: milliseconds as a number, or a string in ``Latency/syntax``.
    package mutating func latency(_ name: String) throws(ControlError) -> Latency? {
        guard let value = value(name) else { return nil }
        if let milliseconds = value.double, (0...Latency.millisecondsMax).contains(milliseconds) {
            return .fixed(milliseconds)
        }
        guard let latency = value.string.flatMap(Latency.init) else {
            throw wrong(name, "milliseconds as a number, or a string: " + Latency.syntax)
        }
        return latency
    }

    /// Reads a device token and converts it to lower case.
    package mutating func deviceToken(_ name: String) throws(ControlError) -> String? {
        guard let text = try string(name) else { return nil }
        let bytes = Array(text.utf8)[...]
        guard DeviceToken.isWellFormed(bytes) else {
            throw wrong(
                name, "a device token: an even number of hexadecimal digits, at most \(DeviceToken.lengthMax)"
            )
        }
        return String(decoding: DeviceToken.normalized(bytes), as: UTF8.self)
    }

    /// Finishes reading.
    ///
    /// - Throws: An error if the object has a member that was not read.
    package func finish() throws(ControlError) {
        guard let member = object.members.first(where: { !known.contains($0.name) }) else { return }
        throw ControlError(
            "\(what) has no field `\(member.name)`; known fields: " + known.sorted().joined(separator: ", "))
    }

    private func wrong(_ name: String, _ expected: String) -> ControlError {
        ControlError("`\(name)` of \(what) must be \(expected)")
    }
}
