enum ServeCommand {
    static func run(_ configuration: ServeConfiguration) -> ExitStatus { .software }
}
