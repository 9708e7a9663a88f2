import Network
import Programs
import WebPush

/// The settings for Web Push.
struct WebPushConfiguration: Sendable {
    let subject: VAPIDSubject
    /// The configured keys, the current one first; if there are none, the key is in the database.
    let keys: [VAPIDKey]
    let hosts: HostRule
    let caFile: String?
    /// The proxy for push services; `nil` for none.
    private let proxy: ConnectProxy?
    private let noProxy: NoProxy

    /// Reads the settings; `nil` if Web Push is off, with a problem noted if a setting has no effect.
    init?(_ reader: inout SettingReader) {
        let subject = reader.read(Settings.vapidSubject)
        let current = reader.read(Settings.vapidPrivateKey)
        let other = reader.read(Settings.vapidPrivateKeyOther)
        hosts = reader.read(Settings.webPushHosts)?.rule ?? .known
        caFile = reader.read(Settings.webPushCAFile)
        proxy = reader.read(Settings.httpsProxy)
        noProxy = reader.read(Settings.noProxy) ?? NoProxy()
        if other != nil, current == nil {
            reader.note("RELAY_VAPID_PRIVATE_KEY_OTHER needs RELAY_VAPID_PRIVATE_KEY, the current key")
        }
        guard let subject else {
            // An invalid subject was noted when it was read.
            guard !reader.isGiven(Settings.vapidSubject.row) else { return nil }
            let rows = [
                Settings.vapidPrivateKey.row, Settings.vapidPrivateKeyOther.row, Settings.webPushHosts.row,
                Settings.webPushCAFile.row,
            ]
            for row in rows where reader.isGiven(row) {
                reader.note(
                    "\(row.name) has no effect without RELAY_VAPID_SUBJECT, which enables Web Push")
            }
            return nil
        }
        self.subject = subject
        keys = [current, other].compactMap(\.self)
    }
}

extension WebPushConfiguration {
    /// The configured keys, followed by the database's key, which covers older subscriptions if another key is
    /// configured; `nil` if there are none.
    func keys(stored: VAPIDKey?) -> WebPushKeys? {
        let all = keys + [stored].compactMap(\.self)
        return all.first.map { current in
            WebPushKeys(current: current, others: Array(all.dropFirst()), subject: subject, hosts: hosts)
        }
    }

    /// The settings for each sender.
    var senderSettings: SenderSettings {
        var settings = SenderSettings()
        settings.caFile = caFile
        settings.proxy = proxy
        settings.bypassesProxy = { [noProxy] in noProxy.covers(host: $0, port: $1) }
        return settings
    }
}

/// Push services that the operator allows.
struct PushHosts: Sendable {
    /// Allows the known services and those that the operator adds.
    let rule: HostRule
    /// The hosts as configured.
    let text: String
}

extension SettingType where Value == VAPIDSubject {
    /// The contact for push services.
    static let vapidSubject = SettingType(
        accepts: "a mailto: or https: URL",
        parse: { text in
            do throws(VAPIDSubjectError) {
                return .success(try VAPIDSubject(text))
            } catch {
                return .failure(.because("it \(error.description)"))
            }
        },
        render: \.text)
}

extension SettingType where Value == VAPIDKey {
    /// A VAPID private key.
    static let vapidKey = SettingType(
        accepts: "base64url of 32 bytes, as web-push prints it, or PEM",
        parse: { text in
            do throws(VAPIDKeyError) {
                return .success(try VAPIDKey(text))
            } catch {
                return .failure(.because("it \(error.description)"))
            }
        },
        render: \.description)
}

extension SettingType where Value == PushHosts {
    /// Hosts of push services, separated by commas.
    static let pushHosts = SettingType(
        accepts: "names, *.suffix, host:port or any, separated by commas",
        parse: { text in
            let entries = text.split(separator: ",", omittingEmptySubsequences: false).map {
                String($0.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
            }
            do throws(HostRuleError) {
                return .success(PushHosts(rule: try HostRule(more: entries), text: text))
            } catch {
                return .failure(.because(error.description))
            }
        },
        render: \.text)
}
