/// The reason why a relay does not start, or ends.
public enum RelayError: Error {
    /// The store cannot be used.
    case store(StoreError)
    /// The address cannot be listened on; `code` is the system's error number, or 0.
    case listen(address: String, code: Int32)
    /// The certificate or its key cannot be used, for this reason.
    case tls(String)
}
