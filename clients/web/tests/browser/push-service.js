// A stand-in for Mozilla's push service: the WebSocket that Firefox keeps, and messages encrypted as RFC 8291 says.
import { createCipheriv, createECDH, createHmac, randomBytes, randomUUID } from "node:crypto";
import { WebSocketConnection } from "./websocket.js";

const recordBytes = 4096;
const hmac = (key, ...data) => createHmac("sha256", key).update(Buffer.concat(data.map((part) => Buffer.from(part)))).digest();
const deadlineMilliseconds = 60_000;

/** The body of a push message (RFC 8291 with one record of RFC 8188). */
export function encrypt(plaintext, { p256dh, auth }, { sender = generated(), salt = randomBytes(16) } = {}) {
    const receiver = Buffer.from(p256dh, "base64url");
    const input = hmac(hmac(Buffer.from(auth, "base64url"), sender.computeSecret(receiver)), "WebPush: info\0", receiver,
        sender.getPublicKey(), [1]);
    const key = hmac(salt, input);
    const derived = (name, count) => hmac(key, `Content-Encoding: ${name}\0`, [1]).subarray(0, count);
    const cipher = createCipheriv("aes-128-gcm", derived("aes128gcm", 16), derived("nonce", 12));
    const record = Buffer.concat([cipher.update(Buffer.concat([Buffer.from(plaintext), Buffer.from([2])])), cipher.final(),
        cipher.getAuthTag()]);
    const header = Buffer.alloc(21);
    salt.copy(header);
    header.writeUInt32BE(recordBytes, 16);
    header[20] = sender.getPublicKey().length;
    return Buffer.concat([header, sender.getPublicKey(), record]);
}

function generated() {
    const pair = createECDH("prime256v1");
    pair.generateKeys();
    return pair;
}

export class PushService {
    #connection;
    #acknowledged = new Map();
    origin;

    /** Takes over a request to upgrade. */
    accept(request, socket) {
        const connection = WebSocketConnection.accept(request, socket);
        this.#connection = connection;
        connection.onmessage = (text) => this.#receive(connection, JSON.parse(text));
    }

    #receive(connection, message) {
        const { messageType, channelID } = message;
        const answer = (members) => connection.send(JSON.stringify({ messageType, ...members }));
        if (messageType === "hello") return answer({ uaid: message.uaid || randomUUID().replaceAll("-", ""), status: 200,
            use_webpush: true, broadcasts: {} });
        if (messageType === "register") return answer({ channelID, status: 200, pushEndpoint: `${this.origin}/push/${channelID}` });
        if (messageType === "unregister") return answer({ channelID, status: 200 });
        if (messageType === "ack") for (const { version, code } of message.updates) this.#acknowledged.get(version)?.(code);
        if (messageType === "nack") this.#acknowledged.get(message.version)?.(`nack ${message.code}`);
        return messageType === undefined ? connection.send("{}") : undefined;
    }

    /** Sends text to a subscription; resolves to the browser's code, 100 if its worker got it. */
    send({ endpoint, keys }, plaintext) {
        return this.deliver(endpoint, encrypt(plaintext, keys));
    }

    /** Sends a message that is already encrypted. */
    async deliver(endpoint, message) {
        const version = randomUUID();
        const code = new Promise((resolve, reject) => {
            const timer = setTimeout(() => reject(new Error("the browser didn't acknowledge the push")), deadlineMilliseconds);
            this.#acknowledged.set(version, (code) => {
                clearTimeout(timer);
                resolve(code);
            });
        });
        this.#connection.send(JSON.stringify({
            messageType: "notification", channelID: endpoint.split("/").at(-1), version,
            data: message.toString("base64url"), headers: { encoding: "aes128gcm" },
        }));
        return code;
    }
}
