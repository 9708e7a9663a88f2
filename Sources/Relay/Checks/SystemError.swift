import Glibc

/// Groups system error numbers by network problem.
enum SystemError {
    /// The connection was refused.
    case refused
    /// No response.
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
