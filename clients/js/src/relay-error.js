const messageCharactersMax = 300;

/**
 * Why a request to the relay failed. `kind` is
 * - `refused`: the relay, or a proxy in front of it, answered with an error. `status`, and from the relay `code` and `field`
 * - `unreachable`: there was no answer. The request may have been carried out
 * - `timeout`: there was no answer in time. The request may have been carried out
 * - `redirected`: the URL redirects elsewhere; this isn't followed, since the request contains the secret
 * - `tls`: the certificate isn't valid, or the server doesn't speak TLS
 * - `aborted`: the caller's signal ended the request
 * - `unexpectedAnswer`: the answer doesn't come from a relay
 */
export class RelayError extends Error {
    constructor(kind, message, { status, code, field, requestID, retryAfter, cause } = {}) {
        super(String(message).slice(0, messageCharactersMax), cause === undefined ? undefined : { cause });
        this.name = "RelayError";
        this.kind = kind;
        this.status = status;
        this.code = code;
        this.field = field;
        this.requestID = requestID;
        /** Seconds after which the request can be repeated. */
        this.retryAfter = retryAfter;
    }

    /** Whether the same request can succeed later. */
    get isTemporary() {
        return this.kind === "unreachable" || this.kind === "timeout" || [429, 502, 503, 504].includes(this.status);
    }
}
