import JSON
import Programs
import Storage

extension NamedRemoval {
    /// Performs the removal for a command, and prints whether there was something to remove.
    func run(
        of subject: SecretSubject, _ configuration: InspectionConfiguration, isJSON: Bool
    ) -> ExitStatus {
        let change = DatabaseChange(
            configuration: configuration, path: path, body: subject.request { write(to: &$0) },
            read: { bytes in
                (try? JSON.parse(bytes, maxBytes: Bounds.requestBodyBytesMax))?["\(verb)"]?.int.map { $0 > 0 }
            },
            make: { storage throws(StorageError) in try await make(in: storage, of: subject.key) })
        return CommandTask.run {
            do throws(ExitStatus) {
                let wasThere = try await change.run()
                StandardOutput.write(
                    isJSON
                        ? String(decoding: Reply(verb, wasThere).body, as: UTF8.self) + "\n"
                        : "Secret \(subject.key): \(wasThere ? "\(verb)" : absence)\n")
                return .success
            } catch {
                return error
            }
        }
    }

    private var path: AdminServer.Path {
        switch self {
        case .accessToken: .revokeToken
        case .schedule: .cancelSchedule
        }
    }
}
