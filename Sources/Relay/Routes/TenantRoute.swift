import APNs
import HTTPServer
import Network
import Programs
import Storage

/// An asynchronous route.
///
/// One is created for each request, on the request's loop.
protocol AnsweringRoute: SendableMetatype {
    init(services: LoopServices)

    /// Returns the response; `trace` collects details for the log line.
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply

    /// The response to a request that the route refused.
    func reply(to error: APIError) -> Reply

    /// Whether the route decodes bodies with this content coding (RFC 9110, section 8.4).
    static func decodes(_ coding: String) -> Bool
}

extension AnsweringRoute {
    static func decodes(_: String) -> Bool { false }
    func reply(to error: APIError) -> Reply { Reply(error) }
}

/// A route that serves the tenant whose secret the request contains.
///
/// All requests pass the same stage: the body is read, the secret found, the fields validated, and the tenant admitted.
/// The route only configures this stage.
protocol TenantRoute: AnsweringRoute {
    /// The validated body.
    associatedtype Wanted: RequestBody

    var services: LoopServices { get }
    /// Which tenants are admitted, and how often.
    static var admission: Admission { get }

    /// The scope of the access tokens that are admitted in addition to the secret; `nil` if none are.
    static var scope: AccessTokenScope? { get }

    /// How large and how deeply nested a body may be.
    static var bodyBounds: BodyBounds { get }

    /// Refuses a request before its body is read.
    func precheck(_ request: Request) throws(APIError)

    /// Returns the response to an admitted tenant.
    func answer(
        _ wanted: Wanted, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply
}

extension TenantRoute {
    static var scope: AccessTokenScope? { nil }
    static var bodyBounds: BodyBounds { .single }

    func precheck(_: Request) throws(APIError) {}

    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        let started = services.loop.now
        try precheck(request)
        let fields = try RequestFields(body: request.body, bounds: Self.bodyBounds)
        let credential = try services.credential(of: request, fields)
        let wanted = try Wanted(fields, services.rules, at: services.shared.clock.now)
        let tenant = try await services.admit(
            credential, to: Self.admission, Self.scope, request, started, device: wanted.tracedToken, &trace)
        return try await answer(wanted, for: tenant, &trace)
    }
}

/// A request's validated body.
protocol RequestBody: Sendable {
    /// Validates the fields except the secret, in the order of docs/reference/api.md.
    init(_ fields: RequestFields, _ rules: RequestRules, at now: EpochMilliseconds) throws(APIError)

    /// The device token that is logged.
    var tracedToken: DeviceToken? { get }
}

extension RequestBody {
    var tracedToken: DeviceToken? { nil }
}

/// A body whose validity depends only on its fields.
protocol PlainRequestBody: RequestBody {
    /// Validates the fields except the secret, in the order of docs/reference/api.md.
    init(_ fields: RequestFields) throws(APIError)
}

extension PlainRequestBody {
    init(_ fields: RequestFields, _: RequestRules, at _: EpochMilliseconds) throws(APIError) {
        try self.init(fields)
    }
}
