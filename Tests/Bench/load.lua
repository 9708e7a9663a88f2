-- What wrk sends: wrk ... -s load.lua URL -- health | refused | event SECRETS | register SECRETS | list SECRETS
-- With a number of secrets, secret-of-the-bench-1 to secret-of-the-bench-N take turns as secrets.

local requests, turn = {}, 0

local function event(fields)
    requests[#requests + 1] = wrk.format("POST", "/v1/event", nil, fields)
end

function init(arguments)
    if arguments[1] == "health" then
        requests[1] = wrk.format("GET", "/health")
    elseif arguments[1] == "refused" then
        event('{"secret":"secret-of-the-bench-1","eventType":"lunch","sessionID":"ses_bench","title":"Fix the build"}')
    elseif arguments[1] == "register" then
        for number = 1, tonumber(arguments[2]) do
            requests[number] = wrk.format("POST", "/v1/device/register", nil,
                '{"secret":"secret-of-the-bench-' .. number .. '","deviceToken":"' .. string.format("%064x", number) .. '"}')
        end
    elseif arguments[1] == "list" then
        for number = 1, tonumber(arguments[2]) do
            requests[number] = wrk.format("POST", "/v1/device/list", nil,
                '{"secret":"secret-of-the-bench-' .. number .. '"}')
        end
    else
        for number = 1, tonumber(arguments[2]) do
            event('{"secret":"secret-of-the-bench-' .. number .. '","eventType":"complete","sessionID":"ses_bench",'
                .. '"title":"Fix the build","body":"Done. ' .. string.rep("All tests pass. ", 5) .. '"}')
        end
    end
end

function request()
    turn = turn % #requests + 1
    return requests[turn]
end

function done(summary, latency)
    local errors = summary.errors
    print(string.format(
        '{"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"broken":%d,"refused":%d}',
        summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
        errors.connect + errors.read + errors.write + errors.timeout, errors.status))
end
