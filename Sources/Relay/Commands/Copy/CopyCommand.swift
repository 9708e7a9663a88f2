import Glibc
import Network
import Storage

/// `relay copy`: copies everything from one database to another.
enum CopyCommand {
    /// Copies and compares; the next run continues an interrupted one.
    static func run(_ configuration: CopyConfiguration) -> ExitStatus {
        Signals.prepare()
        let end = Lock<ExitStatus?>(nil)
        Task {
            let status = await copy(configuration)
            end.withLock { $0 = status }
            Signals.wakeMainThread()
        }
        while true {
            switch Signals.wait(atMost: nil) {
            case .request(.stop):
                // A page is stored completely or not at all, so there is nothing to wait for.
                StandardError.message("interrupted. Run the same command again to continue.")
                return .interrupted
            case .woken: if let status = end.withLock({ $0 }) { return status }
            case .request(.reload), .timeout: continue
            }
        }
    }

    private static func copy(_ configuration: CopyConfiguration) async -> ExitStatus {
        let places = Places(configuration)
        do throws(StorageError) {
            let source = try OpenStorage.transferSource(configuration.source)
            // Don't touch the target if there is nothing to copy from.
            do throws(StorageError) {
                _ = try await source.version()
                _ = try await source.count(of: TransferTable.all[0])
            } catch {
                await source.close()
                throw error
            }
            let status = await copy(source, configuration, places)
            await source.close()
            return status
        } catch {
            StandardError.message(CopyReport.message(.source(error), places))
            StandardError.message("nothing was copied")
            return .unavailable
        }
    }

    private static func copy(
        _ source: any TransferDatabase, _ configuration: CopyConfiguration, _ places: Places
    ) async -> ExitStatus {
        let isNewFile = OpenStorage.file(of: configuration.target).map { access($0, F_OK) != 0 } ?? false
        let target: any TransferDatabase
        do throws(StorageError) {
            target = try await OpenStorage.transferTarget(configuration.target)
        } catch {
            StandardError.message(CopyReport.message(.target(error), places))
            giveUp(configuration, isNewFile)
            return .unavailable
        }
        let progress = Lock(CopyProgress(isTerminal: StandardError.isTerminal))
        let transfer = Transfer(
            from: source, named: places.source, to: target, merging: configuration.mayMerge
        ) { step in
            let text = progress.withLock { $0.text(for: step, at: .now) }
            if let text { StandardError.write(Array(text.utf8)) }
        }
        let began = ContinuousClock.now
        do throws(TransferFailure) {
            let summaries = try await transfer.run()
            StandardOutput.write(CopyReport.summary(summaries, places, ContinuousClock.now - began))
            await target.close()
            return .success
        } catch {
            if StandardError.isTerminal { StandardError.write(Array("\n".utf8)) }
            StandardError.message(CopyReport.message(error, places))
            let isBegun = await isBegun(target)
            await target.close()
            let status = CopyReport.status(error)
            if !isBegun {
                giveUp(configuration, isNewFile)
            } else if status == .unavailable {
                StandardError.message("the copy is incomplete. Run the same command again to continue.")
            }
            return status
        }
    }

    /// Whether the target contains part of a failed copy; a copy without any rows doesn't count.
    private static func isBegun(_ target: any TransferDatabase) async -> Bool {
        do throws(StorageError) {
            guard let marks = try await target.marks() else { return false }
            guard marks.allSatisfy({ $0.stage == .copying && $0.copied == 0 }) else { return true }
            try await target.end()
            return false
        } catch {
            return true
        }
    }

    /// Reports that nothing was copied, and removes the target's file if this run created it.
    private static func giveUp(_ configuration: CopyConfiguration, _ isNewFile: Bool) {
        let place = OpenStorage.description(of: configuration.target)
        do throws(StorageError) {
            let isRemoved = isNewFile ? try OpenStorage.removeEmptyFile(of: configuration.target) : false
            StandardError.message("nothing was copied" + (isRemoved ? "; removed \(place)" : ""))
        } catch {
            StandardError.message("nothing was copied; cannot remove \(place): \(error.logDetail)")
        }
    }
}

extension CopyCommand {
    /// The source and target for messages, without user or password.
    struct Places: Sendable {
        let source: String
        let target: String
    }
}

extension CopyCommand.Places {
    init(_ configuration: CopyConfiguration) {
        source = OpenStorage.description(of: configuration.source)
        target = OpenStorage.description(of: configuration.target)
    }
}
