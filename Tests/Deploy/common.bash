# What the checks of image, package and proxies share. Source it after stack.bash, in the repository's root.

cache=.build-deploy              # a Debian base system, container storage: made again when ./dev clean took it

# Makes $cache/base.tar, a Debian 12 with nothing in it, from the machine's own package sources.
need_base() {
    local sources=()
    mkdir -p "$cache"
    [ ! -s "$cache/base.tar" ] || return 0
    say "Making a Debian base system"
    if [ "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" = bookworm ]; then
        cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list >"$cache/debian.sources" 2>/dev/null || true
        [ ! -s "$cache/debian.sources" ] || sources=("$cache/debian.sources")
    fi
    mmdebstrap --quiet --format=tar --variant=minbase --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/etc/resolv.conf "$1"/etc/hostname' \
        bookworm "$cache/base.part.tar" "${sources[@]}" || die "mmdebstrap failed"
    mv "$cache/base.part.tar" "$cache/base.tar"
}

# What no root file system is entered without.
need_namespaces() {
    [ "$(id -u)" = 0 ] || die "This makes root file systems and enters them: run it as root"
    unshare --mount --propagation private true 2>/dev/null \
        || die "This machine gives root no mount namespaces (a container without privileges?): nothing can be checked here"
}

# The commands of a page as they stand there, in the indented lines after <!-- run: NAME -->: page_commands PAGE NAME.
page_commands() {
    awk -v marker="<!-- run: $2 -->" '
        $0 == marker { inside = 1; next }
        inside && /^    / { print substr($0, 5); found = 1; next }
        inside && (found || $0 != "") { exit }
        END { exit !found }' "$1" || die "$1 has no commands after <!-- run: $2 -->"
}

# The command in a page's table for a machine with systemd: page_systemd_run PAGE.
page_systemd_run() {
    grep -o '`systemd-run [^`]*`' "$1" | tr -d '`' || die "$1 has no command with systemd-run"
}

# What the pages' examples use.
page_secret=Kx3s0Q9-secret-of-yours
page_token=00fc13ad
page_key=AuthKey_KEY1234567.p8

# Puts an APNs under Apple's own names on this machine: what the pages install then needs no other settings than theirs.
# start_apple BIN STATE: sets $apple to the address that api.push.apple.com has, $apple_ca to its certificate and
# $page_key's file in STATE.
start_apple() {
    apple=127.7.$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1))
    production_port=443 start_simulator "$1" "$2" --host $apple --certificate-name api.push.apple.com
    apple_ca=$2/simulator.pem
    cp "$2/key.p8" "$2/$page_key"
    # The pages' commands tell the relay what it needs.
    unset "${!APNS_@}"
    local port
    for port in 8787 8788; do
        ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || die "port $port, which the pages use, is taken"
    done
}

# Copies what belongs to the repository, without what was built: copy_source DIRECTORY.
copy_source() {
    tar -c --exclude-vcs --exclude='./.build*' --exclude=./.run --exclude='*.deb' . | tar -x -C "$1"
}

# How many pushes the phone of the pages' examples got.
page_pushes() { curl -fsS -m 10 "$control/pushes?token=$page_token&format=text" | grep -c '200 accepted' || true; }

# Follows the page's "First push" and looks whether the phone got one: first_push COMMAND..., which runs a script.
first_push() {
    local before
    before=$(page_pushes)
    "$@" "$(page_commands docs/OPERATIONS.md "first push"); echo"
    [ "$(page_pushes)" = $((before + 1)) ] || die "the phone got $(($(page_pushes) - before)) pushes and not 1"
}

# The page's event alone, for a phone that is registered.
next_push() {
    local before
    before=$(page_pushes)
    "$@" "$(page_commands docs/OPERATIONS.md "first push" | sed -n '/v1\/event/,$p'); echo"
    [ "$(page_pushes)" = $((before + 1)) ] || die "the phone got $(($(page_pushes) - before)) pushes and not 1"
}

secret=deploy-$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
token=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
pushes=0                         # how many the phone must have got by now

# Registers a device at $url: once, then each deliver must reach it.
register() {
    curl -fsS -m 10 "$@" "$url/v1/device/register" -d "{\"secret\":\"$secret\",\"deviceToken\":\"$token\"}" >/dev/null \
        || die "the registration failed"
}

# Posts an event to $url and looks in the simulator whether the phone got it.
deliver() {
    local answer got
    answer=$(curl -fsS -m 20 "$@" "$url/v1/event" \
        -d "{\"secret\":\"$secret\",\"eventType\":\"complete\",\"sessionID\":\"ses_deploy\",\"title\":\"Done\"}") \
        || die "the event failed"
    pushes=$((pushes + 1))
    [[ $answer == *'"sent":1'* ]] || die "the event's answer: $answer"
    got=$(curl -fsS -m 10 "$control/pushes?token=$token&format=text" | grep -c '200 accepted' || true)
    [ "$got" = "$pushes" ] || die "the phone got $got pushes and not $pushes"
}

# Counts the seconds of a check's parts.
part_began=$SECONDS
part() {
    printf '   %s: %d s\n' "$1" $((SECONDS - part_began))
    part_began=$SECONDS
}

# check_program RELAY: it is linked as a program that strangers talk to should be.
check_program() {
    local dynamic headers
    dynamic=$(readelf -dW "$1") headers=$(readelf -hlW "$1")
    grep -q 'Type: *DYN' <<<"$headers" || die "$1 is no position-independent executable"
    grep -q GNU_RELRO <<<"$headers" || die "$1 has no read-only relocations"
    grep -q 'FLAGS_1.*NOW' <<<"$dynamic" || die "$1 doesn't bind its symbols at the start"
    ! grep -q 'GNU_STACK.*RWE' <<<"$headers" || die "$1 has an executable stack"
    ! grep -E 'RUNPATH|RPATH' <<<"$dynamic" || die "$1 looks for libraries in directories of its own"
}

# check_sbom DEB WORK: the package has a bill of materials that SPDX's own tools accept and that names what it depends on.
check_sbom() {
    local venv=.build-venv-spdx file=$2/sbom.spdx.json library
    dpkg-deb --fsys-tarfile "$1" | tar -xO ./usr/share/doc/apn-relay/sbom.spdx.json >"$file"
    [ -x $venv/bin/pyspdxtools ] || {
        python3 -m venv $venv
        $venv/bin/pip install -q --disable-pip-version-check 'spdx-tools==0.8.*'
    }
    $venv/bin/pyspdxtools -i "$file" || die "SPDX's tools refuse $file"
    for library in $(dpkg-deb -f "$1" Depends | tr -d ' ' | sed 's/([^)]*)//g' | tr ',|' '  '); do
        case $library in adduser | ca-certificates | tzdata) continue ;; esac
        grep -q "\"name\": \"$library\"" "$file" || die "the bill of materials doesn't name $library"
    done
}
