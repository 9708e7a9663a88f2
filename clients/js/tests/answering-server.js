import { createServer } from "node:http";

/** A server that gives a test's answers in turn, and records the requests that it received. */
export class AnsweringServer {
    received = [];
    #answers;
    #server;

    /** Each answer is `{ status, body, headers }`, or `drop` or `silence`. The last one repeats. */
    static async start(...answers) {
        const server = new AnsweringServer();
        server.#answers = answers;
        server.#server = createServer((request, response) => server.#answer(request, response));
        // No timeout, so that a connection that fetch() is about to reuse is never closed at that moment.
        server.#server.keepAliveTimeout = 0;
        await new Promise((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
        server.url = `http://127.0.0.1:${server.#server.address().port}`;
        return server;
    }

    async #answer(request, response) {
        const chunks = [];
        for await (const chunk of request) chunks.push(chunk);
        const { method, url: path, headers } = request;
        this.received.push({ method, path, headers, body: JSON.parse(Buffer.concat(chunks).toString() || "null") });
        const answer = this.#answers.length > 1 ? this.#answers.shift() : this.#answers[0];
        if (answer === "silence") return;
        if (answer === "drop") return void request.socket.destroy();
        const { status = 200, body = { ok: true }, headers: fields = {} } = answer;
        response.writeHead(status, { "content-type": "application/json", ...fields });
        response.end(typeof body === "string" ? body : JSON.stringify(body));
    }

    async stop() {
        this.#server.closeAllConnections();
        await new Promise((resolve) => this.#server.close(resolve));
    }
}
