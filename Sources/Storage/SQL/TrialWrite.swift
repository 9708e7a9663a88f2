/// The statements of a trial write, the same on every engine; each `?` stands for one of `parameters`.
///
/// In each table they insert, update (if the relay updates that table) and delete one row, under a hash that no secret
/// has. So they need the same privileges as a registration, a queued push and its log row, and at least as much space.
/// One statement is a `SELECT`, which must return `text` as it was written.
package enum TrialWrite {
    /// One statement with its parameters.
    package typealias Statement = (sql: String, parameters: [SQLValue])

    /// The statements for all tables except `secret_lock`.
    package static func statements(id: UUIDv7, at now: EpochMilliseconds) -> [Statement] {
        let row = Row(id: id, now: now)
        return row.device + row.delivery + row.receipt + row.push + row.block + row.item + row.use
            + row.schedule + row.reply + row.pushToken + row.key + row.accessToken
    }

    /// Text with a four-byte character, which a session or column with another character set refuses or changes.
    package static let text = "🔔"

    /// The statements for `secret_lock`, which exists only on servers.
    package static func locking(id: UUIDv7) -> [Statement] {
        let hash = hash(of: id)
        return [
            ("INSERT INTO secret_lock (secret_hash, registrations) VALUES (?, 0)", [.hash(hash)]),
            ("UPDATE secret_lock SET registrations = registrations + 1 WHERE secret_hash = ?", [.hash(hash)]),
        ]
    }

    /// A query that returns 1 if there is any device, otherwise 0.
    package static let hasDevices =
        "SELECT count(*) FROM (SELECT 1 FROM device_registration LIMIT 1) AS found"

    private static func hash(of id: UUIDv7) -> SecretHash {
        SecretHash(Digest256(of: Array("relay check \(id.text)".utf8)))
    }

    private struct Row {
        let id: String
        let hash: SQLValue
        let now: SQLValue

        init(id: UUIDv7, now: EpochMilliseconds) {
            self.id = id.text
            hash = .hash(TrialWrite.hash(of: id))
            self.now = .integer(now)
        }

        private var place: [SQLValue] { [hash, .text(id)] }

        var device: [Statement] {
            [
                (
                    """
                    INSERT INTO device_registration
                        (secret_hash, device_token, id, bundle_id, apns_env, created_at, updated_at)
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    """,
                    place + [
                        .text(id), .text("relay.check"), .text(DeviceEnvironment.production.rawValue), now,
                        now,
                    ]
                ),
                (
                    """
                    UPDATE device_registration SET updated_at = updated_at + 1
                    WHERE secret_hash = ? AND device_token = ?
                    """, place
                ),
                ("DELETE FROM device_registration WHERE secret_hash = ? AND device_token = ?", place),
            ]
        }

        var delivery: [Statement] {
            [
                (
                    """
                    INSERT INTO delivery_log (secret_hash, id, event_type, session_id, status, created_at)
                    VALUES (?, ?, ?, ?, ?, ?)
                    """,
                    place + [
                        .text("relay.check"), .text(""), .text(DeliveryStatus.failed.rawValue), now,
                    ]
                ),
                (
                    "DELETE FROM delivery_log WHERE secret_hash = ? AND id = ? AND created_at = ?",
                    place + [now]
                ),
            ]
        }

        var receipt: [Statement] {
            [
                (
                    """
                    INSERT INTO event_receipt
                        (secret_hash, event_id, content_digest, claim_id, lease_until, expires_at)
                    VALUES (?, ?, ?, ?, ?, ?)
                    """, place + [hash, .text(id), now, now]
                ),
                (
                    """
                    UPDATE event_receipt SET lease_until = lease_until + 1
                    WHERE secret_hash = ? AND event_id = ?
                    """, place
                ),
                ("DELETE FROM event_receipt WHERE secret_hash = ? AND event_id = ?", place),
            ]
        }

        var push: [Statement] {
            [
                (
                    """
                    INSERT INTO pending_push
                        (secret_hash, id, device_id, event_type, session_id, payload, push_type, priority, attempts,
                         due_at, created_at, expires_at)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                    place + [
                        .text(id), .text("relay.check"), .text(""), .blob(TrialWrite.payload), .text("alert"),
                        .integer(10), .integer(0), now, now, now,
                    ]
                ),
                (
                    "UPDATE pending_push SET attempts = attempts + 1 WHERE secret_hash = ? AND id = ?", place
                ),
                ("DELETE FROM pending_push WHERE secret_hash = ? AND id = ?", place),
            ]
        }

        var item: [Statement] {
            [
                (
                    """
                    INSERT INTO history_item (secret_hash, id, event_type, session_id, created_at, title)
                    VALUES (?, ?, ?, ?, ?, ?)
                    """, place + [.text("relay.check"), .text(""), now, .text(TrialWrite.text)]
                ),
                (
                    "SELECT title FROM history_item WHERE secret_hash = ? AND id = ? AND created_at = ?",
                    place + [now]
                ),
                (
                    """
                    UPDATE history_item SET read_at = ? WHERE secret_hash = ? AND id = ? AND created_at = ?
                    """, [now] + place + [now]
                ),
                (
                    "DELETE FROM history_item WHERE secret_hash = ? AND id = ? AND created_at = ?",
                    place + [now]
                ),
            ]
        }

        var use: [Statement] {
            [
                ("INSERT INTO agent_use (secret_hash, used_at) VALUES (?, ?)", [hash, now]),
                ("UPDATE agent_use SET used_at = used_at + 1 WHERE secret_hash = ?", [hash]),
                ("DELETE FROM agent_use WHERE secret_hash = ?", [hash]),
            ]
        }

        var schedule: [Statement] {
            [
                (
                    """
                    INSERT INTO schedule
                        (secret_hash, id, kind, content, bucket, next_at, due_at, late_by, spread, created_at,
                         skipped, lease_until)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                    place + [
                        .text("relay.check"), .text(TrialWrite.text), .integer(0), now, now, .integer(0),
                        .integer(0), now,
                        .integer(0), now,
                    ]
                ),
                ("UPDATE schedule SET skipped = skipped + 1 WHERE secret_hash = ? AND id = ?", place),
                ("DELETE FROM schedule WHERE secret_hash = ? AND id = ?", place),
            ]
        }

        var reply: [Statement] {
            [
                (
                    """
                    INSERT INTO event_reply (secret_hash, event_id, acked_at, expires_at, reply_text)
                    VALUES (?, ?, ?, ?, ?)
                    """, place + [now, now, .text(TrialWrite.text)]
                ),
                (
                    "UPDATE event_reply SET expires_at = expires_at + 1 WHERE secret_hash = ? AND event_id = ?",
                    place
                ),
                ("DELETE FROM event_reply WHERE secret_hash = ? AND event_id = ?", place),
            ]
        }

        var pushToken: [Statement] {
            let condition = "WHERE secret_hash = ? AND kind = 'start' AND session_id = '' AND token = ?"
            return [
                (
                    """
                    INSERT INTO push_token
                        (secret_hash, kind, session_id, token, id, bundle_id, apns_env, created_at, updated_at,
                         stamp, state_at, progress_at, ended)
                    VALUES (?, 'start', '', ?, ?, ?, ?, ?, ?, 0, 0, 0, 0)
                    """,
                    place + [
                        .text(id), .text("relay.check"), .text(DeviceEnvironment.production.rawValue), now,
                        now,
                    ]
                ),
                ("UPDATE push_token SET stamp = stamp + 1 \(condition)", place),
                ("DELETE FROM push_token \(condition)", place),
            ]
        }

        var key: [Statement] {
            [
                (
                    "INSERT INTO relay_key (secret_hash, name, text, created_at) VALUES (?, ?, ?, ?)",
                    [hash, .text("relay.check"), .text(TrialWrite.text), now]
                ),
                (
                    "DELETE FROM relay_key WHERE secret_hash = ? AND name = ?", [hash, .text("relay.check")]
                ),
            ]
        }

        var accessToken: [Statement] {
            [
                (
                    """
                    INSERT INTO access_token
                        (secret_hash, token_hash, tenant_hash, id, scope, name, created_at)
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    """,
                    [hash, hash, hash, .text(id), .text("relay.check"), .text(TrialWrite.text), now]
                ),
                (
                    "UPDATE access_token SET used_at = 0 WHERE secret_hash = ? AND token_hash = ?",
                    [hash, hash]
                ),
                ("DELETE FROM access_token WHERE secret_hash = ? AND token_hash = ?", [hash, hash]),
            ]
        }

        var block: [Statement] {
            [
                (
                    "INSERT INTO blocked_secret (secret_hash, created_at, note) VALUES (?, ?, ?)",
                    [hash, now, .text(TrialWrite.text)]
                ),
                ("DELETE FROM blocked_secret WHERE secret_hash = ?", [hash]),
            ]
        }
    }

    /// A payload of the maximum size for APNs, which doesn't fit on the page on which it begins and so needs another
    /// free page.
    private static let payload = [UInt8](repeating: 0x20, count: 4_096)
}
