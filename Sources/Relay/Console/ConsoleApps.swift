import APNs
import JSON
import Storage

/// `GET /v1/admin/apps`: apps with their results since startup, keys with their connections, and what expires.
struct ConsoleApps: Sendable {
    let snapshot: MetricsSnapshot
    let apps: Apps
    /// The ID of the Web Push key; `nil` if Web Push is off.
    let webPushKey: String?

    /// One JSON object.
    var json: [UInt8] {
        var writer = JSON.Writer(capacity: 4096)
        writer.beginObject()
        writer.member("acceptsAny", apps.count == nil)
        if let bundleID = apps.defaultBundleID { writer.member("defaultApp", bundleID.text) }
        if let webPushKey { writer.member("webPushKey", webPushKey) }
        if let expiry = snapshot.certificateExpiry { writer.member("certificateExpiry", expiry * 1000) }
        writer.name("apps")
        writer.beginArray()
        for row in rows { write(row, to: &writer) }
        writer.endArray()
        writer.name("keys")
        writer.beginArray()
        for key in apps.keys {
            for environment in [Environment.production, .sandbox]
            where apps.environments(of: key).contains(environment) {
                write(key, environment, to: &writer)
            }
        }
        writer.endArray()
        writer.endObject()
        return writer.finish()
    }

    /// The results of an app in an environment, as the metrics name them.
    private struct Row {
        let transport: String
        let environment: String
        let app: String
        var results: [(result: String, reason: String, count: UInt64)] = []
    }

    private var rows: [Row] {
        var rows: [Row] = []
        for sample in snapshot.loops.counts.resultSamples {
            let labels = sample.labels
            if rows.last.map({ [$0.transport, $0.environment, $0.app] }) != Array(labels.prefix(3)) {
                rows.append(Row(transport: labels[0], environment: labels[1], app: labels[2]))
            }
            rows[rows.count - 1].results.append((labels[3], labels[4], sample.count))
        }
        return rows
    }

    private func write(_ row: Row, to writer: inout JSON.Writer) {
        writer.beginObject()
        writer.member("transport", row.transport)
        writer.member("environment", row.environment)
        writer.member("app", row.app)
        if row.transport == Device.Transport.apns.rawValue {
            if apps.configuredBundleIDs.contains(row.app), let key = apps.key(of: row.app) {
                writer.member("key", key.keyID)
            }
            let standing = snapshot.apnsStandings.first {
                $0.bundleID == row.app && $0.environment.rawValue == row.environment
            }
            if let fault = standing?.fault { writer.member("fault", fault) }
        }
        writer.name("results")
        writer.beginArray()
        for (result, reason, count) in row.results where count > 0 {
            writer.beginObject()
            writer.member("result", result)
            if reason != LoopCounts.noReason { writer.member("reason", reason) }
            writer.name("count")
            writer.int(count)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }

    private func write(_ key: AppKey, _ environment: Environment, to writer: inout JSON.Writer) {
        let group = APNsGroup(APNsHealth.Destination(key: key, environment: environment))
        let statistics = snapshot.loops.groups[group] ?? ClientStatistics()
        writer.beginObject()
        writer.member("team", key.teamID)
        writer.member("key", key.keyID)
        writer.member("environment", environment.rawValue)
        writer.member("open", statistics.openConnections)
        writer.member("connecting", statistics.connectingConnections)
        writer.member("retiring", statistics.retiringConnections)
        writer.member("inFlight", statistics.pushesUnderWay)
        writer.member("waiting", statistics.pushesWaiting)
        writer.member("opened", Int(clamping: statistics.connectionsOpened))
        writer.member("failed", Int(clamping: statistics.connectionsFailed))
        let goAways = Dictionary(
            statistics.goAways.map { (GoAwayReasons.known($0), $1) }, uniquingKeysWith: +)
        writer.name("goAways")
        writer.beginObject()
        for (reason, count) in goAways.sorted(by: { $0.key < $1.key }) {
            writer.name(reason)
            writer.int(count)
        }
        writer.endObject()
        writer.endObject()
    }
}
