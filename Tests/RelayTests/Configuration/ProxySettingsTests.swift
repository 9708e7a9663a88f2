import Network
import Programs
import Testing

@testable import Relay

@Suite("Proxy settings", .timeLimit(.minutes(2)))
struct ProxySettingsTests {
    @Test(
        "A proxy's URL has a host, perhaps a port and credentials",
        arguments: [
            ("http://proxy:3128", "proxy:3128"), ("http://proxy", "proxy:80"), ("proxy:8080/", "proxy:8080"),
            ("http://u:p@[::1]:3128/", "[::1]:3128"), ("http://u%40x:p%3A%2F@10.0.0.1:1", "10.0.0.1:1"),
            ("http://u@proxy", "proxy:80"), ("HTTP://[fd00::1]", "[fd00::1]:80"), ("http://p:443", "p:443"),
        ])
    func urls(text: String, endpoint: String) throws {
        let proxy = try SettingType<ConnectProxy>.connectProxy.parse(text).get()
        #expect("\(proxy)" == endpoint)
    }

    @Test(
        "Others are refused, and what they hold isn't repeated",
        arguments: [
            "https://u:hunter2@proxy:1", "socks5://u:hunter2@proxy", "http://", "http://u:hunter2@",
            "http://proxy:0",
            "http://proxy:70000", "http://u:hunter2%0d%0a@proxy", "http://u%3Ax:hunter2@proxy",
            "http://u:hunter2%zz@p",
            "http://proxy/path", "http://proxy\r\nx:1",
        ])
    func refused(text: String) {
        let result = SettingType<ConnectProxy>.connectProxy.parse(text)
        guard case .failure(let fault) = result else {
            Issue.record("\(text) is taken")
            return
        }
        #expect(!"\(fault)".contains("hunter2"))
    }

    @Test("A proxy never shows its credentials")
    func secrecy() throws {
        let proxy = try SettingType<ConnectProxy>.connectProxy.parse("http://ada:hunter2@proxy").get()
        var text = ""
        dump(proxy, to: &text)
        text += "\(proxy)" + String(reflecting: proxy) + "\(Mirror(reflecting: proxy).children.map(\.value))"
        // Neither base64 of ada:hunter2 nor the password.
        #expect(!text.contains("hunter2") && !text.contains("YWRhOmh1bnRlcjI="), "\(text)")
    }

    @Test(
        "NO_PROXY is read as other programs read it",
        arguments: [
            ("push.apple.com", "api.push.apple.com", true), (".apple.com", "api.push.apple.com", true),
            ("*.apple.com", "api.push.apple.com", true), ("apple.com", "apple.com.", true),
            ("pineapple.com", "apple.com", false), ("apple.com", "pineapple.com", false),
            ("PUSH.Apple.com", "api.push.apple.com", true),
            ("a, api.push.apple.com ,b", "api.push.apple.com", true),
            ("*", "api.push.apple.com", true), ("", "api.push.apple.com", false), ("", "localhost", true),
            ("", "127.3.2.1", true), ("", "::1", true), ("17.0.0.0/8", "17.1.2.3", true),
            ("17.0.0.0/8", "18.1.2.3", false),
            ("17.1.2.3", "17.1.2.3", true), ("fd00::/8", "fd00::1", true), ("[fd00::1]:443", "fd00::1", true),
            ("apple.com:443", "api.apple.com", true), ("apple.com:2197", "api.apple.com", false),
        ])
    func noProxy(list: String, host: String, isCovered: Bool) {
        #expect(NoProxy(list).covers(host: host, port: 443) == isCovered)
    }

    @Test("The variables may be in lower case; those in upper case go before")
    func lowerCase() {
        #expect(ProxyVariables.inUpperCase(["https_proxy": "a", "no_proxy": "b"])["HTTPS_PROXY"] == "a")
        #expect(ProxyVariables.inUpperCase(["https_proxy": "a", "HTTPS_PROXY": "b"])["HTTPS_PROXY"] == "b")
        #expect(ProxyVariables.inUpperCase(["https_proxy": "a", "HTTPS_PROXY": ""])["HTTPS_PROXY"] == "a")
        #expect(
            ProxyVariables.inUpperCase(["https_proxy": "a", "HTTPS_PROXY_FILE": "/f"])["HTTPS_PROXY"] == nil)
    }
}
