"""The steps: what each one checks, and the command that does it."""

from .step import Step

TIERS = EVERYDAY, ALL, NIGHTLY = ("test", "all", "nightly")
BOTH = (EVERYDAY, ALL)

# Suites of code that shares memory between threads, which ThreadSanitizer watches.
THREADED = {
    "tsan-relay": "RelayTests|StorageTests",
    "tsan": "NetworkTests|HTTPServerTests|HTTP2Tests|APNsTests|WebPushTests|APNsSimulatorTests|AgentBridgeTests",
}
# End-to-end suites that together pass through every part of the programs.
CHOSEN = "|".join(f"{name}Tests" for name in (
    "Chain", "Check", "ClientBehaviour", "Compatibility", "Copy", "FanOut", "Hook", "Lifecycle", "Outcome", "ReplyChain", "Schedule",
    "SealedChain", "Secrecy", "WebPush"))
# It kills the servers, so nothing else may use them.
OUTAGES = "DatabaseServerTests"

# Tests wait more than they compute: so many at a time keep two processors busy.
TESTS = "swift test --skip-build --ignore-lock --parallel --experimental-maximum-parallelization-width 6"
# Instrumented tests compute ten times as much, so several at a time keep each other from their deadlines. Side by side in one
# process, two tests' variables without a size, such as random number generators, also have one address and look like a race.
SERIAL = "swift test --skip-build --ignore-lock --no-parallel"
OPTIMISED = "-c release -Xswiftc -enable-testing --scratch-path .build-optimised"
SANITIZED = "--sanitize=thread --scratch-path .build-tsan"
# Targets that a build is without, since no step uses them of it.
UNITS = "LEFT_OUT_TARGETS=Bench,EndToEndTests,RelayClient"
WITHOUT_DRIVERS = UNITS + ",StorageMySQLTests,StoragePostgresTests,TransferTests,JSONTests,QRCodeTests,PushSealingTests"
# The build with ThreadSanitizer is a debug build, too: its suites need no second one.
UNWATCHED = "LEFT_OUT_TARGETS=" + ",".join(
    name for names in THREADED.values() for name in names.split("|") if name != "StorageTests")
# Database servers for one command, without durability, whose sessions begin otherwise than the relay needs them.
SERVERS = "Tests/Support/databases run --odd-sessions --no-sync"
ENDS = "^EndToEndTests\\."
GALERA = "Galera"
# Not every day: the contract through a pooler, on adopted tables and without prepared statements, copies of databases,
# and migrations that stop after each statement.
VARIANTS = "Galera|PgBouncerTests|ContractTests/(adopted|unprepared)|^TransferTests|MySQLSchemaTests/interrupted"
SHIPPED = ".build-deploy/programs"      # made by the image step
PROGRAMS = "install -D -t .build-deploy/programs .build-deploy/relay .build-deploy/agent-bridge .build/debug/apns-simulator"

STEPS = [
    Step("sources", "formatting, layers of folders, links, and the tests of the tools", "Tests/Sources/all", BOTH, 240,
         needs=("swift",)),
    # Every day: a debug build and real servers.
    Step("build", "debug build, warnings are errors", "swift build --build-tests", (EVERYDAY,), 1500,
         needs=("swift", "build"), cores=2, quiet=900),
    Step("tests", "unit tests, and the storage contract on SQLite, PostgreSQL and MariaDB",
         f"{SERVERS} -- {TESTS} --skip '{ENDS}' --skip '{VARIANTS}'", (EVERYDAY,), 900,
         needs=("test", "databases"), after=("build",)),
    Step("programs", "chosen end-to-end tests of real processes",
         f"{SERVERS} -- {TESTS} --filter '{ENDS}({CHOSEN})/'", (EVERYDAY,), 600,
         needs=("test", "databases"), after=("build",)),
    Step("outages", "database servers killed and restarted while relays use them",
         f"{SERVERS} -- {TESTS} --filter '{ENDS}{OUTAGES}/'", (EVERYDAY,), 400,
         needs=("test", "databases"), after=("build",)),
    Step("js", "JavaScript client", f"{SERVERS} -- clients/js/test", (EVERYDAY,), 300,
         needs=("test", "databases"), after=("build",)),

    Step("page-modules", "modules of the web page and of the console", "clients/web/test && clients/console/test", BOTH, 60, needs=("test",)),

    # What else continuous integration runs. What ships comes first, since much uses it.
    Step("build-debug", "debug build of the programs, and of the tests that need no ThreadSanitizer; warnings are errors",
         f"{UNWATCHED} swift build --build-tests", (ALL,), 1500, needs=("swift", "build"), cores=2, quiet=900),
    Step("image", "container image, built and used as in docs/operate/install.md",
         f"Tests/Deploy/image .build/debug && {PROGRAMS}", (ALL,), 1800,
         needs=("image", "databases"), after=("build-debug",), root=True, quiet=900),
    Step("build-optimised", "optimised build of the tests", f"{UNITS} swift build --build-tests {OPTIMISED}", (ALL,), 2400,
         needs=("swift", "build"), after=("build-debug",), quiet=1800),
    Step("build-tsan", "build of the tests with ThreadSanitizer", f"{WITHOUT_DRIVERS} swift build --build-tests {SANITIZED}", (ALL,), 2400,
         needs=("swift", "build"), after=("build-debug",), quiet=1800),
    Step("contract", "drivers and their contract on all servers, those of Debian unstable included; debug",
         f"{SERVERS} --newest -- {TESTS} --filter '^(Storage.*|JSON|QRCode|PushSealing)Tests\\.' --skip '{VARIANTS}'",
         (ALL,), 1200, needs=("test", "databases", "newest"), after=("build-debug",), root=True),
    Step("end-to-end", "end-to-end tests of the programs in the image",
         f"RELAY_TEST_PROGRAMS=$PWD/{SHIPPED} {SERVERS} -- {TESTS} --filter '{ENDS}' --skip {OUTAGES}",
         (ALL,), 1200, needs=("test", "databases"), after=("image",)),
    Step("outages-shipped", "database servers killed and restarted while the relays in the image use them",
         f"RELAY_TEST_PROGRAMS=$PWD/{SHIPPED} {SERVERS} -- {TESTS} --filter '{ENDS}{OUTAGES}/'", (ALL,), 400,
         needs=("test", "databases"), after=("image",)),
    Step("js-shipped", "JavaScript client with the programs in the image",
         f"BIN=$PWD/{SHIPPED} {SERVERS} -- clients/js/test", (ALL,), 300, needs=("test", "databases"), after=("image",)),
    Step("optimised", "unit tests, and the contract in all variants, optimised",
         f"{UNITS} {SERVERS} -- {TESTS} {OPTIMISED} --skip '{ENDS}' --skip {GALERA}", (ALL,), 1200,
         needs=("test", "databases"), after=("build-optimised",)),
    Step("galera", "contract on a Galera cluster, then the loss of nodes",
         "Tests/Support/databases run --servers galera --no-sync -- bash -c 'set -e; "
         f"{TESTS} --filter GaleraContractTests; {TESTS} --filter GaleraTests'", (ALL,), 400,
         needs=("test", "databases"), after=("build-debug",)),
    Step("soak", "load and random faults, every push accounted for; SQLite, 60 s",
         f"Tests/Soak/run --bin {SHIPPED} --seconds 60", (ALL,), 400, after=("image",)),
    Step("fuzz", "parsers of untrusted bytes, 20 s", "Tests/Fuzz/run 20", (ALL,), 900,
         needs=("swift", "build"), after=("build-debug",), background=True, quiet=600),
    Step("openapi", "docs/reference/openapi.yaml against a live relay (Schemathesis)", "Tests/Schemathesis/run", (ALL,), 300,
         needs=("test",), after=("build-debug",)),
    Step("generated-clients", "clients generated from docs/reference/openapi.yaml",
         f"BIN={SHIPPED} Tests/GeneratedClients/run", (ALL,), 300, needs=("test",), after=("image",)),
    Step("mcp", "MCP with the SDKs' clients", f"BIN={SHIPPED} Tests/MCP/run", (ALL,), 300, needs=("test",), after=("image",)),
    Step("senders", "senders of other relays by both transports against a live relay", f"BIN={SHIPPED} Tests/Senders/run", (ALL,), 300,
         needs=("test",), after=("image",)),
    Step("webpush", "http_ece and py_vapid against WebPush and the simulator", f"{UNITS} Tests/WebPush/run {OPTIMISED}", (ALL,), 180,
         needs=("test",), after=("build-optimised",)),
    Step("traces", "exported traces, read with opentelemetry-proto, and collectors that lie", f"BIN={SHIPPED} Tests/Traces/run",
         (ALL,), 180, needs=("test",), after=("image",)),
    Step("browser", "web pages of other origins in Chromium", f"BIN={SHIPPED} Tests/Browser/run", (ALL,), 240,
         needs=("browser",), after=("image",)),
    Step("page", "the web page and the console in Firefox and Chromium, and with the relay",
         f"export BIN={SHIPPED} && clients/web/test --browsers && clients/console/test --browsers", (ALL,), 420,
         needs=("test", "browser"), after=("image",)),
    Step("swift-client", "the package for apps, built by itself",
         "swift test --package-path clients/swift --scratch-path $PWD/.build-swift-client -Xswiftc -warnings-as-errors",
         (ALL,), 600, needs=("swift", "build"), background=True, quiet=400),
    Step("compiler", "known miscompiled patterns", "Tests/Compiler/run", (ALL,), 300, needs=("swift",), background=True),
    Step("try", "./dev run, as in README.md", "Tests/Deploy/try .build-optimised/release", (ALL,), 300,
         needs=("run",), after=("build-optimised",)),
    Step("deploy", "files of deploy/", "Tests/Deploy/files", (ALL,), 120, needs=("deploy",), after=("build-debug",)),
    Step("kubernetes", "manifests of deploy/kubernetes, built by kubectl and held to the schemas", "Tests/Deploy/kubernetes", (ALL,),
         120, needs=("kubernetes",)),
    Step("proxies", "the configurations for Caddy, nginx and HAProxy", "Tests/Deploy/proxies && Tests/Deploy/routing", (ALL,),
         300, needs=("proxies",), after=("build-debug",)),
    Step("metrics", "metrics, alert rules and the dashboard's queries with Prometheus",
         "Tests/Support/databases run --servers postgres --no-sync -- Tests/Metrics/run", (ALL,), 300,
         needs=("metrics", "databases"), after=("build-debug",)),
    Step("package", "Debian package of the programs in the image, on a fresh machine",
         "Tests/Deploy/package .build-deploy .build/debug", (ALL,), 600, needs=("package", "machine"), after=("image",),
         root=True),

    Step("release", "the files of a release, made twice and used", "Tests/Deploy/release .build-deploy", (ALL,), 300,
         needs=("release",), after=("image",), root=True),

    # Last, when little else takes processors from them.
    *(Step(name, "ThreadSanitizer: " + suites.replace("|", ", "),
           f"{WITHOUT_DRIVERS} TSAN_OPTIONS='halt_on_error=0 exitcode=66 second_deadlock_stack=1' SWIFT_BACKTRACE=enable=no {SERIAL} "
           f"{SANITIZED} --filter '^({suites})\\.'", (ALL,), 1200, needs=("test",), after=("build-tsan",))
      for name, suites in THREADED.items()),

    # The long-running steps, nightly. The programs are those that ./dev bench and soak use.
    Step("build-release", "release build", "swift build -c release --product relay && swift build -c release --product "
         "apns-simulator && swift build -c release --product agent-bridge", (NIGHTLY,), 1800, needs=("swift", "build"),
         cores=2, quiet=900),
    Step("build-simulator", "debug build of the simulator", "swift build --product apns-simulator", (NIGHTLY,), 900,
         needs=("swift", "build"), cores=2, quiet=600),
    Step("fuzz-long", "parsers of untrusted bytes, ten minutes each", "Tests/Fuzz/run 2400", (NIGHTLY,), 4200,
         needs=("swift", "build"), cores=2, quiet=1500),
    *(Step(f"soak-{database}", f"load and random faults for half an hour on {database}",
           f"Tests/Soak/run --seconds 1800 --database {database}", (NIGHTLY,), 3000, needs=("databases",),
           after=("build-release",), cores=2, quiet=2400) for database in ("sqlite", "postgres", "mysql")),
    Step("cluster", "a Patroni cluster that loses nodes under load", "Tests/Clusters/run", (NIGHTLY,), 1500,
         needs=("cluster",), after=("build-release",), cores=2),
    *(Step(name, f"README.md and docs/operate/install.md from source on a fresh {title}",
           f"DEBIAN_RELEASE={release} Tests/Deploy/source .build/debug", (NIGHTLY,), 3000, needs=("machine",),
           after=("build-simulator",), cores=2, root=True, quiet=1500)
      for name, title, release in (("source", "Debian 12", "bookworm"), ("source-13", "Debian 13", "trixie"))),
    Step("abuse", "attacks on the relay and nginx", "Tests/Abuse/run", (NIGHTLY,), 1800, needs=("abuse",),
         after=("build-release",), cores=2),
    Step("bench-release", "speed beside the last tag's", "Tests/Bench/release", (NIGHTLY,), 3600,
         needs=("swift", "build", "bench", "databases"), after=("build-release",), cores=2, quiet=1200),
]
