import Sotto
import SottoDatabase

/// Makes lines of JSON from packed records of form 1 (``PackedRecord``) in a conversation with one peer. The JSON inside
/// the record is copied, not parsed.
struct PackedLine: Sendable {
    private let own: [UInt8]
    private let peer: [UInt8]
    private let ownName: [UInt8]?
    private let peerName: [UInt8]?
    private let ownTrust: [UInt8]
    private let peerTrust: [UInt8]
    private static let suites = PackedRecord.suites.map { Array($0.utf8) }
    private static let trusts = PackedRecord.trusts.map { Array($0.utf8) }

    /// The columns of a row that become members.
    struct Known {
        let number: Int64
        let isSent: Bool
        let state: Int64
        let time: Int64?
        let expires: Int64?
        let place: Int64

        /// Reads a row of ``StoredMessage/columns``.
        init(_ row: PreparedStatement<StateError>) {
            number = row.integer(0)
            isSent = row.integer(3) == HistoryEntry.Direction.sent.rawValue
            state = row.integer(5)
            time = row.isNull(6) ? nil : row.integer(6)
            expires = row.isNull(8) ? nil : row.integer(8)
            place = row.integer(9)
        }
    }

    init(
        _ owner: KeyID, _ me: HistoryLines.Person, _ peer: KeyID,
        _ they: HistoryLines.Person
    ) {
        own = Array(owner.description.utf8)
        self.peer = Array(peer.description.utf8)
        ownName = me.name.map { JSON.string($0).serialized() }
        peerName = they.name.map { JSON.string($0).serialized() }
        ownTrust = Array(me.trust.rawValue.utf8)
        peerTrust = Array(they.trust.rawValue.utf8)
    }

    /// Appends the line of a packed record. Returns `false`, and appends nothing, if the record has another form.
    func append(
        _ packed: UnsafeRawBufferPointer, _ known: Known, to out: inout [UInt8],
        _ clock: inout TimeText
    ) -> Bool {
        guard packed.count >= 25, packed[0] == 1 else { return false }
        let (flags, suite) = (packed[1], Int(packed[2]))
        let hasTime = flags & PackedRecord.hasTime != 0
        let (from, to, trust) = (flags & 3, flags >> 2 & 3, Int(flags >> 5 & 3))
        guard from != 3, to != 3, trust < 3, suite >= 1, suite <= Self.suites.count,
            var rest = Rest(packed[(hasTime ? 23 : 19)...])
        else { return false }
        let name = rest.take("name")
        // A time that is no whole second is in the JSON.
        guard !rest.begins(with: "time") else { return false }
        let legacy = rest.take("legacy")

        let isFromPeer = from == 2
        let isAuthored = known.isSent || from != 0
        let presentName = known.isSent || !isFromPeer ? ownName : peerName
        out += "{\"v\":1,\"type\":\"message\",\"id\":\"".utf8
        UUIDText.append(UnsafeRawBufferPointer(rebasing: packed[3..<19]), to: &out)
        out.append(UInt8(ascii: "\""))
        if from != 0 { Self.append("from", isFromPeer ? peer : own, to: &out) }
        if let name {
            if let shown = isAuthored ? presentName : Array(name) {
                out += ",\"name\":".utf8
                out += shown
            }
        }
        if to != 0 { Self.append("to", to == 2 ? peer : own, to: &out) }
        if hasTime {
            let time = packed.loadUnaligned(fromByteOffset: 19, as: UInt32.self).bigEndian
            Self.append("time", Int64(time), to: &out, &clock)
        }
        Self.append("suite", Self.suites[suite - 1], to: &out)
        out += (flags & 0x10 != 0 ? ",\"authenticated\":true" : ",\"authenticated\":false").utf8
        if let legacy {
            out += ",\"legacy\":".utf8
            out += legacy
        }
        let presentTrust = known.isSent || !isFromPeer ? ownTrust : peerTrust
        Self.append("trust", isAuthored ? presentTrust : Self.trusts[trust], to: &out)
        if !rest.isEmpty {
            out.append(UInt8(ascii: ","))
            out += rest.bytes
        }
        if name == nil, isAuthored, let presentName {
            out += ",\"name\":".utf8
            out += presentName
        }
        append(known, to: &out, &clock)
        return true
    }

    /// Appends the members that the row gives, and the end of the line.
    private func append(_ known: Known, to out: inout [UInt8], _ clock: inout TimeText) {
        out += ",\"number\":".utf8
        out += String(known.number).utf8
        out += (known.isSent ? ",\"direction\":\"sent\"" : ",\"direction\":\"received\"").utf8
        if let time = known.time { Self.append("received", time, to: &out, &clock) }
        let place = HistoryPlace.seconds(known.place)
        if place != known.time ?? 0 { Self.append("place", place, to: &out, &clock) }
        if let expires = known.expires { Self.append("expires", expires, to: &out, &clock) }
        if known.isSent, let status = HistoryEntry.State(rawValue: known.state)?.status {
            Self.append("status", Array(status.utf8), to: &out)
        }
        out += "}\n".utf8
    }

    private static func append(_ name: StaticString, _ value: [UInt8], to out: inout [UInt8]) {
        append(name, to: &out)
        out += value
        out.append(UInt8(ascii: "\""))
    }

    private static func append(
        _ name: StaticString, _ seconds: Int64, to out: inout [UInt8], _ clock: inout TimeText
    ) {
        append(name, to: &out)
        clock.append(seconds, to: &out)
        out.append(UInt8(ascii: "\""))
    }

    /// Appends the name of a member and the beginning of a string.
    private static func append(_ name: StaticString, to out: inout [UInt8]) {
        out += ",\"".utf8
        name.withUTF8Buffer { out += $0 }
        out += "\":\"".utf8
    }

}

/// The members of a serialized object, without its braces.
private struct Rest {
    private(set) var bytes: Slice<UnsafeRawBufferPointer>

    /// Returns `nil` unless `json` is an object as ``JSONObject/serialized()`` writes it.
    init?(_ json: Slice<UnsafeRawBufferPointer>) {
        guard json.count >= 2, json.first == UInt8(ascii: "{"), json.last == UInt8(ascii: "}")
        else {
            return nil
        }
        bytes = json.dropFirst().dropLast()
    }

    var isEmpty: Bool { bytes.isEmpty }

    /// Returns whether the first member has this name.
    func begins(with name: StaticString) -> Bool {
        let count = name.utf8CodeUnitCount
        let start = bytes.startIndex
        guard bytes.count >= count + 3, bytes[start] == UInt8(ascii: "\""),
            bytes[start + count + 1] == UInt8(ascii: "\"")
        else { return false }
        return name.withUTF8Buffer { bytes[(start + 1)...(start + count)].elementsEqual($0) }
    }

    /// Removes the first member if it has this name and is a string. Returns the string as it is in the JSON.
    mutating func take(_ name: StaticString) -> Slice<UnsafeRawBufferPointer>? {
        guard begins(with: name) else { return nil }
        let first = bytes.startIndex + name.utf8CodeUnitCount + 3
        guard first < bytes.endIndex, bytes[first] == UInt8(ascii: "\"") else { return nil }
        var end = first + 1
        while end < bytes.endIndex, bytes[end] != UInt8(ascii: "\"") {
            end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard end < bytes.endIndex else { return nil }
        let value = bytes[first...end]
        bytes = bytes[(end + 1)...]
        if bytes.first == UInt8(ascii: ",") { bytes = bytes.dropFirst() }
        return value
    }
}
