# Implements ./dev run: the relay with a simulated APNs, and the bridge with a stand-in for an OpenCode server. Source it
# after stack.bash.

opencode_server=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/EndToEndTests/Support/opencode.py

# start_own_relay BIN STATE [FLAG...]: sets $url. Reads the relay's address from its output in STATE/relay.log, so that
# it can't be confused with another relay on this machine.
start_own_relay() {
    local bin=$1 state=$2 log=$2/relay.log
    shift 2
    setsid env RELAY_LOG_LEVEL=info RELAY_LOG_FORMAT=json "$bin/relay" serve "$@" >"$log" 2>&1 &
    children+=($!)
    local began=$SECONDS
    until grep -q '"event":"start"' "$log"; do
        kill -0 $! 2>/dev/null || { tail -n 5 "$log" >&2; die "The relay did not start (log: $log)"; }
        [ $((SECONDS - began)) -lt $start_deadline ] || die "The relay did not start within $start_deadline s (log: $log)"
        sleep 0.05
    done
    grep '"event":"start"' "$log" | head -n 1 >"$state/relay.json"
    url=$(json_field "$state/relay.json" listening)
}

# Sets PORT to a free port if another program uses the default port and the user has not chosen one.
choose_port() {
    [ -z "${PORT:-}" ] || return 0
    case " $* " in *" --port"[=\ ]*) return 0 ;; esac
    PORT=8787
    if (exec 3<>/dev/tcp/127.0.0.1/$PORT) 2>/dev/null; then
        PORT=$(free_port)
        say "Another program has port 8787, so this relay listens on port $PORT"
    fi
    export PORT
}

# start_bridge BIN STATE SECRET: starts a stand-in for an OpenCode server, and the bridge, which follows it; sets $opencode.
start_bridge() {
    local bin=$1 state=$2
    rm -rf "$state/bridge"
    install -d -m 700 "$state/bridge"
    (umask 077 && echo "$3" >"$state/bridge/secret")
    setsid python3 "$opencode_server" 2 >"$state/opencode.log" 2>&1 &
    children+=($!)
    await "The stand-in for OpenCode (log: $state/opencode.log)" $! grep -q '^port ' "$state/opencode.log"
    opencode=http://127.0.0.1:$(sed -n 's/^port //p' "$state/opencode.log")
    # Without the settings of a bridge that this user may have.
    setsid env -i "PATH=$PATH" "$bin/opencode-bridge" serve --opencode-url "$opencode" --relay-url "$url" \
        --state-directory "$state/bridge" >"$state/bridge.log" 2>&1 &
    children+=($!)
    await "The bridge (log: $state/bridge.log)" $! grep -q 'connected to OpenCode' "$state/bridge.log"
}

# end_turn STATE TOKEN: ends a turn at the stand-in for OpenCode and prints what the phone with the token gets.
end_turn() {
    local state=$1 pushes=$control/pushes?token=$2 since turn began=$SECONDS
    curl -fsS -m 10 "$pushes" >"$state/pushes.json" || die "The simulator did not answer (log: $state/simulator.log)"
    since=$(json_field "$state/pushes.json" next)
    turn='{"do":"all","calls":[{"do":"session","id":"ses_turn","title":"Add rate limits"},{"do":"begin","id":"ses_turn"},'
    turn+='{"do":"end","id":"ses_turn","outcome":"completed","text":"Both limits are in, with tests for each."}]}'
    curl -fsS -m 10 "$opencode/_do" -d "$turn" -o /dev/null || die "The stand-in did not answer (log: $state/opencode.log)"
    while :; do
        curl -fsS -m 20 "$pushes&since=$since&wait=10&format=text" >"$state/rung.txt" \
            || die "The simulator did not answer (log: $state/simulator.log)"
        [ ! -s "$state/rung.txt" ] || break
        [ $((SECONDS - began)) -lt $start_deadline ] \
            || die "The bridge did not ring (logs: $state/bridge.log, $state/opencode.log, $state/relay.log)"
    done
    cat "$state/rung.txt"
}

# try_relay BIN STATE [FLAG...]: delivers a push to a simulated phone, then rings it for an agent, then serves until Ctrl-C.
try_relay() {
    local bin=$1 state=$2 secret token register event answer
    shift 2
    secret=try-$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
    token=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
    start_simulator "$bin" "$state"
    choose_port "$@"
    # The default admin port may belong to another relay, and the demonstration doesn't need it.
    export RELAY_ADMIN_LISTEN=${RELAY_ADMIN_LISTEN:-off}
    start_own_relay "$bin" "$state" "$@"

    register="{\"secret\":\"$secret\",\"deviceToken\":\"$token\"}"
    event="{\"secret\":\"$secret\",\"eventType\":\"complete\",\"sessionID\":\"ses_demo\",\"title\":\"Fix auth bug\","
    event+="\"body\":\"Done. The token check now runs before the cache look-up and the tests pass.\"}"
    say "Registering a device and sending an event"
    answer=$(curl -sS -m 10 "$url/v1/device/register" -d "$register") || die "The relay did not answer (log: $state/relay.log)"
    echo "$answer"
    [[ $answer == '{"ok":true'* ]] || die "The device was not registered (log: $state/relay.log)"
    answer=$(curl -sS -m 10 "$url/v1/event" -d "$event") || die "The relay did not answer (log: $state/relay.log)"
    echo "$answer"
    [[ $answer == *'"sent":1,'* ]] || die "The push was not sent (logs: $state/relay.log, $state/simulator.log)"
    say "What the simulated APNs received for that phone"
    curl -fsS -m 10 "$control/pushes?token=$token&format=text"
    say "A turn of an OpenCode server (a stand-in) ends, and the bridge rings the phone"
    start_bridge "$bin" "$state" "$secret"
    end_turn "$state" "$token"
    echo
    say "The relay serves $url. Try it:"
    cat <<TEXT
curl $url/v1/event -d '$event'
curl $url/v1/device/register -d '$register'
curl '$control/pushes?format=text'      # what the simulated phones received
curl $url/ready
tail -f $state/relay.log $state/bridge.log

Press Ctrl-C to stop everything.
TEXT
    wait -n "${children[@]}" || true
    die "A program exited (logs: $state/relay.log, $state/simulator.log, $state/bridge.log, $state/opencode.log)"
}
