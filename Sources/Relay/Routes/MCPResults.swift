import JSON
import Programs
import Storage

extension MCPToolResult {
    /// The result of `send_notification`.
    ///
    /// The result is a failure if the notification reaches nobody, so that the model can tell the user.
    ///
    /// - Parameter isQuestion: Whether the notification is a question, which nobody can answer unless it reaches a
    ///   device.
    init(sending report: DispatchReport, isQuestion: Bool = false) {
        let result: JSON.Value = [
            "sent": .int(report.sent), "failed": .int(report.failed), "queued": .int(report.queued),
            "muted": .int(report.muted), "devices": .array(report.deliveries.map(\.json)),
        ]
        if isQuestion, report.muted > 0 {
            self = .failed("The user's devices don't want such questions. Nobody was asked.")
        } else if isQuestion, report.failed > 0 {
            self = .failed("The question reached no device. Tell the user; list_devices shows the reasons.")
        } else if report.sent + report.queued + report.muted > 0 {
            self.init(result)
        } else if report.failed > 0 {
            self.init(
                result, sentence: "The notification reached no device. Tell the user; the reasons are below.",
                isError: true)
        } else {
            self.init(result, sentence: Self.noDevices, isError: true)
        }
    }

    /// The result of `list_devices`, which helps a model to decide whether the user can be reached.
    init(devices list: DeviceList) {
        let last = list.lastByDevice
        let devices = list.devices.map { JSON.Value.object($0.shown(last[$0.id])) }
        self.init(["devices": .array(devices)], sentence: devices.isEmpty ? Self.noDevices : nil)
    }

    /// The text that a model can show its user if there is no device to notify.
    static let noDevices =
        "No devices are registered under this secret. The user must register a phone, or correct the secret in the "
        + "configuration of this MCP server."
}

extension DispatchReport.Delivery {
    /// The push's result as the tool's schema describes it.
    fileprivate var json: JSON.Value {
        var object = JSON.Object()
        object["device"] = .string(device)
        switch status {
        case .sent(let apnsID):
            object["status"] = "sent"
            object["apnsID"] = .string(apnsID)
        case .queued(let reason):
            object["status"] = "queued"
            object["apnsID"] = pushID.map { .string($0) }
            object["reason"] = .string(reason)
        case .failed(let reason):
            object["status"] = "failed"
            object["reason"] = .string(reason)
        case .muted: object["status"] = "muted"
        }
        if removed { object["removed"] = true }
        return .object(object)
    }
}

extension Device {
    /// The device as the tool's schema describes it.
    fileprivate func shown(_ last: Delivery?) -> JSON.Object {
        var object = JSON.Object()
        object["device"] = .string(maskedToken)
        object["deviceName"] = details.deviceName.map { .string($0) }
        object["deviceModel"] = details.deviceModel.map { .string($0) }
        object["bundleId"] = .string(bundleID)
        object["apnsEnv"] = .string(environment.rawValue)
        guard let last else { return object }
        var push = JSON.Object()
        push["at"] = .string(Timestamp(last.createdAt).text)
        push["eventType"] = .string(last.eventType)
        push["status"] = .string(last.status.rawValue)
        push["reason"] = last.error.map { .string($0) }
        object["lastPush"] = .object(push)
        return object
    }
}
