import Glibc

/// The error numbers of the system that say what is wrong with a network.
enum SystemError {
    /// Something answered that it wants no connection.
    case refused
    /// Nothing answered.
    case timeout
    case other

    init(_ code: Int32) {
        switch code {
        case ECONNREFUSED: self = .refused
        case ETIMEDOUT: self = .timeout
        default: self = .other
        }
    }
}
