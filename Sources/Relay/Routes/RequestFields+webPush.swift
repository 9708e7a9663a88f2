import APNs
import WebPush

extension RequestFields {
    /// Reads the device in `webPush`; `nil` if there is none.
    func webPush(_ rules: RequestRules) throws(APIError) -> WebPushDevice? {
        guard let fields = try object(.webPush) else { return nil }
        guard let keys = rules.webPush else { throw APIError(.webPushOff, field: .webPush) }
        try refuseAPNs()
        let endpoint = try fields.required(.webPushEndpoint)
        guard let members = try fields.object(.webPushKeys) else {
            throw APIError(.missingField, field: .webPushKeys)
        }
        let publicKey = try members.required(.webPushPublicKey)
        let secret = try members.required(.webPushAuth)
        let page = try fields.optional(.webPushPage)
        guard page.map(WebPushDevice.isPage) ?? true else {
            throw APIError(.invalidField, field: .webPushPage)
        }
        do throws(SubscriptionRefusal) {
            let subscription = try Subscription(
                endpoint: endpoint, p256dh: publicKey, auth: secret, allowed: keys.hosts)
            return WebPushDevice(subscription, keyID: keys.current.keyID, page: page)
        } catch {
            throw Self.error(error)
        }
    }

    /// The stand-in for a device token, derived from the endpoint in `webPush`; `nil` if there is none.
    ///
    /// Also works if the endpoint's push service is no longer allowed.
    func webPushToken() throws(APIError) -> DeviceToken? {
        guard let fields = try object(.webPush) else { return nil }
        try refuseAPNs()
        let endpoint = try fields.required(.webPushEndpoint)
        do throws(SubscriptionRefusal) {
            return WebPushDevice.token(of: try PushEndpoint(endpoint))
        } catch {
            throw Self.error(error)
        }
    }

    /// Refuses fields for APNs, because a device has only one transport.
    private func refuseAPNs() throws(APIError) {
        let fields: [RequestField] = [
            .deviceToken, .bundleID, .apnsEnvironment, .pushToStartToken, .widgetPushToken, .controlPushToken,
        ]
        for field in fields where has(field) {
            throw APIError(.invalidField, field: field, hint: "It is not allowed together with webPush.")
        }
    }

    private static func error(_ refusal: SubscriptionRefusal) -> APIError {
        let field: RequestField =
            switch refusal.field {
            case .endpoint: .webPushEndpoint
            case .p256dh: .webPushPublicKey
            case .auth: .webPushAuth
            }
        return APIError(.invalidField, field: field, hint: "\(field.rawValue) \(refusal.description).")
    }
}
