# Starts PostgreSQL, PgBouncer and MariaDB for tests and scripts, in a directory of their own on free loopback ports.
#
# Source it after stack.bash, call start_databases DIR, trap stop_databases on EXIT. Exports, for an administrator who
# may make databases and accounts:
#   RELAY_TEST_POSTGRES_URL   postgres://…@127.0.0.1:PORT/postgres
#   RELAY_TEST_MYSQL_URL      mysql://…@127.0.0.1:PORT/mysql
#   RELAY_TEST_PGBOUNCER_URL  the first through PgBouncer in transaction mode
#   RELAY_TEST_TLS            a directory: ca.pem signed both servers' certificate, which is for localhost and not for
#                             127.0.0.1; other-ca.pem signed nothing; client.pem and client-key.pem are a client's
#   RELAY_TEST_DATABASES      the directory, for `Tests/Support/databases kill` and `restart`
# Both write to the disk as in production, and use little memory: DATABASE_BUFFERS_MIB for pages, each.

database_deadline=60             # seconds that a server may take until it answers, or until it has stopped
database_buffers=${DATABASE_BUFFERS_MIB:-64}
database_directory=
database_cleanup=                # the directory to remove at the end
# Set for servers that outlive this script; the others go with it, even when it is killed.
database_outlive=

# Runs a command as an unprivileged user: PostgreSQL refuses root.
unprivileged() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=nobody --regid=nogroup --clear-groups -- "$@"
    else
        "$@"
    fi
}

# launch_server NAME COMMAND...: in the background, with its process id in NAME.pid, its output in NAME.log, and the
# command in NAME.command for restart_server. It has a session of its own, so that Ctrl-C reaches the script alone.
launch_server() {
    local name=$1 user=()
    shift
    [ -n "$database_outlive" ] || user=(--pdeathsig KILL)
    [ "$(id -u)" != 0 ] || user+=(--reuid=nobody --regid=nogroup --clear-groups)
    printf '%q ' "$@" >"$database_directory/$name.command"
    {
        # Foundation takes a program for running as long as anybody holds what it gave it.
        local descriptor
        for descriptor in /proc/self/fd/*; do
            descriptor=${descriptor##*/}
            [ "$descriptor" -le 2 ] || eval "exec $descriptor>&-"
        done
        exec setsid setpriv "${user[@]}" -- "$@"
    } >>"$database_directory/$name.log" 2>&1 </dev/null &
    echo $! >"$database_directory/$name.pid"
    disown                       # or the shell would report its end
}

# The process id of a server of this directory that runs; nothing if it doesn't.
server_pid() {
    local pid
    pid=$(cat "$database_directory/$1.pid" 2>/dev/null) || return 0
    # Another program may have got the id meanwhile.
    { tr '\0' ' ' <"/proc/$pid/cmdline" | grep -qF "$database_directory" && echo "$pid"; } 2>/dev/null || true
}

# Kills a server as the loss of its machine would.
kill_server() {
    local pid began=$SECONDS
    pid=$(server_pid "$1")
    [ -n "$pid" ] || die "$1 is not running in $database_directory"
    pkill -KILL -s "$pid" || true
    while pgrep -s "$pid" >/dev/null; do
        [ $((SECONDS - began)) -lt $database_deadline ] || die "$1 does not die"
        sleep 0.02
    done
}

# Starts a server again that was killed.
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

# A CA, a server's certificate for localhost, a client's, and a CA that has signed nothing.
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

# start_postgres DIR: one server with TLS whose accounts use scram-sha-256.
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

# mariadbd's flags that every server of a test has: mariadb_flags DIR PORT
mariadb_flags() {
    printf '%s\n' --no-defaults --datadir="$1/data" --socket="$1/mariadb.sock" --pid-file="$1/mariadb.pid" \
        --port="$2" --bind-address=127.0.0.1 --skip-name-resolve --max-connections=200 \
        --innodb-buffer-pool-size="${database_buffers}M" --innodb-log-file-size=48M --innodb-flush-log-at-trx-commit=1 \
        --performance-schema=OFF --key-buffer-size=1M --aria-pagecache-buffer-size=1M
}

# make_mariadb DIR LOG: an empty server's files.
make_mariadb() {
    command -v mariadb-install-db >/dev/null || die "MariaDB is not installed: Debian package mariadb-server"
    mkdir -p "$1/data" "$1/tmp"
    give_away "$1" "$1/data" "$1/tmp"
    unprivileged mariadb-install-db --no-defaults --datadir="$1/data" --tmpdir="$1/tmp" --skip-test-db \
        --auth-root-authentication-method=normal --skip-name-resolve >"$2" 2>&1 \
        || { cat "$2" >&2; die "mariadb-install-db failed"; }
}

# start_mariadb DIR: one server with TLS, with ed25519 accounts beside those by password hash.
start_mariadb() {
    local at=$1/mariadb port password flags
    port=$(free_port)
    password=$(random_password)
    make_mariadb "$at" "$1/mariadb.log"
    # Root has no password at first and is reached from this machine alone; it goes before anybody can connect.
    cat >"$at/init.sql" <<SQL
CREATE OR REPLACE USER relay@'%' IDENTIFIED BY '$password';
GRANT ALL PRIVILEGES ON *.* TO relay@'%' WITH GRANT OPTION;
DROP USER IF EXISTS root@localhost;
SQL
    give_away "$at/init.sql"
    mapfile -t flags < <(mariadb_flags "$at" "$port")
    launch_server mariadb mariadbd "${flags[@]}" --tmpdir="$at/tmp" --init-file="$at/init.sql" \
        --plugin-load-add=auth_ed25519 --ssl-ca="$1/tls/ca.pem" --ssl-cert="$1/tls/server.pem" \
        --ssl-key="$1/tls/server-key.pem"
    export RELAY_TEST_MYSQL_URL="mysql://relay:$password@127.0.0.1:$port/mysql"
    await_server mariadb mariadb_answers relay "$password" "$port"
}

mariadb_answers() {
    MYSQL_PWD=$2 mariadb --no-defaults --protocol=tcp -h 127.0.0.1 -P "$3" -u "$1" -e 'SELECT 1'
}

# start_pgbouncer DIR: a pooler in transaction mode before start_postgres' server; exports RELAY_TEST_PGBOUNCER_URL.
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

# start_galera DIR: a cluster of three MariaDB nodes, galera1 to galera3; exports RELAY_TEST_GALERA_URL.
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
            # Once by itself, so that the others can begin with what it has and need nothing sent.
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

# Hands files that root made to the unprivileged user.
give_away() { [ "$(id -u)" != 0 ] || chown nobody:nogroup "$@"; }

# start_databases [DIR]: both servers, in DIR or in a temporary directory.
start_databases() {
    database_directory=${1:-}
    if [ -z "$database_directory" ]; then
        database_directory=$(mktemp -d /tmp/relay-databases-XXXXXX)
        database_cleanup=$database_directory
    fi
    mkdir -p "$database_directory"
    # Sockets' names are at most 107 bytes.
    [ ${#database_directory} -le 80 ] || die "the path $database_directory is too long for a socket's name"
    chmod 711 "$database_directory"
    give_away "$database_directory"
    make_certificates "$database_directory/tls"
    give_away "$database_directory/tls" "$database_directory"/tls/*
    export RELAY_TEST_DATABASES=$database_directory RELAY_TEST_TLS=$database_directory/tls
    start_postgres "$database_directory"
    start_pgbouncer "$database_directory"
    start_mariadb "$database_directory"
}

# Stops every server of the directory, and removes it if start_databases made it.
stop_databases() {
    local file name pid began=$SECONDS
    [ -n "$database_directory" ] || return 0
    for file in "$database_directory"/*.pid; do
        pid=$(server_pid "$(basename "$file" .pid)")
        # SIGINT is PostgreSQL's fast way to stop; the others stop on SIGTERM.
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
    # The relay takes what begins with RELAY_ for settings, of which it doesn't know these.
    unset "${!RELAY_TEST_@}"
}
