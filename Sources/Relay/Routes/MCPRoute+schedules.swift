import HTTPServer
import JSON
import Programs
import Storage

extension MCPRoute {
    /// Schedules a notification in the same way as `/v1/schedule/create`.
    func schedule(
        _ given: JSON.Object, _ caller: Caller, _ trace: inout RequestTrace
    ) async throws(APIError) -> MCPToolResult {
        let arguments: ScheduleArguments
        do throws(NotificationArguments.Fault) {
            arguments = try ScheduleArguments(given)
        } catch {
            trace.add(.code(.invalidField))
            return .failed(error.sentence)
        }
        let wanted = try ScheduleRequest(
            RequestFields(arguments.request), services.rules, at: services.shared.clock.now)
        let tenant = try admit(caller, to: ScheduleCreateRoute.admission, &trace)
        let created = try await ScheduleCreateRoute(services: services).create(wanted, for: tenant)
        var result = JSON.Object()
        result["id"] = .string(created.id.text)
        result["name"] = created.name.map { .string($0) }
        result["nextAt"] = .string(Timestamp(created.nextAt).text)
        return MCPToolResult(.object(result))
    }

    /// Lists the scheduled notifications.
    func listScheduled(
        _ given: JSON.Object, _ caller: Caller, _ trace: inout RequestTrace
    ) async throws(APIError) -> MCPToolResult {
        guard given.members.isEmpty else { return .failed("list_scheduled takes no arguments.") }
        let tenant = try admit(caller, to: ScheduleListRoute.admission, &trace)
        let list = try await ScheduleListRoute(services: services).schedules(of: tenant, &trace)
        return MCPToolResult(["schedules": list.json])
    }

    /// Cancels a schedule; a missing schedule isn't an error, because it won't be sent anyway.
    func cancelScheduled(
        _ given: JSON.Object, _ caller: Caller, _ trace: inout RequestTrace
    ) async throws(APIError) -> MCPToolResult {
        let arguments: CancelArguments
        do throws(NotificationArguments.Fault) {
            arguments = try CancelArguments(given)
        } catch {
            trace.add(.code(.invalidField))
            return .failed(error.sentence)
        }
        let tenant = try admit(caller, to: ScheduleCancelRoute.admission, &trace)
        let wasThere = try await ScheduleCancelRoute(services: services)
            .cancel(arguments.reference, of: tenant, &trace)
        return MCPToolResult(
            ["cancelled": wasThere ? 1 : 0],
            sentence: wasThere ? nil : "There is no such schedule; it may have been sent already.")
    }
}
