import Programs
import Storage

/// `relay devices`: lists a secret's devices and the result of the last push to each.
enum DevicesCommand {
    /// Asks for the secret if necessary, and prints the list.
    static func run(
        _ configuration: InspectionConfiguration, _ options: CommandOptions, _ style: OutputStyle
    ) -> ExitStatus {
        Inspection.ofSecret(configuration) { storage, key throws(StorageError) in
            let devices = try await storage.devices(of: key)
            let last = try await storage.lastUses(of: devices, under: key)
            let list = DeviceList(
                devices: devices, last: last.deliveries, agent: last.agent, now: WallClock.system.now)
            StandardOutput.write(
                options.has(.json)
                    ? String(decoding: list.body, as: UTF8.self) + "\n" : text(list, of: key, style))
            return .success
        }
    }

    /// The list as text.
    static func text(_ list: DeviceList, of key: SecretKey, _ style: OutputStyle) -> String {
        let count = list.devices.count
        let head = "Secret \(key): \(count == 0 ? "no" : String(count)) device\(count == 1 ? "" : "s")"
        guard count > 0 else { return head + "\n" }
        let agent = list.agent.map { agent in
            "Agent: \(TerminalText.safe(agent.client ?? "unnamed")), last used \(Timestamp(agent.usedAt).toTheSecond) "
                + "(\(agent.freshness(at: list.now).rawValue))\n"
        }
        var table = TextTable([
            .init(heading: "DEVICE"), .init(heading: "APP"), .init(heading: "WHERE"),
            .init(heading: "NAME", widthMax: 24), .init(heading: "MODEL", widthMax: 24),
            .init(heading: "SEALED"), .init(heading: "REGISTERED"), .init(heading: "UPDATED"),
            .init(heading: "LAST PUSH"),
            .init(heading: "OUTCOME"),
        ])
        let last = list.lastByDevice
        for device in list.devices {
            let push = last[device.id]
            table.add([
                .init(device.maskedToken), .init(device.bundleID),
                .init(device.webPushHost ?? device.environment.rawValue),
                .init(device.details.deviceName ?? ""), .init(device.details.deviceModel ?? ""),
                .init(device.details.sealedVersions ?? ""),
                .init(Timestamp(device.createdAt).toTheSecond),
                .init(Timestamp(device.updatedAt).toTheSecond),
                .init(push.map { Timestamp($0.createdAt).toTheSecond } ?? ""), .outcome(of: push),
            ])
        }
        return head + "; times in UTC\n" + (agent ?? "") + table.text(style)
    }
}

extension TextTable.Cell {
    /// The result of a push: `sent`, or why it failed.
    static func outcome(of delivery: Delivery?) -> TextTable.Cell {
        switch delivery?.status {
        case nil: TextTable.Cell("")
        case .sent: TextTable.Cell("sent", .good)
        case .failed: TextTable.Cell(delivery?.error ?? "failed", .bad)
        }
    }
}

extension RelayCommand {
    static let devices = RelayCommand(
        "devices", "List a secret's devices and the result of the last push to each.",
        about: """
            Lists a secret's devices and the result of the last push to each, and shows when an agent last
            used the secret (POST /mcp). It works alongside a running relay. Device tokens are masked. With
            --json it prints the response of POST /v1/device/list.
            """,
        options: [.json],
        settings: .inspection + .ofSecret
    ) { call throws(ConfigurationError) in
        DevicesCommand.run(try call.inspection(), call.options, call.style)
    }
}
