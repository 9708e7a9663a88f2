# Starts Debian's proxies with the files of deploy/. Source it after common.bash; $work is a directory for their files.
#
#   need_certificate        creates a certificate for localhost
#   start_proxy NAME        starts caddy, nginx or haproxy in front of the relays on $relay_ports; sets $url, and $through
#                           for curl. With routed=1, lines for several relays are no longer comments.
#   stop_proxy              stops it

routed=0
through=()

need_certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost -keyout "$work/tls.key" -out "$work/tls.pem" 2>/dev/null
}

start_proxy() {
    proxy_port=$(free_port)
    url=https://localhost:$proxy_port
    through=(--cacert "$work/tls.pem" --resolve "localhost:$proxy_port:127.0.0.1")
    "start_$1"
    proxy_pid=$!
    children+=("$proxy_pid")
    await "$1 ($work/$1.log)" "$proxy_pid" curl -fsS -m 2 "${through[@]}" "$url/health"
}

stop_proxy() {
    kill -TERM "$proxy_pid"
    wait "$proxy_pid" 2>/dev/null || true
}

# proxy_file FILE: prints an example with the addresses of the relays instead of its own.
proxy_file() {
    local enable=(-e '')
    # Lines to uncomment have no space after the comment sign.
    [ $routed = 0 ] || enable=(-e 's/^\([[:space:]]\+\)#\([a-z]\)/\1\2/')
    sed "${enable[@]}" "$1" | awk -v ports="${relay_ports[*]}" '
        !/127\.0\.0\.1:8787/ { print; next }
        {
            count = split(ports, port, " ")
            if ($1 == "reverse_proxy") {
                for (number = 1; number <= count; number++) all = all " 127.0.0.1:" port[number]
                sub(/ 127\.0\.0\.1:8787/, all)
                print
                next
            }
            for (number = 1; number <= count; number++) {
                line = $0
                sub(/127\.0\.0\.1:8787/, "127.0.0.1:" port[number], line)
                sub(/relay1/, "relay" number, line)
                print line
            }
        }'
}

# Name, ports and certificate are this test's; all other lines are the example's.
start_caddy() {
    proxy_file deploy/caddy/Caddyfile | sed \
        -e "s#^relay.example.org {#https://localhost:$proxy_port {\n\tbind 127.0.0.1\n\ttls $work/tls.pem $work/tls.key#" \
        -e '0,/^{/s##{\n\tadmin off\n\tauto_https disable_redirects#' >"$work/Caddyfile"
    XDG_DATA_HOME=$work XDG_CONFIG_HOME=$work HOME=$work \
        setsid caddy run --config "$work/Caddyfile" --adapter caddyfile >"$work/caddy.log" 2>&1 &
}

start_nginx() {
    proxy_file deploy/nginx/relay.conf | sed \
        -e "s#listen 443 #listen 127.0.0.1:$proxy_port #" -e '/listen \[::\]:443/d' \
        -e "s#server_name .*#server_name localhost;#" \
        -e "s#ssl_certificate .*#ssl_certificate $work/tls.pem;#" \
        -e "s#ssl_certificate_key .*#ssl_certificate_key $work/tls.key;#" >"$work/relay.conf"
    cat >"$work/nginx.conf" <<TEXT
daemon off;
pid $work/nginx.pid;
error_log stderr warn;
events {}
http {
    access_log off;
    client_body_temp_path $work/body;
    proxy_temp_path $work/proxy;
    fastcgi_temp_path $work/fastcgi;
    uwsgi_temp_path $work/uwsgi;
    scgi_temp_path $work/scgi;
    include $work/relay.conf;
}
TEXT
    setsid nginx -p "$work" -e stderr -c "$work/nginx.conf" >"$work/nginx.log" 2>&1 &
}

start_haproxy() {
    cat "$work/tls.pem" "$work/tls.key" >"$work/haproxy.pem"
    proxy_file deploy/haproxy/haproxy.cfg | sed \
        -e "s#bind :443 #bind 127.0.0.1:$proxy_port #" -e '/bind \[::\]:443 /d' \
        -e "s#/etc/haproxy/relay.pem#$work/haproxy.pem#" >"$work/haproxy.cfg"
    # Only root can switch to HAProxy's user and root directory.
    [ "$(id -u)" = 0 ] || sed -i -e '/^    chroot /d' -e '/^    user /d' -e '/^    group /d' "$work/haproxy.cfg"
    setsid haproxy -db -f "$work/haproxy.cfg" >"$work/haproxy.log" 2>&1 &
}
