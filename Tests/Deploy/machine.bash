# Runs a Debian machine without the relay from a directory. Source it after common.bash. Requires root.
#
#   make_machine DIR     creates its root: Debian's base system, systemd and an operator's files
#   boot_machine         starts its systemd with systemd-nspawn
#   on_machine SCRIPT    runs commands there as root in /root, printing each; stops at the first failure
#   halt_machine
#
# If systemd can't run in a container (no cgroups), a substitute for systemctl starts the unit's command without its
# hardening and prints a notice.

machine=                         # the machine's directory
machine_base=$cache/machine-$release.tar
machine_nspawn=                  # the process ID of systemd-nspawn
machine_leader=                  # the process ID of the machine's systemd on this host; empty with the substitute
machine_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

need_machine_base() {
    local part=$cache/machine.part
    need_base
    [ ! -s "$machine_base" ] || return 0
    say "Adding systemd"
    rm -rf "$part"
    mkdir "$part"
    tar -C "$part" -xf "$base" --exclude='./dev/*'
    machine=$part
    prepare_machine
    in_root sh -c 'apt-get -q update && apt-get -q install -y --no-install-recommends systemd systemd-sysv &&
        apt-get clean && rm -rf /var/lib/apt/lists/*' >"$cache/machine.log" 2>&1 \
        || { tail -n 20 "$cache/machine.log" >&2; die "installing systemd failed"; }
    # Boot services that the check doesn't need.
    in_root systemctl --quiet mask systemd-networkd.service systemd-resolved.service systemd-timesyncd.service \
        apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer getty.target \
        console-getty.service >/dev/null 2>&1 || true
    tar -C "$part" -cf "$machine_base.part" --exclude='./dev/*' --exclude=./usr/sbin/policy-rc.d .
    mv "$machine_base.part" "$machine_base"
    rm -rf "$part"
}

# Prepares devices, names and a policy against starting services while packages are installed, before systemd runs.
prepare_machine() {
    mkdir -p "$machine/dev"
    [ -e "$machine/dev/null" ] || mknod -m 666 "$machine/dev/null" c 1 3
    [ -e "$machine/dev/urandom" ] || mknod -m 666 "$machine/dev/urandom" c 1 9
    rm -f "$machine/etc/resolv.conf"
    cp -L /etc/resolv.conf "$machine/etc/resolv.conf"
}

# in_root COMMAND...: runs a command in the machine's root with /proc, which libdispatch requires.
in_root() {
    unshare --mount --propagation private sh -c 'mount -t proc proc "$1/proc" && exec chroot "$@"' enter "$machine" \
        env -i HOME=/root PATH="$machine_path" DEBIAN_FRONTEND=noninteractive "$@"
}

# make_machine DIR: the machine resolves Apple's name to the simulator and trusts its certificate. /root contains the key from
# Apple; apt-get assumes yes, and the editor fills in three settings.
make_machine() {
    need_machine_base
    machine=$1
    mkdir -p "$machine"
    tar -C "$machine" -xf "$machine_base"
    prepare_machine
    printf '127.0.0.1 localhost\n%s api.push.apple.com\n' "$apple" >"$machine/etc/hosts"
    install -D -m 644 "$apple_ca" "$machine/usr/local/share/ca-certificates/apple-stand-in.crt"
    echo 'APT::Get::Assume-Yes "true";' >"$machine/etc/apt/apt.conf.d/90yes"
    install -m 600 "$(dirname "$apple_ca")/$page_key" "$machine/root/$page_key"
    cat >"$machine/usr/local/bin/editor" <<'TEXT'
#!/bin/sh -e
for setting in APNS_TEAM_ID=ABCDE12345 APNS_KEY_ID=KEY1234567 APNS_DEFAULT_BUNDLE_ID=com.example.app; do
    grep -q "^#\{0,1\}${setting%%=*}=" "$1" || { echo "$1 has no line for $setting" >&2; exit 1; }
    sed -i "s|^#\{0,1\}${setting%%=*}=.*|$setting|" "$1"
done
TEXT
    chmod 755 "$machine/usr/local/bin/editor"
}

# boot_machine [NSPAWN_FLAG...]: boots the machine and leaves it running.
boot_machine() {
    local began=$SECONDS
    systemd-nspawn --quiet --directory="$machine" --boot --register=no --keep-unit --console=pipe \
        --resolv-conf=off --timezone=off --link-journal=no "$@" >"$machine.boot.log" 2>&1 </dev/null &
    machine_nspawn=$!
    while machine_leader=$(first_of_machine) && [ -z "$machine_leader" ] || ! systemd_answers; do
        if ! kill -0 $machine_nspawn 2>/dev/null || [ $((SECONDS - began)) -gt $start_deadline ]; then
            tail -n 5 "$machine.boot.log"
            say "systemd cannot run in a container here: starting the unit's command without its hardening"
            halt_machine
            stand_in
            return
        fi
        sleep 0.1
    done
}

# Prints the ID of the process that is PID 1 in a namespace below systemd-nspawn's.
first_of_machine() {
    local pid
    for pid in $(pgrep -P "$machine_nspawn") $(pgrep -P "$machine_nspawn" | xargs -r -n 1 pgrep -P); do
        if [ "$(awk '/^NSpid:/ { print (NF > 2 ? $NF : 0) }' "/proc/$pid/status" 2>/dev/null)" = 1 ]; then
            echo "$pid"
            return
        fi
    done
}

systemd_answers() { on_machine 'systemctl is-system-running | grep -qE "running|degraded"' >/dev/null 2>&1; }

# on_machine SCRIPT
on_machine() {
    local enter=(in_root)
    [ -z "$machine_leader" ] || enter=(nsenter --target "$machine_leader" --mount --uts --ipc --pid --cgroup --root
        env -i HOME=/root "PATH=$machine_path" DEBIAN_FRONTEND=noninteractive)
    "${enter[@]}" bash -euc "cd /root; $1" </dev/null
}

halt_machine() {
    if [ -n "$machine_nspawn" ] && kill -TERM "$machine_nspawn" 2>/dev/null; then
        timeout 20 tail --pid="$machine_nspawn" -f /dev/null || kill -KILL "$machine_nspawn" || true
        wait "$machine_nspawn" 2>/dev/null || true
    elif [ -n "$machine" ] && [ -s "$machine/run/relay.pid" ]; then
        in_root systemctl stop relay || true
    fi
    machine_nspawn= machine_leader=
}

# Creates a systemctl and a journalctl for one unit.
stand_in() {
    cat >"$machine/usr/local/bin/systemctl" <<'TEXT'
#!/bin/sh -e
unit=/etc/systemd/system/relay.service
[ -f $unit ] || unit=/usr/lib/systemd/system/relay.service
value() { sed -n "s/^$1=//p" $unit | tail -n 1; }
start() {
    user=$(value User)
    install -d -m "$(value StateDirectoryMode)" -o "$user" -g "$user" "$(value WorkingDirectory)"
    cd "$(value WorkingDirectory)"
    umask "$(value UMask)"
    # Like systemd, without a shell.
    eval "set -- $(sed -n "s/^\([A-Z_0-9]*=.*\)/'\1'/p" "$(value EnvironmentFile)" | tr '\n' ' ')"
    setsid env -i "$@" setpriv --reuid "$user" --regid "$user" --clear-groups -- $(value ExecStart) \
        >>/var/log/relay.log 2>&1 </dev/null &
    echo $! >/run/relay.pid
}
stop() {
    [ -s /run/relay.pid ] || return 0
    kill -TERM "$(cat /run/relay.pid)" 2>/dev/null || true
    while kill -0 "$(cat /run/relay.pid)" 2>/dev/null; do sleep 0.1; done
    rm /run/relay.pid
}
case "$*" in
*daemon-reload* | *disable*) ;;
*stop*) stop ;;
*restart*) stop; start ;;
*start* | "enable --now relay") start ;;
*) echo "systemctl $* is not supported here" >&2; exit 1 ;;
esac
TEXT
    printf '#!/bin/sh\ncat /var/log/relay.log\n' >"$machine/usr/local/bin/journalctl"
    chmod 755 "$machine/usr/local/bin/systemctl" "$machine/usr/local/bin/journalctl"
}
