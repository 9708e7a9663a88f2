import JSON
import Network
import Programs
import Storage

/// `relay deliveries`: shows a secret's delivery log, and optionally follows it.
enum DeliveriesCommand {
    /// Asks for the secret if necessary, and prints the log.
    static func run(
        _ configuration: InspectionConfiguration, _ options: CommandOptions, _ style: OutputStyle
    ) -> ExitStatus {
        Inspection.ofSecret(configuration) { storage, key throws(StorageError) in
            let limit = options.number(.limit) ?? Bounds.rowsShownDefault
            let view = DeliveryView(devices: try await storage.devices(of: key))
            guard options.has(.follow) else {
                let rows = Array(
                    try await storage.newestDeliveries(of: key, count: limit).singles.prefix(limit))
                StandardOutput.write(options.has(.json) ? view.json(rows) : view.text(rows, of: key, style))
                return .success
            }
            let follow = Follow(
                storage: storage, key: key, isJSON: options.has(.json), style: style, view: view)
            return try await follow.run(showing: limit)
        }
    }

    /// Follows the log.
    private struct Follow {
        let storage: any Storage
        let key: SecretKey
        let isJSON: Bool
        let style: OutputStyle
        var view: DeliveryView

        /// Shows the latest rows, oldest first, then new ones, until nothing reads the output any more.
        consuming func run(showing limit: Int) async throws(StorageError) -> ExitStatus {
            let rows = try await storage.newestDeliveries(of: key, count: max(limit, LogFollower.window))
            var follower = LogFollower(seen: rows)
            if !isJSON { StandardOutput.write(view.heading(of: key, style)) }
            var isPrinted = write(rows.singles.prefix(limit).reversed())
            var isAway = false
            while isPrinted, StandardOutput.isRead {
                try? await Task.sleep(for: Bounds.followInterval)
                do throws(StorageError) {
                    let new = follower.take(try await look(follower)).flatMap(\.singles)
                    if !new.allSatisfy(view.knowsDevice) {
                        view = DeliveryView(devices: try await storage.devices(of: key))
                    }
                    isPrinted = write(new)
                    isAway = false
                } catch {
                    guard error.isTransient else { throw error }
                    if !isAway { StandardError.message("\(error.logDetail); trying again") }
                    isAway = true
                }
            }
            return .success
        }

        private func look(_ follower: LogFollower) async throws(StorageError) -> [Delivery] {
            var rows: [Delivery] = []
            for _ in 0..<Bounds.followPagesMax {
                let page = try await storage.deliveries(
                    of: key, before: rows.last?.cursor, limit: LogFollower.window)
                rows += page
                guard follower.goesOn(behind: page, of: LogFollower.window) else { break }
            }
            return rows
        }

        private func write(_ rows: [Delivery]) -> Bool {
            guard !rows.isEmpty else { return true }
            return StandardOutput.write(isJSON ? view.jsonLines(rows) : view.rows(rows, style))
        }
    }
}

/// Formats delivery log rows.
struct DeliveryView: Sendable {
    /// Masked tokens by device `id`.
    private let tokens: [String: String]

    /// A view that can name the currently registered devices.
    init(devices: [Device]) {
        tokens = Dictionary(devices.map { ($0.id, $0.maskedToken) }, uniquingKeysWith: { $1 })
    }

    /// Whether the row's device is known; true if the row has none.
    func knowsDevice(of row: Delivery) -> Bool { row.deviceID.map { tokens[$0] != nil } ?? true }

    /// A table as text, newest first.
    func text(_ rows: [Delivery], of key: SecretKey, _ style: OutputStyle) -> String {
        Self.head(key) + table(rows).text(style)
    }

    /// The heading for rows that are printed later.
    func heading(of key: SecretKey, _ style: OutputStyle) -> String {
        Self.head(key) + table([]).text(style)
    }

    /// Rows to print below the heading.
    func rows(_ rows: [Delivery], _ style: OutputStyle) -> String { table(rows).rowsText(style) }

    /// One JSON object with all rows.
    func json(_ rows: [Delivery]) -> String {
        var writer = JSON.Writer(capacity: 64 + 192 * rows.count)
        writer.beginObject()
        writer.name("deliveries")
        writer.beginArray()
        for row in rows { write(row, to: &writer) }
        writer.endArray()
        writer.endObject()
        return String(decoding: writer.finish(), as: UTF8.self) + "\n"
    }

    /// One JSON object per row, each on its own line.
    func jsonLines(_ rows: [Delivery]) -> String {
        rows.map { row in
            var writer = JSON.Writer()
            write(row, to: &writer)
            return String(decoding: writer.finish(), as: UTF8.self) + "\n"
        }.joined()
    }

    private static func head(_ key: SecretKey) -> String { "Secret \(key); times in UTC\n" }

    private func table(_ rows: [Delivery]) -> TextTable {
        var table = TextTable([
            .init(heading: "TIME", widthMin: 19), .init(heading: "EVENT", widthMin: 10),
            .init(heading: "DEVICE", widthMin: 9), .init(heading: "OUTCOME", widthMin: 20, widthMax: 40),
            .init(heading: "SESSION"),
        ])
        for row in rows {
            table.add([
                .init(Timestamp(row.createdAt).toTheSecond), .init(row.eventType),
                .init(row.deviceID.map { tokens[$0] ?? "gone" } ?? ""), .outcome(of: row),
                .init(row.sessionID),
            ])
        }
        return table
    }

    private func write(_ row: Delivery, to writer: inout JSON.Writer) {
        writer.beginObject()
        writer.member("at", Timestamp(row.createdAt).text)
        writer.member("eventType", row.eventType)
        writer.member("status", row.status.rawValue)
        if let error = row.error { writer.member("reason", error) }
        // A removed device has no token to show.
        if let device = row.deviceID.flatMap({ tokens[$0] }) { writer.member("device", device) }
        writer.member("sessionID", row.sessionID)
        if let eventID = row.eventID { writer.member("eventID", eventID) }
        writer.member("id", row.id)
        writer.endObject()
    }
}

extension RelayCommand {
    static let deliveries = RelayCommand(
        "deliveries", "Show a secret's delivery log: the result of each push to its devices.",
        about: """
            Shows the result of each push to a secret's devices, newest first. It works alongside a running
            relay. RELAY_LOG selects the results that are logged; they are kept for RELAY_LOG_RETENTION. A
            queued push appears once it is sent or has failed. With --follow and --json, each row is a JSON
            object on its own line.
            """,
        options: [.limit, .follow, .json],
        settings: .inspection + .ofSecret
    ) { call throws(ConfigurationError) in
        DeliveriesCommand.run(try call.inspection(), call.options, call.style)
    }
}

extension CommandOption {
    static let follow = CommandOption(
        "--follow", "Keep running and show new rows, oldest first, until Ctrl-C.")
}
