# Starts MySQL 9.7 and PostgreSQL 18, which Debian 12 doesn't have, from a root file system of Debian unstable; databases.bash
# sources it. start_newest DIR exports URLs of administrators:
#   RELAY_TEST_POSTGRES18_URL  postgres://…@127.0.0.1:PORT/postgres
#   RELAY_TEST_MYSQL97_URL     mysql://…@127.0.0.1:PORT/mysql
# They don't sync to disk: only tests use them.

newest_packages=(mysql-server-core postgresql-18)
# Kept until ./dev clean takes it or the packages change.
newest_directory=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/.build-servers
newest_root=$newest_directory/root

# Creates the root file system from the machine's mirror of Debian, or from Debian's own.
need_newest() {
    local mirror
    [ "$(cat "$newest_directory/packages" 2>/dev/null)" != "${newest_packages[*]}" ] || return 0
    [ "$(id -u)" = 0 ] || die "${newest_packages[*]} run in a root file system of Debian unstable; run this as root"
    command -v mmdebstrap >/dev/null || die "mmdebstrap is not installed: Debian package mmdebstrap"
    say "Installing ${newest_packages[*]} of Debian unstable in $newest_root"
    rm -rf "$newest_directory"
    mkdir -p "$newest_directory"
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' \
        2>/dev/null | sort -u | head -n 1)
    # An archived mirror's files have expired.
    mmdebstrap --quiet --variant=apt --include="$(IFS=,; echo "${newest_packages[*]}")" \
        --aptopt='Acquire::Check-Valid-Until "false"' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        --customize-hook='rm -rf "$1"/var/lib/apt/lists/*' sid "$newest_root" ${mirror:+"$mirror"} \
        || die "Cannot install ${newest_packages[*]} of Debian unstable in $newest_root: see mmdebstrap's messages above"
    echo "${newest_packages[*]}" >"$newest_directory/packages"
}

# inside COMMAND...: runs a command in the root file system, without its output unless it fails.
inside() {
    local output
    output=$("$newest_directory/../Tests/Support/inside" "$newest_root" "$database_directory" "$@" 2>&1) \
        || { printf '%s\n' "$output" >&2; die "$1 failed in $newest_root"; }
}

# launch_newest NAME COMMAND...: as launch_server, in the root file system.
launch_newest() {
    local name=$1
    shift
    launch_server "$name" "$newest_directory/../Tests/Support/inside" "$newest_root" "$database_directory" "$@"
}

# start_newest DIR: starts both servers in start_databases' directory.
start_newest() {
    need_newest
    start_postgres18 "$1"
    start_mysql97 "$1"
}

# Stops both, whose tests have run; stop_databases does so as well.
stop_newest() {
    local pid
    pid=$(server_pid postgres18)
    [ -z "$pid" ] || kill -INT "$pid"
    pid=$(server_pid mysql97)
    [ -z "$pid" ] || kill -TERM "$pid"
    unset RELAY_TEST_POSTGRES18_URL RELAY_TEST_MYSQL97_URL
}

start_postgres18() {
    local at=$1/postgres18 bin=/usr/lib/postgresql/18/bin port password
    port=$(free_port)
    password=$(random_password)
    printf '%s' "$password" >"$1/postgres18-password"
    give_away "$1/postgres18-password"
    inside $bin/initdb -D "$at" -U relay --pwfile="$1/postgres18-password" -E UTF8 --locale=C.UTF-8 --no-sync \
        --auth-local=scram-sha-256 --auth-host=scram-sha-256
    launch_newest postgres18 $bin/postgres -D "$at" -p "$port" -k "$1" -c listen_addresses=127.0.0.1 \
        -c max_connections=200 -c shared_buffers="${database_buffers}MB" -c fsync=off -c ssl=on \
        -c ssl_cert_file="$1/tls/server.pem" -c ssl_key_file="$1/tls/server-key.pem" -c ssl_ca_file="$1/tls/ca.pem" \
        -c log_min_messages=warning -c log_min_error_statement=panic
    export RELAY_TEST_POSTGRES18_URL="postgres://relay:$password@127.0.0.1:$port/postgres"
    await_server postgres18 psql "$RELAY_TEST_POSTGRES18_URL" -c 'SELECT 1'
}

start_mysql97() {
    local at=$1/mysql97 port password
    port=$(free_port)
    password=$(random_password)
    mkdir -p "$at/tmp"
    cat >"$at/init.sql" <<SQL
CREATE USER IF NOT EXISTS relay@'%' IDENTIFIED BY '$password';
GRANT ALL PRIVILEGES ON *.* TO relay@'%' WITH GRANT OPTION;
DROP USER IF EXISTS root@localhost;
SQL
    give_away "$at" "$at/tmp" "$at/init.sql"
    inside mysqld --no-defaults --initialize-insecure --datadir="$at/data" --tmpdir="$at/tmp" \
        --secure-file-priv=NULL --skip-log-bin --innodb-doublewrite=OFF
    # A log of statements rules out READ COMMITTED, unless sessions log otherwise.
    launch_newest mysql97 mysqld --no-defaults --datadir="$at/data" --tmpdir="$at/tmp" --init-file="$at/init.sql" \
        --socket="$1/mysql97.sock" --pid-file="$at/mysqld.pid" --port="$port" --bind-address=127.0.0.1 \
        --mysqlx=OFF --skip-name-resolve --max-connections=200 --secure-file-priv=NULL \
        --log-bin="$at/log" --binlog-format=STATEMENT --sync-binlog=0 \
        --innodb-buffer-pool-size="${database_buffers}M" --innodb-redo-log-capacity=100M --innodb-doublewrite=OFF \
        --innodb-flush-log-at-trx-commit=0 --innodb-fast-shutdown=2 --performance-schema=OFF \
        --ssl-ca="$1/tls/ca.pem" --ssl-cert="$1/tls/server.pem" --ssl-key="$1/tls/server-key.pem"
    export RELAY_TEST_MYSQL97_URL="mysql://relay:$password@127.0.0.1:$port/mysql"
    await_server mysql97 mariadb_answers relay "$password" "$port"
}
