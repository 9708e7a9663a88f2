import Storage

@testable import Relay

extension RequestBody {
    /// Parses a body as the stage before all routes does.
    init(body: [UInt8], rules: RequestRules = RequestRules()) throws(APIError) {
        let fields = try RequestFields(body: body)
        _ = try fields.secret(orOf: nil)
        try self.init(fields, rules, at: RelayFixture.start)
    }
}
