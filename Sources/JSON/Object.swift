extension JSON {
    /// The members of an object in their original order; names are unique.
    package struct Object: Sendable, Equatable {
        /// A name and its value.
        package struct Member: Sendable, Equatable {
            package let name: String
            package var value: Value

            /// Creates a member.
            package init(name: String, value: Value) {
                self.name = name
                self.value = value
            }

            /// Compares names by bytes.
            package static func == (left: Self, right: Self) -> Bool {
                left.name.hasSameBytes(as: right.name) && left.value == right.value
            }
        }

        /// All members in order.
        package private(set) var members: [Member]

        /// An object without members.
        package init() { members = [] }

        /// Creates an object from members whose names the scanner has found to be unique.
        init(unique members: [Member]) { self.members = members }

        /// The value of a member, found by comparing the name's bytes.
        ///
        /// Setting `nil` removes the member; setting a value for a new name appends one.
        package subscript(_ name: String) -> Value? {
            get {
                guard let index = index(of: name) else { return nil }
                return members[index].value
            }
            set {
                switch (index(of: name), newValue) {
                case (let index?, let value?): members[index].value = value
                case (let index?, nil): members.remove(at: index)
                case (nil, let value?): members.append(Member(name: name, value: value))
                case (nil, nil): break
                }
            }
        }

        private func index(of name: String) -> Int? {
            members.firstIndex { $0.name.hasSameBytes(as: name) }
        }
    }
}
