/// The one place that knows which database drivers are built in.
enum OpenStorage {
    /// The engines with a driver in this program.
    static let drivers: [DatabaseEngine] = [.sqlite]
}
