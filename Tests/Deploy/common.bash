# Shared by the image, package and source checks. Source it in the repository's root.

start_deadline=30                # seconds for a program to start serving
cache=.build-deploy              # Debian base systems, container storage: created again after ./dev clean removed it
release=${DEBIAN_RELEASE:-bookworm}
base=$cache/base-$release.tar

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

# Waits until a command prints a text, since logs may be written after the program serves: await_text FAILURE TEXT COMMAND...
await_text() {
    local failure=$1 text=$2 began=$SECONDS
    shift 2
    until "$@" 2>&1 | grep -F -- "$text" >/dev/null; do
        [ $((SECONDS - began)) -lt $start_deadline ] || die "$failure"
        sleep 0.1
    done
}

# Prints the version of this source, which has an entry in CHANGELOG.md.
relay_version() { sed -n 's/.*current = "\(.*\)"/\1/p' Sources/Programs/Version.swift; }

# Creates $base, a minimal Debian, from the machine's package sources if they are for the same release, or else its mirror.
need_base() {
    local sources=()
    mkdir -p "$cache"
    [ ! -s "$base" ] || return 0
    say "Creating a base system of Debian $release"
    if [ "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" = "$release" ]; then
        cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list >"$cache/debian.sources" 2>/dev/null || true
        [ ! -s "$cache/debian.sources" ] || sources=("$cache/debian.sources")
    else
        mapfile -t sources < <(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
            'Label: Debian' 2>/dev/null | sort -u | head -n 1)
    fi
    mmdebstrap --quiet --format=tar --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' \
        --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/etc/resolv.conf "$1"/etc/hostname' \
        "$release" "$base.part" "${sources[@]}" || die "mmdebstrap failed"
    mv "$base.part" "$base"
}

# Checks the requirements for entering a root file system.
need_namespaces() {
    [ "$(id -u)" = 0 ] || die "This check enters root file systems; run it as root"
    unshare --mount --propagation private true 2>/dev/null \
        || die "Cannot create mount namespaces (in an unprivileged container?)"
}

# page_commands PAGE NAME: prints the commands of a page, the indented lines after <!-- run: NAME -->.
page_commands() {
    awk -v marker="<!-- run: $2 -->" '
        $0 == marker { inside = 1; next }
        inside && /^    / { print substr($0, 5); found = 1; next }
        inside && (found || $0 != "") { exit }
        END { exit !found }' "$1" || die "$1 has no commands after <!-- run: $2 -->"
}

# page_host_command PAGE: prints the systemd command in a page's table, without sudo.
page_host_command() {
    grep -o '`sudo relay [^`]*` |$' "$1" | sed 's/^`sudo //; s/` |$//' | grep . || die "$1 has no command with sudo"
}

# Values used in the pages' examples.
page_secret=Kx3s0Q9-secret-of-yours
page_token=00fc13ad
page_key=AuthKey_KEY1234567.p8

# with_apple BIN SCRIPT [ARGUMENT...]: runs a script again with a simulator that serves under Apple's host name, so that the pages'
# settings work unchanged. In the script, $apple is the address for api.push.apple.com, $apple_ca its certificate, and
# $page_key is beside it.
with_apple() {
    local port began=$SECONDS
    [ -n "${STACK_APPLE:-}" ] || exec Tests/Support/stack --bin "$1" --no-relay --apple -- "${@:2}"
    control=$STACK_CONTROL apple=$STACK_APPLE apple_ca=$STACK_DIRECTORY/simulator.pem
    # The pages' commands configure the relay.
    unset "${!APNS_@}"
    cp "$STACK_DIRECTORY/key.p8" "$STACK_DIRECTORY/$page_key"
    for port in 8787 8788; do
        # One of the end-to-end tests uses 8788 for a few seconds.
        while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
            [ $((SECONDS - began)) -lt $start_deadline ] || die "port $port, which the pages use, is in use"
            sleep 0.5
        done
    done
}

# copy_source DIRECTORY: copies the repository without its build output.
copy_source() {
    tar -c --exclude-vcs --exclude='./.build*' --exclude=./.run --exclude='*.deb' . | tar -x -C "$1"
}

# Prints the number of pushes to the phone of the pages' examples.
page_pushes() { curl -fsS -m 10 "$control/pushes?token=$page_token&format=text" | grep -c '200 accepted' || true; }

# first_push COMMAND...: follows the page's "First push" with COMMAND, which runs a script, and checks that the phone got
# the push.
first_push() {
    local before
    before=$(page_pushes)
    "$@" "$(page_commands docs/operate/install.md "first push"); echo"
    [ "$(page_pushes)" = $((before + 1)) ] || die "the phone got $(($(page_pushes) - before)) pushes instead of 1"
}

# Posts only the page's event, for a registered phone.
next_push() {
    local before
    before=$(page_pushes)
    "$@" "$(page_commands docs/operate/install.md "first push" | sed -n '/v1\/event/,$p'); echo"
    [ "$(page_pushes)" = $((before + 1)) ] || die "the phone got $(($(page_pushes) - before)) pushes instead of 1"
}

# Prints how long a part of the check took.
part_began=$SECONDS
part() {
    printf '   %s: %d s\n' "$1" $((SECONDS - part_began))
    part_began=$SECONDS
}

# check_program RELAY: checks that the program is linked with hardening and was prepared by deploy/strip.
check_program() {
    local dynamic headers
    dynamic=$(readelf -dW "$1") headers=$(readelf -hlW "$1")
    grep -q 'Type: *DYN' <<<"$headers" || die "$1 is not a position-independent executable"
    grep -q GNU_RELRO <<<"$headers" || die "$1 has no read-only relocations"
    grep -q 'FLAGS_1.*NOW' <<<"$dynamic" || die "$1 does not bind its symbols at start-up"
    ! grep -q 'GNU_STACK.*RWE' <<<"$headers" || die "$1 has an executable stack"
    ! grep -E 'RUNPATH|RPATH' <<<"$dynamic" || die "$1 has a RUNPATH or RPATH"
    # grep reads all of its input: if it ended early, the pipe's error would look like a program without hashes.
    ! readelf -x .swift_modhash "$1" | awk '/^ *0x/ { print $2, $3, $4, $5 }' | grep '[1-9a-f]' >/dev/null \
        || die "$1 has hashes that differ between builds of the same source"
}

# check_sbom FILE LIBRARY...: checks a bill of materials with SPDX's tools and that it lists the libraries.
check_sbom() {
    local venv=.build-venv-spdx file=$1 library
    shift
    [ -x $venv/bin/pyspdxtools ] || {
        python3 -m venv $venv
        $venv/bin/pip install -q --disable-pip-version-check 'spdx-tools==0.8.*'
    }
    $venv/bin/pyspdxtools -i "$file" || die "SPDX's tools reject $file"
    for library; do
        grep -q "\"name\": \"$library\"" "$file" || die "the bill of materials does not list $library"
    done
}
