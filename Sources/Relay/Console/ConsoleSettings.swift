import JSON
import Programs

/// `GET /v1/admin/settings`: the configuration in force; for secrets, only whether they are set.
struct ConsoleSettings: Sendable {
    let settings: [SettingInForce]
    /// The database's location without the password, as in the log; shown instead of its URL.
    let database: String

    /// One JSON object.
    var json: [UInt8] {
        var writer = JSON.Writer(capacity: 16 * 1024)
        writer.beginObject()
        writer.name("settings")
        writer.beginArray()
        for setting in settings {
            writer.beginObject()
            writer.member("name", setting.row.name)
            writer.member("group", setting.row.group.title)
            writer.member("summary", setting.row.summary)
            if setting.row == Settings.databaseURL.row {
                writer.member("value", database)
            } else if setting.row.isSecret {
                writer.member("isSecret", true)
            } else if let text = setting.text {
                writer.member("value", text)
            }
            if let place = setting.place { writer.member("place", place) }
            writer.member("default", setting.row.defaultText)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.finish()
    }
}
