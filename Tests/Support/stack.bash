# Starts the simulator and the relay for scripts. Source it, call start_simulator and start_relay, trap stop_stack on EXIT.

start_deadline=30                # seconds for a program to serve
children=()

say() { printf '\033[1m%s\033[0m\n' "$*"; }
die() { printf '%s\n' "$*" >&2; exit "${status:-1}"; }

# Waits until a command succeeds: await WHAT PID COMMAND...
await() {
    local what=$1 pid=$2 began=$SECONDS
    shift 2
    until "$@" >/dev/null 2>&1; do
        kill -0 "$pid" 2>/dev/null || die "$what did not start; see above"
        [ $((SECONDS - began)) -lt $start_deadline ] || die "$what did not serve within $start_deadline s"
        sleep 0.05
    done
}

stop_stack() {
    trap - INT TERM EXIT
    local pid
    for pid in "${children[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
    for pid in "${children[@]}"; do wait "$pid" 2>/dev/null || true; done
}

# json_field FILE NAME: prints a field of a flat JSON object, digits and plain strings only.
json_field() { sed -n "s/.*\"$2\" *: *\"\{0,1\}\([^\",}]*\).*/\1/p" "$1" | head -n 1; }

# start_simulator BIN STATE [FLAG...]: sets $control and the relay's APNS_ environment; uses $production_port or a free
# port.
start_simulator() {
    local bin=$1 state=$2 team=ABCDE12345 key=KEY1234567
    shift 2
    mkdir -p "$state"
    [ -f "$state/key.p8" ] || "$bin/apns-simulator" key --out "$state/key.p8" >/dev/null
    rm -f "$state/simulator.json"
    # Its own session, so that Ctrl-C only reaches the script, which stops the programs in order.
    setsid "$bin/apns-simulator" --public-key "$state/key.p8.pub" --key-id $key --team-id $team \
        --certificate-file "$state/simulator.pem" --production-port "${production_port:-0}" --sandbox-port 0 --control-port 0 \
        --ready-file "$state/simulator.json" "$@" >"$state/simulator.log" 2>&1 &
    children+=($!)
    await "The simulator (log: $state/simulator.log)" $! test -s "$state/simulator.json"
    control=http://127.0.0.1:$(json_field "$state/simulator.json" controlPort)
    export APNS_TEAM_ID=$team APNS_KEY_ID=$key APNS_PRIVATE_KEY_FILE=$state/key.p8
    export APNS_DEFAULT_BUNDLE_ID=com.example.app APNS_CA_FILE=$state/simulator.pem
    export APNS_PRODUCTION_URL APNS_SANDBOX_URL
    APNS_PRODUCTION_URL=https://localhost:$(json_field "$state/simulator.json" productionPort)
    APNS_SANDBOX_URL=https://localhost:$(json_field "$state/simulator.json" sandboxPort)
}

# start_relay BIN [FLAG...]: starts a relay configured by the environment; sets $url.
start_relay() {
    local bin=$1 name without=()
    shift
    # The relay would treat RELAY_TEST_ variables as unknown settings.
    for name in "${!RELAY_TEST_@}"; do without+=(-u "$name"); done
    # The default admin port may be in use, and no test needs it.
    setsid env "${without[@]}" RELAY_ADMIN_LISTEN="${RELAY_ADMIN_LISTEN:-off}" "$bin/relay" serve "$@" &
    children+=($!)
    url=http://127.0.0.1:$PORT
    await "The relay" $! curl -fsS -m 2 "$url/health"
}

# Prints the version of this source, which has an entry in CHANGELOG.md.
relay_version() { sed -n 's/.*current = "\(.*\)"/\1/p' Sources/Programs/Version.swift; }

# Prints a free loopback port.
free_port() {
    local port
    for _ in $(seq 100); do
        # Below the ephemeral range, from which the kernel could assign it before it is used.
        port=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
    done
    die "no free port found"
}
