/// The address of a room, without its phrase: `sotto:room?relay=…&name=…`. sotto-formats(5), ROOMS.
package struct RoomURI: Sendable, Equatable {
    /// The address of the relay with the record of the room.
    package let relay: String
    /// The name of the room, or `nil`.
    package let name: String?

    private static let beginning = "sotto:room?"

    package init(relay: String, name: String?) { (self.relay, self.name) = (relay, name) }

    /// Reads a URI, also as people paste it, see ``Pasted``, or returns `nil`. Unknown parameters are ignored.
    package init?(_ text: String) {
        let text = Pasted.text(text)
        guard Pasted.hasPrefix(text, Self.beginning) else { return nil }
        var parameters: [String: String] = [:]
        for parameter in text.dropFirst(Self.beginning.count).split(separator: "&") {
            let pair = parameter.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, let value = PercentEncoding.decode(pair[1]),
                parameters.updateValue(value, forKey: String(pair[0])) == nil
            else { return nil }
        }
        guard let relay = parameters["relay"] else { return nil }
        self.init(relay: relay, name: parameters["name"])
    }

    /// The text, percent-encoded (RFC 3986 §2).
    package var text: String {
        Self.beginning + "relay=" + PercentEncoding.encode(relay)
            + (name.map { "&name=" + PercentEncoding.encode($0) } ?? "")
    }
}
