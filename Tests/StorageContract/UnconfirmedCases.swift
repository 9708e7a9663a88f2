import Storage
import Testing

extension ServerCase {
    static let unconfirmed: [ServerCase] = [
        ServerCase(
            "an enqueue that fails as unavailable stored nothing; an unconfirmed one can be repeated"
        ) {
            database, proxy async throws in
            var options = ServerOptions.patient
            options.connectionsMax = 1
            let storage = try await database.open(options, through: proxy.port)
            let device = try await storage.registered("aa", Samples.key("secret"))
            var unconfirmed = 0
            var cuts = 0
            for direction in CuttingProxy.Direction.allCases {
                for chunks in 0..<64 {
                    let push = Samples.pending(device)
                    // The server is lost together with the connection.
                    proxy.cut(direction, after: chunks, refusing: true)
                    var error: StorageError?
                    do throws(StorageError) {
                        _ = try await storage.enqueue([push], lease: nil, limitPerSecret: 999)
                    } catch let failure {
                        error = failure
                    }
                    let wasCut = proxy.wasCut()
                    proxy.pass()
                    try await untilAnswered(storage)
                    let stored = try await storage.claimed(at: Samples.time).map(\.push.id)
                    guard wasCut else { break }
                    cuts += 1
                    switch error {
                    case nil: #expect(stored == [push.id])
                    case .unconfirmed:
                        if stored == [push.id] { unconfirmed += 1 }
                        let again = try await storage.enqueue(
                            [push], lease: nil, limitPerSecret: 999, isRepeated: true)
                        #expect(again == [.queued])
                        _ = try await storage.claimed(at: Samples.time)
                    case .unavailable, .timeout: #expect(stored == [])
                    default:
                        Issue.record(
                            "cut \(direction.rawValue) after \(chunks): \(String(describing: error))")
                    }
                }
            }
            #expect(cuts >= 2)
            #expect(unconfirmed >= 1, "no COMMIT's answer was lost")
            await storage.close()
        },

        ServerCase(
            "log rows without a timely response are unconfirmed, and a repeat stores each once"
        ) {
            database, proxy async throws in
            var options = ServerOptions()
            options.connectionsMax = 1
            options.callTimeout = .seconds(4)
            let storage = try await database.open(options, through: proxy.port)
            let patient = try await database.open(.patient)
            // Numbers of rows that fit into one statement, which is a transaction of its own.
            for count in [1, 4] {
                let key = Samples.key("secret \(count)")
                let rows = (0..<count).map { Samples.delivery(key, at: Samples.time + Int64($0)) }
                // Prepares the statement, so that the next call commits with its first request.
                try await untilAnswered {
                    try await storage.append(rows.map { _ in Samples.delivery(Samples.key("another")) })
                }
                proxy.holdAnswers()
                var error: StorageError?
                do throws(StorageError) {
                    try await storage.append(rows)
                } catch let failure {
                    error = failure
                }
                guard case .unconfirmed = error else {
                    Issue.record("\(count) rows: \(String(describing: error))")
                    proxy.pass()
                    continue
                }
                proxy.pass()
                try await patient.append(rows, isRepeated: true)
                let log = try await patient.deliveries(of: key, before: nil, limit: 99)
                #expect(Set(log.map(\.id)) == Set(rows.map(\.id)))
                #expect(log.count == count)
            }
            await patient.close()
            await storage.close()
        },
    ]
}
