import Sotto

extension FuzzTarget {
    /// A contact URI, which is read as the same again.
    static let contactURI = FuzzTarget("contact-uri") { bytes in
        guard let uri = try? ContactURI(String(decoding: bytes, as: UTF8.self)) else { return }
        precondition((try? ContactURI(uri.text)) == uri)
        _ = Card(uri: uri)
    }
}
