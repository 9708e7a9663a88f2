extension HelpText {
    static let pair = """
        Usage: relay pair --relay-url URL [--host URL]... [--name NAME]
                          [--scheme SCHEME] [--png PATH] [--json] [--local]

        Makes a pairing secret and prints it as a QR code, as the link in it and as the link's JSON. The
        phone scans the code; the sender needs relaySecret, or the JSON to seal notifications. Each run
        makes a new secret, which is stored nowhere. With --json it prints the JSON only.
        """

    static let seal = """
        Usage: relay seal [--title TEXT] [--body TEXT] [--event-type TYPE|--kind KIND] [--session ID]

        Encrypts a notification for the phones of a pairing, and prints the value for the request's
        sealed. Without --title and --body, the text is standard input. The request must have the same
        type: --event-type is its eventType, --kind its notification's kind. docs/reference/encryption.md has the
        format.
        """

    static let open = """
        Usage: relay open [SEALED] [--event-type TYPE|--kind KIND] [--json]

        Decrypts a sealed notification, given as an argument or on standard input, and prints its
        content. The type must be the one that it was sealed for. Exit statuses: 0 opened, 64 usage error,
        65 it can't be opened.
        """
}
