# Checks that a backup taken under load restores everything confirmed before it began. Source it after common.bash; $url
# and $control are the URLs of the relay and the simulator.
#
#   begin_load          registers phones at $url, one after the other, in the background
#   answered_so_far     waits for enough registrations and prints their number
#   end_load
#   check_restored N    checks that the first N phones get pushes

load_phones_per_secret=25
load_least=60                    # minimum number of registered phones before a backup begins
load_log=                        # one line per registered phone
load_pid=

load_secret() { echo "backup-$load_run-$(($1 / load_phones_per_secret))-0123456789"; }
load_token() { printf '%08x%s' "$1" "$load_run"; }

begin_load() {
    load_run=$(od -An -N4 -tx1 /dev/urandom | tr -d ' \n')
    load_log=$work/load.$load_run
    : >"$load_log"
    (
        for ((number = 0; ; number++)); do
            curl -fsS -m 10 "$url/v1/device/register" -o /dev/null 2>/dev/null \
                -d "{\"secret\":\"$(load_secret $number)\",\"deviceToken\":\"$(load_token $number)\"}" || break
            echo $number >>"$load_log"
        done
    ) &
    load_pid=$!
}

answered_so_far() {
    local began=$SECONDS answered=0
    while answered=$(wc -l <"$load_log") && [ "$answered" -lt $load_least ]; do
        [ $((SECONDS - began)) -lt $start_deadline ] || die "only $answered phones were registered" >&2
        sleep 0.1
    done
    echo "$answered"
}

end_load() {
    kill "$load_pid" 2>/dev/null || true
    wait "$load_pid" 2>/dev/null || true
    load_pid=
}

check_restored() {
    local count=$1 number got
    for ((number = 0; number < count; number += load_phones_per_secret)); do
        curl -fsS -m 20 "$url/v1/event" -o /dev/null -d "{\"secret\":\"$(load_secret $number)\",\"eventType\":\"complete\",
            \"sessionID\":\"ses_backup\",\"title\":\"Done\"}" || die "posting an event failed after the restore"
    done
    for ((number = 0; number < count; number++)); do
        got=$(curl -fsS -m 10 "$control/pushes?token=$(load_token $number)&format=text" | grep -c '200 accepted' || true)
        [ "$got" = 1 ] || die "phone $number of $count, registered before the backup, got $got pushes instead of 1 after the restore"
    done
    say "All $count phones registered before the backup get pushes after the restore"
}
