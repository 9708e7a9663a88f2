import Storage
import Testing

extension ServerCase {
    static let unconfirmed: [ServerCase] = [
        ServerCase(
            "an enqueue that fails as unavailable stored nothing; an unconfirmed one can be repeated"
        ) {
            database, proxy async throws in
            var options = ServerOptions()
            options.connectionsMax = 1
            let storage = try await database.open(options, through: proxy.port)
            let device = try await storage.registered("aa", Samples.key("secret"))
            var unconfirmed = 0
            var cuts = 0
            for direction in CuttingProxy.Direction.allCases {
                for chunks in 0..<64 {
                    let push = Samples.pending(device)
                    // The server is gone with the connection.
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
        }
    ]
}
