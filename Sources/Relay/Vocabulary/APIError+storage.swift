import Storage

extension APIError {
    /// The error that a caller sees for a storage error.
    ///
    /// The log keeps the details.
    init(_ error: StorageError) {
        switch error {
        case .unavailable, .crowded, .timeout, .unconfirmed, .refused, .unsuitable, .denied, .full, .readOnly,
            .inUse, .corrupt, .schemaTooNew, .schemaTooOld, .foreignDatabase, .unfinishedCopy:
            self.init(.storageUnavailable, logDetail: error.logDetail)
        case .closed:
            self.init(.shuttingDown, logDetail: error.logDetail)
        case .invalidValue, .internalFault:
            self.init(.internalError, logDetail: error.logDetail)
        }
    }
}
