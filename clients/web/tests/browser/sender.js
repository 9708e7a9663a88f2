// The sender's side of a pairing: what the bridge does at the computer.
import { Envelope, Pairing, SealedReply, SealedResult } from "../../js/node.js";

export class Sender {
    static async make(relayURL, host = "studio.local") {
        const sender = new Sender();
        sender.pairing = await Pairing.make({ hosts: [`http://${host}:4096`], relayURL, serverID: host });
        return sender;
    }

    get secret() {
        return this.pairing.relaySecret;
    }

    /** The link for the camera. */
    link(relayURL) {
        return `${relayURL}/app/#pair=${encodeURIComponent(this.pairing.json())}`;
    }

    /** The argument for `StandIn.deliver`. */
    async event(type, { eventID, title, body, sessionID = "ses_1", actions, sentAt, ttl, level, request }) {
        const notification = actions && { category: "permission", actions, interruptionLevel: level };
        const content = { eventID, title, body, sessionID, serverID: this.pairing.serverID, notification, sentAt, ttl, request };
        const sealed = await Envelope.seal({ keys: this.pairing.keys, type, content });
        const data = { serverID: this.pairing.serverID, eventType: type, sessionID, sealed };
        return { eventID, type, title: type === "permission" ? "Action needed" : "Session complete", body: "General text", data };
    }

    openReply(eventID, { sealed }) {
        return SealedReply.open({ keys: this.pairing.keys, eventID, sealed });
    }

    async result(eventID, reply, outcome, reason) {
        return { sealed: await SealedResult.seal({ keys: this.pairing.keys, eventID, reply, outcome, reason }) };
    }
}
