import APNs
import Instruments
import JSON
import Programs
import Storage

/// `GET /v1/admin/overview`: the relay's state, its counts since startup, and the samples that the page doesn't have.
struct ConsoleOverview: Sendable {
    let snapshot: MetricsSnapshot
    let samples: [ConsoleSample]

    /// One JSON object.
    var json: [UInt8] {
        var writer = JSON.Writer(capacity: 2048 + 256 * samples.count)
        writer.beginObject()
        writer.member("now", snapshot.time)
        writer.member("version", snapshot.version)
        writer.member("database", snapshot.database)
        writer.member("interval", Bounds.consoleInterval.inMilliseconds)
        if let process = snapshot.process {
            // Also lets the page detect that the relay restarted and so renumbered its samples.
            writer.member("startedAt", Int64(process.startNanoseconds / 1_000_000))
            writer.member("memory", process.residentBytes)
            writer.member("openFiles", process.openFiles)
            writer.member("openFilesMax", process.openFilesMax)
        }
        writer.name("checks")
        writer.beginArray()
        for check in snapshot.readiness.checks {
            writer.beginObject()
            writer.member("name", check.name)
            if let fault = check.fault { writer.member("fault", fault) }
            writer.endObject()
        }
        writer.endArray()
        writer.name("apps")
        writer.beginArray()
        for standing in snapshot.apnsStandings {
            writer.beginObject()
            writer.member("app", standing.bundleID)
            writer.member("environment", standing.environment.rawValue)
            if let fault = standing.fault { writer.member("fault", fault) }
            writer.endObject()
        }
        writer.endArray()
        writeGauges(to: &writer)
        writer.member("bounds", DurationHistogram.bounds)
        writer.name("totals")
        writer.beginObject()
        ConsoleCounts(snapshot).write(to: &writer)
        writer.name("limits")
        writer.beginObject()
        for (kind, count) in zip(LimitKind.allCases, snapshot.loops.counts.limits) where count > 0 {
            writer.name(String(kind.rawValue))
            writer.int(count)
        }
        writer.endObject()
        writer.endObject()
        writer.name("samples")
        writer.beginArray()
        for sample in samples { sample.write(to: &writer) }
        writer.endArray()
        writer.endObject()
        return writer.finish()
    }

    private func writeGauges(to writer: inout JSON.Writer) {
        let gauges: [(StaticString, Int)] = [
            ("waiting", snapshot.queue.waiting), ("waitingMax", snapshot.queueMax),
            ("waitingBytes", snapshot.queue.waitingBytes), ("waitingBytesMax", snapshot.queueBytesMax),
            ("oldestDueAge", Int(snapshot.queueAge)), ("unwritten", snapshot.queue.unwritten),
            ("connections", snapshot.connections), ("connectionsMax", snapshot.connectionsMax),
            ("pushesInFlight", snapshot.loops.pushesInFlight),
            ("pushesInFlightMax", snapshot.pushesInFlightMax),
            ("waitingCalls", snapshot.storage.waitingCalls),
        ]
        for (name, number) in gauges { writer.member(name, number) }
    }
}
