// As much of WebSocket (RFC 6455) as the tests need, for both sides: Node 18 has neither.
import { createHash, randomBytes } from "node:crypto";
import { request } from "node:http";

const magic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const [text, close, ping, pong] = [1, 8, 9, 10];

/** One connection. `onmessage` gets each text, `onclose` nothing. */
export class WebSocketConnection {
    onmessage = () => {};
    onclose = () => {};
    #socket;
    #isClient;
    #received = Buffer.alloc(0);
    #parts = [];

    constructor(socket, isClient, head = Buffer.alloc(0)) {
        this.#socket = socket;
        this.#isClient = isClient;
        socket.on("data", (bytes) => this.#receive(bytes));
        socket.on("close", () => this.onclose());
        socket.on("error", () => {});
        if (head.length > 0) queueMicrotask(() => this.#receive(head));
    }

    /** The server's side of a request to upgrade. */
    static accept({ headers }, socket) {
        const accept = createHash("sha1").update(headers["sec-websocket-key"] + magic).digest("base64");
        const protocol = headers["sec-websocket-protocol"] ? [`Sec-WebSocket-Protocol: ${headers["sec-websocket-protocol"]}`] : [];
        const lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
            `Sec-WebSocket-Accept: ${accept}`, ...protocol];
        socket.write(lines.join("\r\n") + "\r\n\r\n");
        return new WebSocketConnection(socket, false);
    }

    static connect(url) {
        return new Promise((resolve, reject) => {
            const headers = { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": randomBytes(16).toString("base64") };
            const sent = request(url.replace(/^ws/, "http"), { headers });
            sent.on("upgrade", (_, socket, head) => resolve(new WebSocketConnection(socket, true, head)));
            sent.on("response", ({ statusCode }) => reject(new Error(`${url} answered ${statusCode}`)));
            sent.on("error", reject);
            sent.end();
        });
    }

    send(message) {
        this.#write(text, Buffer.from(message));
    }

    close() {
        this.#socket.destroy();
    }

    #write(opcode, payload) {
        const mask = this.#isClient ? randomBytes(4) : undefined;
        const length = payload.length < 126 ? [payload.length] : payload.length < 65_536 ? [126, payload.length >> 8,
            payload.length & 255] : undefined;
        const header = Buffer.from([0x80 | opcode, ...(length ?? [127, 0, 0, 0, 0, 0, 0, 0, 0])]);
        if (!length) header.writeUInt32BE(payload.length, 6);
        if (mask) header[1] |= 0x80;
        const body = mask ? payload.map((byte, index) => byte ^ mask[index & 3]) : payload;
        this.#socket.write(Buffer.concat([header, ...(mask ? [mask] : []), body]));
    }

    #receive(bytes) {
        this.#received = Buffer.concat([this.#received, bytes]);
        for (;;) {
            const frame = this.#frame();
            if (!frame) return;
            const { opcode, isLast, payload } = frame;
            if (opcode === ping) this.#write(pong, payload);
            else if (opcode === close) this.close();
            else if (opcode <= 2) {
                this.#parts.push(payload);
                if (!isLast) continue;
                const message = Buffer.concat(this.#parts.splice(0)).toString();
                this.onmessage(message);
            }
        }
    }

    #frame() {
        const data = this.#received;
        if (data.length < 2) return undefined;
        const isMasked = data[1] >= 128;
        const short = data[1] & 127;
        const start = (short === 126 ? 4 : short === 127 ? 10 : 2) + (isMasked ? 4 : 0);
        if (data.length < start) return undefined;
        const length = short === 126 ? data.readUInt16BE(2) : short === 127 ? data.readUInt32BE(6) : short;
        if (data.length < start + length) return undefined;
        let payload = data.subarray(start, start + length);
        if (isMasked) {
            const mask = data.subarray(start - 4, start);
            payload = payload.map((byte, index) => byte ^ mask[index & 3]);
        }
        this.#received = data.subarray(start + length);
        return { opcode: data[0] & 15, isLast: data[0] >= 128, payload };
    }
}
