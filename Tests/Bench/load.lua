-- What wrk sends: wrk ... -s load.lua URL -- health | refused | event SECRETS | paced SECRETS | once SECRETS | batch SECRETS | register SECRETS | list SECRETS
-- With a number of secrets, secret-of-the-bench-1 to secret-of-the-bench-N take turns as secrets.
-- paced: events with a pause of 30 ms after each response, so that a connection sends about 12 a second to an APNs 50 ms away.
-- once: events with an eventID, each another one. batch: a hundred such events of a secret in a request.

local requests, turn = {}, 0
-- What request() sends with an eventID of its own: everything before it, and what follows.
local once, isBatch = {}, false
local run, count = os.time() .. tostring(once):gsub("%W", ""), 0

local function event(fields)
    requests[#requests + 1] = wrk.format("POST", "/v1/event", nil, fields)
end

local function ended_event(number)
    return '{"secret":"secret-of-the-bench-' .. number .. '","eventType":"complete","sessionID":"ses_bench",'
        .. '"title":"Fix the build","body":"Done. ' .. string.rep("All tests pass. ", 5) .. '"'
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
    elseif arguments[1] == "once" or arguments[1] == "batch" then
        isBatch = arguments[1] == "batch"
        for number = 1, tonumber(arguments[2]) do
            once[number] = ended_event(number) .. ',"eventID":"' .. run .. "-"
        end
    else
        if arguments[1] == "paced" then
            function delay() return 30 end
        end
        for number = 1, tonumber(arguments[2]) do
            event(ended_event(number) .. "}")
        end
    end
end

local function batch()
    local secret, events = '{"secret":"secret-of-the-bench-' .. turn % #once + 1 .. '","events":[', {}
    for place = 1, 100 do
        count = count + 1
        events[place] = once[1]:gsub('"secret":"[^"]*",', "") .. count .. '"}'
    end
    return wrk.format("POST", "/v1/events", nil, secret .. table.concat(events, ",") .. "]}")
end

function request()
    if isBatch then
        turn = turn + 1
        return batch()
    end
    if #once > 0 then
        count = count + 1
        return wrk.format("POST", "/v1/event", nil, once[count % #once + 1] .. count .. '"}')
    end
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
