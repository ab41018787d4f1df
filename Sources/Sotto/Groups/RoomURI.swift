/// The address of a room: `sotto:room?relay=…&name=…`, with `&phrase=…` only if the phrase is public. sotto-formats(5),
/// ROOMS.
package struct RoomURI: Sendable, Equatable {
    /// The address of the relay with the record of the room.
    package let relay: String
    /// The name of the room, or `nil`.
    package let name: String?

    /// The phrase of a room that everybody may enter, or `nil`. It is not empty.
    package let phrase: String?

    private static let beginning = "sotto:room?"

    package init(relay: String, name: String?, phrase: String? = nil) {
        (self.relay, self.name, self.phrase) = (relay, name, phrase)
    }

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
        guard let relay = parameters["relay"], parameters["phrase"]?.isEmpty != true else {
            return nil
        }
        self.init(relay: relay, name: parameters["name"], phrase: parameters["phrase"])
    }

    /// The text, percent-encoded (RFC 3986 §2).
    package var text: String {
        Self.beginning + "relay=" + PercentEncoding.encode(relay)
            + (name.map { "&name=" + PercentEncoding.encode($0) } ?? "")
            + (phrase.map { "&phrase=" + PercentEncoding.encode($0) } ?? "")
    }
}
