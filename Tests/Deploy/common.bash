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
