import Sotto

extension FuzzTarget {
    /// A contact URI. One that is read is written and read back unchanged.
    static let contactURI = FuzzTarget("contact-uri") { bytes in
        guard let uri = try? ContactURI(String(decoding: bytes, as: UTF8.self)) else { return }
        precondition((try? ContactURI(uri.text)) == uri)
        _ = Card(uri: uri)
    }
}
