import JSON

extension MCPToolResult {
    /// The result of `send_notification`.
    ///
    /// It is a failure if the notification reaches nobody, so that the model can tell the user.
    ///
    /// - Parameter answer: The response to the same notification at `/v1/notify`.
    init(sending answer: [UInt8]) {
        let answer = (try? JSON.parse(answer, maxBytes: answer.count))?.object ?? JSON.Object()
        var result = JSON.Object()
        for name in ["sent", "failed", "queued", "muted"] { result[name] = answer[name] ?? 0 }
        result["devices"] = answer["deliveries"] ?? []
        func count(_ name: String) -> Int { result[name]?.int ?? 0 }
        let reached = count("sent") + count("queued") + count("muted")
        if reached > 0 {
            self.init(.object(result))
        } else if count("failed") > 0 {
            self.init(
                .object(result),
                sentence: "The notification reached no device. Tell the user; the reasons are below.",
                isError: true)
        } else {
            self.init(.object(result), sentence: Self.noDevices, isError: true)
        }
    }

    /// The result of `list_devices`, which helps to decide whether the user can be reached.
    init(devices list: DeviceList) {
        let shown = ["device", "deviceName", "deviceModel", "bundleId", "apnsEnv", "lastPush"]
        let answer = try? JSON.parse(list.body, maxBytes: list.body.count)
        let devices = (answer?["devices"]?.array ?? []).map { device in
            var object = JSON.Object()
            for name in shown { object[name] = device[name] }
            return JSON.Value.object(object)
        }
        self.init(
            ["devices": .array(devices)], sentence: devices.isEmpty ? Self.noDevices : nil)
    }

    /// The text that a model can show its user if there is no device to notify.
    static let noDevices =
        "No devices are registered under this secret. The user must register a phone, or correct the secret in the "
        + "configuration of this MCP server."
}
