import Storage
import StorageMySQL
import StoragePostgres
import StorageSQLite

/// Parses database URLs with every driver: none may crash, and no description or error may contain the password.
func fuzzDatabaseURLs(_ input: [UInt8]) {
    guard let text = String(validating: input, as: UTF8.self), !text.contains(secret) else { return }
    for url in [text, "postgres:" + text, "mysql:" + text, "sqlite:" + text] { parse(url) }
    for scheme in ["postgres", "mysql"] {
        for url in ["\(scheme)://relay:\(secret)@\(text)", "\(scheme)://relay:\(secret)\(text)@host/relay"] {
            for message in parse(url) {
                require(!message.contains(secret), "a message contains the password")
            }
        }
    }
}

private let secret = "hunter2hunter2"

/// The description or the error that each driver returns for a URL.
@discardableResult
private func parse(_ url: String) -> [String] {
    var messages: [String] = []
    do throws(DatabaseURLError) { messages.append(try PostgresLocation(url: url).description) } catch {
        messages.append(error.description)
    }
    do throws(DatabaseURLError) { messages.append(try MySQLLocation(url: url).description) } catch {
        messages.append(error.description)
    }
    do throws(DatabaseURLError) {
        let path = try SQLiteLocation(url: url).path
        require(!path.isEmpty && !path.utf8.contains(0), "a path is empty or contains a NUL byte")
    } catch {
        messages.append(error.description)
    }
    return messages
}
