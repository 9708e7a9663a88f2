# Starts PostgreSQL, PgBouncer and MariaDB for tests and scripts, in their own directory on free loopback ports.
#
# Source it after stack.bash, call start_databases DIR, trap stop_databases on EXIT. Exports URLs of administrators:
#   RELAY_TEST_POSTGRES_URL   postgres://…@127.0.0.1:PORT/postgres
#   RELAY_TEST_MYSQL_URL      mysql://…@127.0.0.1:PORT/mysql
#   RELAY_TEST_PGBOUNCER_URL  the same server through PgBouncer in transaction mode
#   RELAY_TEST_TLS            a directory: ca.pem signed the servers' certificate, which is for localhost and not for
#                             127.0.0.1; other-ca.pem signed nothing; client.pem and client-key.pem are for clients
#   RELAY_TEST_DATABASES      the directory, for `Tests/Support/databases kill` and `restart`
# newest.bash adds MySQL 9.7 and PostgreSQL 18.
# Each server uses DATABASE_BUFFERS_MIB of memory for pages. Servers sync to disk as in production unless database_preload
# names libeatmydata, which disables fsync: kill -9 still loses no write, and tests take half the time.

database_deadline=60             # seconds for a server to answer or to stop
database_buffers=${DATABASE_BUFFERS_MIB:-64}
database_directory=
database_parent=/tmp             # where that directory is made
database_cleanup=                # the directory to remove at the end
database_preload=                # a library to preload into the servers
# Set to have MariaDB begin each session otherwise than the relay needs it.
database_odd_sessions=
# Set for servers that outlive this script; others are stopped with it, even if it is killed.
database_outlive=
. "$(dirname "${BASH_SOURCE[0]}")/newest.bash"

# Runs a command as an unprivileged user: PostgreSQL refuses root.
unprivileged() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=nobody --regid=nogroup --clear-groups -- "$@"
    else
        "$@"
    fi
}

# launch_server NAME COMMAND...: starts a server in the background, with its process ID in NAME.pid, its output in
# NAME.log, and the command in NAME.command for restart_server. It gets its own session, so that Ctrl-C only reaches the
# script.
launch_server() {
    local name=$1 user=()
    shift
    [ -n "$database_outlive" ] || user=(--pdeathsig KILL)
    [ "$(id -u)" != 0 ] || user+=(--reuid=nobody --regid=nogroup --clear-groups)
    case $1 in
    # It needs root's rights for its mounts, and gives them up.
    */Tests/Support/inside) user=() ;;
    esac
    printf '%q ' "$@" >"$database_directory/$name.command"
    {
        # Foundation considers a program running as long as any process holds its descriptors.
        local descriptor
        for descriptor in /proc/self/fd/*; do
            descriptor=${descriptor##*/}
            [ "$descriptor" -le 2 ] || eval "exec $descriptor>&-"
        done
        exec setsid setpriv "${user[@]}" -- env ${database_outlive:+DATABASE_OUTLIVE=yes} \
            ${database_preload:+LD_PRELOAD="$database_preload"} "$@"
    } >>"$database_directory/$name.log" 2>&1 </dev/null &
    echo $! >"$database_directory/$name.pid"
    disown                       # otherwise the shell reports its end
}

# Prints the process ID of a running server of this directory.
server_pid() {
    local pid
    pid=$(cat "$database_directory/$1.pid" 2>/dev/null) || return 0
    # The ID may have been reused by another program.
    { tr '\0' ' ' <"/proc/$pid/cmdline" | grep -qF "$database_directory" && echo "$pid"; } 2>/dev/null || true
}

# Kills a server with SIGKILL, like the loss of its machine.
kill_server() {
    local pid began=$SECONDS
    pid=$(server_pid "$1")
    [ -n "$pid" ] || die "$1 is not running in $database_directory"
    pkill -KILL -s "$pid" || true
    while pgrep -s "$pid" >/dev/null; do
        [ $((SECONDS - began)) -lt $database_deadline ] || die "$1 cannot be killed"
        sleep 0.02
    done
}

# Restarts a killed server.
restart_server() {
    local command
    eval "command=($(cat "$database_directory/$1.command"))"
    launch_server "$1" "${command[@]}"
}

# Waits until a server answers: await_server NAME COMMAND...
await_server() {
    local name=$1 began=$SECONDS
    shift
    until "$@" >/dev/null 2>&1; do
        [ -n "$(server_pid "$name")" ] && [ $((SECONDS - began)) -lt $database_deadline ] || {
            tail -n 20 "$database_directory/$name.log" >&2
            die "$name did not answer within $database_deadline s"
        }
        sleep 0.05
    done
}

random_password() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

# Creates a CA, a server certificate for localhost, a client certificate, and a CA that signed nothing.
make_certificates() {
    local to=$1 name
    mkdir -p "$to"
    for name in ca other-ca; do
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=relay test $name" \
            -keyout "$to/$name-key.pem" -out "$to/$name.pem" 2>/dev/null
    done
    for name in server client; do
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=relay test $name" \
            -keyout "$to/$name-key.pem" -out "$to/$name.csr" 2>/dev/null
        openssl x509 -req -in "$to/$name.csr" -CA "$to/ca.pem" -CAkey "$to/ca-key.pem" -CAcreateserial -days 30 \
            -extfile <(echo "subjectAltName=DNS:localhost") -out "$to/$name.pem" 2>/dev/null
    done
    chmod 600 "$to"/*-key.pem
}

postgres_bin() {
    local newest
    newest=$(find /usr/lib/postgresql -path '*/bin/postgres' 2>/dev/null | sort -V | tail -n 1)
    [ -n "$newest" ] || die "PostgreSQL is not installed: Debian package postgresql"
    dirname "$newest"
}

# start_postgres DIR: starts a server with TLS and scram-sha-256 accounts.
start_postgres() {
    local at=$1/postgres bin port password
    bin=$(postgres_bin)
    port=$(free_port)
    password=$(random_password)
    printf '%s' "$password" >"$1/postgres-password"
    give_away "$1/postgres-password"
    unprivileged "$bin/initdb" -D "$at" -U relay --pwfile="$1/postgres-password" -E UTF8 --locale=C.UTF-8 \
        --auth-local=scram-sha-256 --auth-host=scram-sha-256 >"$1/postgres.log" 2>&1 \
        || { cat "$1/postgres.log" >&2; die "initdb failed"; }
    launch_server postgres "$bin/postgres" -D "$at" -p "$port" -k "$1" -c listen_addresses=127.0.0.1 \
        -c max_connections=200 -c shared_buffers="${database_buffers}MB" -c max_prepared_transactions=0 -c ssl=on \
        -c ssl_cert_file="$1/tls/server.pem" -c ssl_key_file="$1/tls/server-key.pem" -c ssl_ca_file="$1/tls/ca.pem" \
        -c log_min_messages=warning -c log_min_error_statement=panic
    export RELAY_TEST_POSTGRES_URL="postgres://relay:$password@127.0.0.1:$port/postgres"
    await_server postgres "$bin/pg_isready" -q -h 127.0.0.1 -p "$port"
}

# mariadb_flags DIR PORT: prints the common flags of mariadbd
mariadb_flags() {
    printf '%s\n' --no-defaults --datadir="$1/data" --socket="$1/mariadb.sock" --pid-file="$1/mariadb.pid" \
        --port="$2" --bind-address=127.0.0.1 --skip-name-resolve --max-connections=200 \
        --innodb-buffer-pool-size="${database_buffers}M" --innodb-log-file-size=48M --innodb-flush-log-at-trx-commit=1 \
        --performance-schema=OFF --key-buffer-size=1M --aria-pagecache-buffer-size=1M
}

# make_mariadb DIR LOG: creates the files of an empty server.
make_mariadb() {
    command -v mariadb-install-db >/dev/null || die "MariaDB is not installed: Debian package mariadb-server"
    mkdir -p "$1/data" "$1/tmp"
    give_away "$1" "$1/data" "$1/tmp"
    unprivileged mariadb-install-db --no-defaults --datadir="$1/data" --tmpdir="$1/tmp" --skip-test-db \
        --auth-root-authentication-method=normal --skip-name-resolve >"$2" 2>&1 \
        || { cat "$2" >&2; die "mariadb-install-db failed"; }
}

# start_mariadb DIR: starts a server with TLS, with ed25519 and password-hash accounts.
start_mariadb() {
    local at=$1/mariadb port password flags
    port=$(free_port)
    password=$(random_password)
    make_mariadb "$at" "$1/mariadb.log"
    # The initial root account has no password and is local; it is removed before clients can connect.
    cat >"$at/init.sql" <<SQL
CREATE OR REPLACE USER relay@'%' IDENTIFIED BY '$password';
GRANT ALL PRIVILEGES ON *.* TO relay@'%' WITH GRANT OPTION;
DROP USER IF EXISTS root@localhost;
SQL
    mapfile -t flags < <(mariadb_flags "$at" "$port")
    if [ -n "$database_odd_sessions" ]; then
        echo 'SET GLOBAL sql_select_limit = 3, sql_auto_is_null = 1, unique_checks = 0;' >>"$at/init.sql"
        flags+=(--character-set-server=utf8mb3 --collation-server=utf8mb3_general_ci --skip-character-set-client-handshake
            --autocommit=0 --completion-type=CHAIN --transaction-isolation=SERIALIZABLE --default-time-zone=+05:45
            --sql-mode=ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES --sql-safe-updates --max-sort-length=64
            --max-join-size=1000)
    fi
    give_away "$at/init.sql"
    launch_server mariadb mariadbd "${flags[@]}" --tmpdir="$at/tmp" --init-file="$at/init.sql" \
        --plugin-load-add=auth_ed25519 --ssl-ca="$1/tls/ca.pem" --ssl-cert="$1/tls/server.pem" \
        --ssl-key="$1/tls/server-key.pem"
    export RELAY_TEST_MYSQL_URL="mysql://relay:$password@127.0.0.1:$port/mysql"
    await_server mariadb mariadb_answers relay "$password" "$port"
}

mariadb_answers() {
    MYSQL_PWD=$2 mariadb --no-defaults --protocol=tcp -h 127.0.0.1 -P "$3" -u "$1" -e 'SELECT 1'
}

# start_pgbouncer DIR: starts a pooler in transaction mode for start_postgres' server; exports RELAY_TEST_PGBOUNCER_URL.
start_pgbouncer() {
    local port account server
    command -v pgbouncer >/dev/null || PATH=$PATH:/usr/sbin
    command -v pgbouncer >/dev/null || die "PgBouncer is not installed: Debian package pgbouncer"
    port=$(free_port)
    account=${RELAY_TEST_POSTGRES_URL#postgres://}
    server=${account#*@} account=${account%%@*}
    printf '"%s" "%s"\n' "${account%%:*}" "${account#*:}" >"$1/pgbouncer-users"
    cat >"$1/pgbouncer.ini" <<INI
[databases]
* = host=127.0.0.1 port=$(sed 's/.*:\([0-9]*\).*/\1/' <<<"$server")
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $port
unix_socket_dir =
auth_type = scram-sha-256
auth_file = $1/pgbouncer-users
pool_mode = transaction
default_pool_size = 5
max_client_conn = 500
INI
    give_away "$1/pgbouncer.ini" "$1/pgbouncer-users"
    chmod 600 "$1/pgbouncer-users"
    launch_server pgbouncer pgbouncer "$1/pgbouncer.ini"
    export RELAY_TEST_PGBOUNCER_URL="postgres://$account@127.0.0.1:$port/postgres"
    await_server pgbouncer psql "$RELAY_TEST_PGBOUNCER_URL" -c 'SELECT 1'
}

# start_galera DIR: starts a cluster of three MariaDB nodes, galera1 to galera3; exports RELAY_TEST_GALERA_URL.
start_galera() {
    local node port ports=() group=() address flags password library=/usr/lib/galera/libgalera_smm.so
    [ -f $library ] || die "Galera is not installed: Debian package galera-4"
    password=$(random_password)
    for node in 1 2 3; do
        ports+=("$(free_port)")
        group+=("$(free_port)")
    done
    address=gcomm://127.0.0.1:${group[0]},127.0.0.1:${group[1]},127.0.0.1:${group[2]}
    make_mariadb "$1/galera1" "$1/galera.log"
    cat >"$1/galera.sql" <<SQL
CREATE OR REPLACE USER relay@'%' IDENTIFIED BY '$password';
GRANT ALL PRIVILEGES ON *.* TO relay@'%' WITH GRANT OPTION;
DROP USER IF EXISTS root@localhost;
SQL
    give_away "$1/galera.sql"
    for node in 1 2 3; do
        port=${ports[node - 1]}
        mapfile -t flags < <(mariadb_flags "$1/galera$node" "$port")
        flags+=(--tmpdir="$1/galera$node/tmp" --wsrep-on=ON --wsrep-provider=$library
            --wsrep-cluster-address="$address" --wsrep-cluster-name=relay --wsrep-node-name="node$node"
            --wsrep-node-address=127.0.0.1 --binlog-format=ROW --innodb-autoinc-lock-mode=2
            --wsrep-provider-options="gmcast.listen_addr=tcp://127.0.0.1:${group[node - 1]};ist.recv_addr=127.0.0.1:$(free_port);gcache.size=16M")
        if [ "$node" = 1 ]; then
            # Run once alone, so that the other nodes can start from its data without a state transfer.
            launch_server galera1 mariadbd "${flags[@]}" --init-file="$1/galera.sql" --wsrep-new-cluster
            await_server galera1 mariadb_answers relay "$password" "$port"
            kill -TERM "$(server_pid galera1)"
            while [ -n "$(server_pid galera1)" ]; do sleep 0.05; done
            cp -a "$1/galera1" "$1/galera2"
            cp -a "$1/galera1" "$1/galera3"
            launch_server galera1 mariadbd "${flags[@]}" --wsrep-new-cluster
        else
            launch_server "galera$node" mariadbd "${flags[@]}"
        fi
        await_server "galera$node" mariadb_answers relay "$password" "$port"
    done
    export RELAY_TEST_GALERA_URL="mysql://relay:$password@127.0.0.1:${ports[0]},127.0.0.1:${ports[1]},127.0.0.1:${ports[2]}/mysql"
}

# Has start_databases keep the servers' files in memory if there is plenty: contract tests on Postgres take half the time.
keep_databases_in_memory() {
    local free available
    [ -w /dev/shm ] || return 0
    free=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 {print $4}')
    available=$(awk '$1 == "MemAvailable:" {print $2}' /proc/meminfo)
    [ "${free:-0}" -lt $((4 << 20)) ] || [ "$available" -lt $((8 << 20)) ] || database_parent=/dev/shm
}

# Gives root's files to the unprivileged user.
give_away() { [ "$(id -u)" != 0 ] || chown nobody:nogroup "$@"; }

# start_databases [DIR]: starts both servers in DIR or a temporary directory.
start_databases() {
    database_directory=${1:-}
    if [ -z "$database_directory" ]; then
        database_directory=$(mktemp -d "$database_parent/relay-databases-XXXXXX")
        database_cleanup=$database_directory
    fi
    mkdir -p "$database_directory"
    # Socket paths have at most 107 bytes.
    [ ${#database_directory} -le 80 ] || die "the path $database_directory is too long for a Unix socket"
    chmod 711 "$database_directory"
    give_away "$database_directory"
    make_certificates "$database_directory/tls"
    give_away "$database_directory/tls" "$database_directory"/tls/*
    export RELAY_TEST_DATABASES=$database_directory RELAY_TEST_TLS=$database_directory/tls
    start_postgres "$database_directory"
    start_pgbouncer "$database_directory"
    start_mariadb "$database_directory"
}

# Stops every server of the directory and removes it if start_databases created it.
stop_databases() {
    local file name pid began=$SECONDS
    [ -n "$database_directory" ] || return 0
    for file in "$database_directory"/*.pid; do
        pid=$(server_pid "$(basename "$file" .pid)")
        # SIGINT is PostgreSQL's fast shutdown; the others stop on SIGTERM.
        case $file in
        */postgres*) [ -z "$pid" ] || kill -INT "$pid" || true ;;
        *) [ -z "$pid" ] || kill -TERM "$pid" || true ;;
        esac
    done
    for file in "$database_directory"/*.pid; do
        name=$(basename "$file" .pid)
        while pid=$(server_pid "$name") && [ -n "$pid" ]; do
            [ $((SECONDS - began)) -lt $database_deadline ] || kill_server "$name"
            sleep 0.05
        done
    done
    [ -z "$database_cleanup" ] || rm -rf "$database_cleanup"
    database_directory= database_cleanup=
    # The relay would treat these as unknown settings.
    unset "${!RELAY_TEST_@}"
}
