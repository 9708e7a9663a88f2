extension HelpText {
    static let pair = """
        Usage: relay pair --relay-url URL [--host URL]... [--name NAME]
                          [--scheme SCHEME] [--png PATH] [--json] [--local]

        Creates a pairing secret and prints it as a QR code, a link and JSON. The phone scans the code or
        opens the link. The sender uses relaySecret as its secret, and the JSON to seal notifications. Each
        run creates a new secret, which is not stored. With --json it prints only the JSON.
        """

    static let seal = """
        Usage: relay seal [--title TEXT] [--body TEXT] [--event-type TYPE|--kind KIND] [--session ID]

        Encrypts a notification for the phones of a pairing, and prints the value of the request's sealed
        field. Without --title and --body, it reads the text from standard input. The request must have the
        same type: --event-type is its eventType, --kind its notification's kind.
        docs/reference/encryption.md describes the format.
        """

    static let open = """
        Usage: relay open [SEALED] [--event-type TYPE|--kind KIND] [--json]

        Decrypts a sealed notification, given as an argument or on standard input, and prints its
        content. The type must match the one it was sealed for. Exit statuses: 0 opened, 64 usage error,
        65 it can't be opened.
        """
}
