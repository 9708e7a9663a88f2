// The real relay with Web Push, and a stand-in for Mozilla's push service, to which the relay sends over HTTPS.
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Program } from "./program.js";
import { PushService } from "./push-service.js";
import { starting, until } from "./wait.js";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const programs = resolve(root, process.env.BIN ?? ".build/debug");

export class Relay extends Program {
    push = new PushService();
    /** What the relay sent to the push service: `{ headers, body, code }`, with the browser's code as a promise. */
    messages = [];
    #servers = [];

    async begin(settings = {}) {
        const [key, certificate] = [join(this.profile, "key.pem"), join(this.profile, "certificate.pem")];
        execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate], { stdio: "ignore" });
        const service = createSecureServer({ key: readFileSync(key), cert: readFileSync(certificate) },
            (request, response) => void this.#take(request, response));
        const port = await this.#listen(service, "localhost");
        this.push.origin = `https://localhost:${port}`;
        const sockets = createServer().on("upgrade", (request, socket) => this.push.accept(request, socket));
        this.pushURL = `ws://127.0.0.1:${await this.#listen(sockets, "127.0.0.1")}/`;
        this.run(join(programs, "relay"), ["serve"], {
            PORT: "0", RELAY_ADMIN_LISTEN: "off", RELAY_LOG_FORMAT: "json", RELAY_LOG_LEVEL: "debug",
            DATABASE_URL: `sqlite:${join(this.profile, "relay.db")}`, RELAY_VAPID_SUBJECT: "mailto:tests@example.org",
            RELAY_WEBPUSH_HOSTS: `localhost:${port}`, RELAY_WEBPUSH_CA_FILE: certificate, ...settings,
        });
        const start = await until("the relay's start", async () => {
            if (this.process.exitCode !== null) throw new Error(this.output);
            return JSON.parse(this.output.split("\n").find((line) => line.includes('"event":"start"') && line.endsWith("}")) ?? "null");
        }, starting);
        this.url = start.listening;
    }

    /** The link that the bridge shows for a new pairing. */
    pairingLink() {
        const { stdout, stderr } = spawnSync(join(programs, "agent-bridge"),
            ["pair", "--standalone", "--local", "--insecure-relay", "--relay-url", this.url, "--name", "studio.local"],
            { env: { PATH: process.env.PATH, HOME: this.profile }, encoding: "utf8" });
        const link = stdout.split("\n").find((line) => line.startsWith(`${this.url}/app/#pair=`));
        if (!link) throw new Error(stdout + stderr);
        return link;
    }

    /** Posts to the relay as a sender does, and returns its response. */
    async post(path, members) {
        const response = await fetch(this.url + path, { method: "POST", body: JSON.stringify(members) });
        return response.json();
    }

    async stop() {
        for (const server of this.#servers) server.close().closeAllConnections();
        await super.stop();
    }

    async #listen(server, host) {
        this.#servers.push(server);
        await new Promise((resolve) => server.listen(0, host, resolve));
        return server.address().port;
    }

    async #take(request, response) {
        const chunks = [];
        for await (const chunk of request) chunks.push(chunk);
        const body = Buffer.concat(chunks);
        const endpoint = this.push.origin + request.url;
        this.messages.push({ headers: request.headers, body, code: this.push.deliver(endpoint, body) });
        response.writeHead(201, { location: `${this.push.origin}/message/${this.messages.length}` }).end();
    }
}
