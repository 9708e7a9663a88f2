/// How a push arrives.
package enum Transport: String, CaseIterable, Hashable, Sendable { case apns, webpush }
