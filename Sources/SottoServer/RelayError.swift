/// The reason why a relay does not start, or ends.
public enum RelayError: Error {
    /// The store cannot be used.
    case store(StoreError)
    /// The address cannot be listened on; `code` is the system's error number, or 0.
    case listen(address: String, code: Int32)
    /// The certificate or its key cannot be used.
    case tls(TLSFileError)
}

/// The reason why a certificate and its key cannot be used, with the path of the file.
public enum TLSFileError: Error {
    /// The file has no certificate.
    case noCertificate(String)
    /// The certificate cannot be read.
    case unreadable(String)
    /// The certificate or its key cannot be used, or they do not belong together.
    case unusable(certificate: String, key: String)
    /// The library made no certificate for these names.
    case notMade(names: [String])
    /// The file that would be created exists.
    case exists(String)
    /// The file cannot be created.
    case cannotCreate(String)
    /// The file cannot be written.
    case cannotWrite(String)
}
