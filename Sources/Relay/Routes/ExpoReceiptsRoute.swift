import HTTPServer
import JSON
import Network
import Programs
import Storage

/// Expo's `POST /--/api/v2/push/getReceipts`: returns the outcomes of up to 1,000 notifications, for a day after they
/// were sent.
///
/// The ID alone shows whether its push was accepted or was waiting; a sender that makes up IDs deceives only itself.
/// Only pushes that were waiting are looked up, in the delivery log of the tenant that the ID's access token
/// identifies. Unknown tokens count against the client's address, known ones as requests that read the tenant's data.
struct ExpoReceiptsRoute: ExpoRoute {
    let services: LoopServices

    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        let started = services.loop.now
        let given = try Self.value(of: request)["ids"]?.array
        let texts = given?.compactMap(\.string) ?? []
        guard let given, texts.count == given.count else {
            throw APIError(.missingField, hint: "ids must be a list of ticket IDs.")
        }
        let most = Bounds.expoReceiptsMax
        guard texts.count <= most else {
            let error = APIError(.invalidField, hint: "A request must have at most \(most) IDs.")
            return reply(to: error, named: "PUSH_TOO_MANY_RECEIPTS")
        }
        var (receipts, queued) = sort(texts)
        for (token, pushes) in queued {
            // The remaining receipts are left out, as if their pushes were still waiting.
            guard services.loop.now.since(started) < services.shared.limits.eventDeadline else { break }
            do throws(APIError) {
                let found = try await self.receipts(token, pushes, request, started)
                receipts.merge(found) { $1 }
            } catch {
                guard !receipts.isEmpty else { throw error }
                trace.add(error)
                break
            }
        }
        trace.add(.count("ids", texts.count))
        trace.add(.count("receipts", receipts.count))
        trace.add(.count("secrets", queued.count))
        return Reply(body: Self.body(texts, receipts))
    }

    /// The receipts that follow from the IDs alone, and the pushes to look up, by token and in order.
    private func sort(
        _ texts: [String]
    ) -> ([String: JSON.Value], [(token: Digest256, pushes: Set<String>)]) {
        let oldest = services.shared.clock.now - Bounds.expoReceiptLifetime.inMilliseconds
        var receipts: [String: JSON.Value] = [:]
        var queued: [(token: Digest256, pushes: Set<String>)] = []
        var places: [Digest256: Int] = [:]
        for text in texts {
            guard let id = ExpoReceiptID(text), id.push.milliseconds > oldest else { continue }
            switch id {
            case .final: receipts[text] = Self.ok
            case .queued(let push, let token):
                if let place = places[token] {
                    queued[place].pushes.insert(push.text)
                } else if queued.count < Bounds.expoReceiptTenantsMax {
                    places[token] = queued.count
                    queued.append((token, [push.text]))
                }
            }
        }
        return (receipts, queued)
    }

    private static func body(_ texts: [String], _ receipts: [String: JSON.Value]) -> [UInt8] {
        var left = receipts
        var writer = JSON.Writer(capacity: 64 + 64 * receipts.count)
        writer.beginObject()
        writer.name("data")
        writer.beginObject()
        for text in texts {
            guard let receipt = left.removeValue(forKey: text) else { continue }
            writer.name(text)
            writer.value(receipt)
        }
        writer.endObject()
        writer.endObject()
        return writer.finish()
    }

    private static let ok: JSON.Value = ["status": "ok"]

    /// - Parameter isAlive: Whether the token's secret has a device, in which case a server must not delete the
    ///   recipient.
    private static func receipt(of delivery: Delivery, isAlive: Bool) -> JSON.Value {
        let reason = delivery.error ?? ""
        // As in tickets, a push that the person didn't want doesn't count as failed.
        let isUnwanted = [FailureReason.muted, FailureReason.acknowledged].contains(reason)
        guard delivery.status == .failed, !isUnwanted else { return ok }
        let fault = ExpoFault(reason: reason)
        return (fault == .deviceNotRegistered && isAlive ? ExpoFault.providerError : fault).result(
            "The push failed: \(reason).")
    }

    /// The receipts for a tenant's pushes whose ends are in the delivery log; none if the tenant isn't admitted now.
    private func receipts(
        _ token: Digest256, _ pushes: Set<String>, _ request: Request, _ started: MonotonicTime
    ) async throws(APIError) -> [String: JSON.Value] {
        let tenant: AdmittedTenant
        var ignored = RequestTrace()
        do throws(APIError) {
            tenant = try await services.admit(.token(token), to: .reading, .send, request, started, &ignored)
        } catch {
            // A revoked token's receipts are gone. If the address exceeds its limit or the database fails, the look-ups
            // end.
            guard error.limit == .unknownSecrets || error.code.status >= 500 else { return [:] }
            throw error
        }
        // A push's ID contains its creation time, and the push ends after that.
        let made = pushes.compactMap { UUIDv7($0)?.milliseconds }.min() ?? 0
        let oldest = made - StorageLimits.clockSkewMax
        var left = pushes
        var found: [Delivery] = []
        var cursor: DeliveryCursor?
        do throws(StorageError) {
            for _ in 0..<Bounds.expoReceiptRowsMax / Bounds.expoReceiptRowsPerPage {
                let rows = try await services.shared.storage.deliveries(
                    of: tenant.key, before: cursor, limit: Bounds.expoReceiptRowsPerPage)
                found += rows.filter { left.remove($0.id) != nil }
                cursor = rows.last?.cursor
                guard !left.isEmpty, rows.count == Bounds.expoReceiptRowsPerPage,
                    let cursor, cursor.createdAt >= oldest
                else { break }
            }
            var isAlive = false
            if found.contains(where: { $0.status == .failed }) {
                isAlive = try await !services.shared.storage.devices(of: tenant.key).isEmpty
            }
            var receipts: [String: JSON.Value] = [:]
            for delivery in found {
                guard let push = UUIDv7(delivery.id) else { continue }
                let id = ExpoReceiptID.queued(push, token: token)
                receipts[id.text] = Self.receipt(of: delivery, isAlive: isAlive)
            }
            return receipts
        } catch {
            throw APIError(error)
        }
    }
}
