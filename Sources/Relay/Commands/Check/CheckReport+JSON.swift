import JSON
import Programs

extension CheckReport {
    /// The `--json` output: one object; `ok` is false if something failed.
    var body: [UInt8] {
        var writer = JSON.Writer(capacity: 64 + 256 * findings.count)
        writer.beginObject()
        writer.member("ok", isGood)
        writer.member("version", Version.current)
        writer.member("failed", count(.failed))
        writer.member("warnings", count(.warning))
        writer.name("checks")
        writer.beginArray()
        for finding in findings {
            writer.beginObject()
            writer.member("check", finding.part.rawValue)
            if !finding.subject.isEmpty { writer.member("subject", finding.subject) }
            writer.member("status", finding.status.rawValue)
            if let fault = finding.fault { writer.member("fault", fault.rawValue) }
            writer.member("text", finding.text)
            if let advice = finding.advice { writer.member("advice", advice) }
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.finish()
    }
}
