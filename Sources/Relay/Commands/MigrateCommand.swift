enum MigrateCommand {
    static func run(_ configuration: MigrateConfiguration) -> ExitStatus { .software }
}
