import Sotto
import SottoContacts
import SottoTool
import SottoWire

/// The code of a pairing: typed, or in a URI that an attacker can photograph.
struct PairingCode {
    /// The beginning of the URI. The code follows.
    static let scheme = "sotto:device?"

    /// Returns whether a text is the URI.
    static func isURI(_ text: String) -> Bool { Pasted.hasPrefix(Pasted.text(text), scheme) }

    /// Reads the code of a URI, or a spoken one.
    static func read(_ secret: borrowing SecretBytes) throws -> (code: HeardCode, isURI: Bool) {
        let text = Pasted.text(secret.withBytes { String(decoding: $0, as: UTF8.self) })
        let isURI = isURI(text)
        let code = isURI ? String(text.dropFirst(scheme.count)) : text
        return (try HeardCode(SecretBytes(copying: code.utf8)), isURI)
    }

    /// Shows a new code as it is spoken, or as a URI and its QR code.
    static func show(_ code: borrowing MeetingCode, _ relay: RelayURL, asURI: Bool) throws {
        let address = relay.meetingAddress
        guard asURI else {
            try Terminal.tell("Type this on machine one: sotto device add CODE --send")
            try Terminal.tell("")
            try Terminal.tell("  \(code.text())")
            if let address {
                try Terminal.tell("  \(code.text(address: address))    from another relay")
            }
            return try Terminal.tell("")
        }
        let uri = scheme + code.text(address: address)
        let drawing = ToolRun("qr", ["-t", "terminal"], input: Array(uri.utf8))
        for line in String(decoding: try drawing.output(), as: UTF8.self).split(separator: "\n") {
            try Terminal.tell(String(line))
        }
        try Terminal.tell(uri)
        try Terminal.tell("")
    }
}

/// The number that both machines show before a pairing by URI goes on. An attacker who read the code has another number.
struct Comparison {
    /// The 60 digits.
    let digits: String

    /// Shows the number under a line of text.
    func show(_ text: String) throws {
        try Terminal.tell(text)
        try Terminal.tell("")
        try Terminal.tell("  " + Fingerprint.grouped(String(digits.prefix(30))))
        try Terminal.tell("  " + Fingerprint.grouped(String(digits.suffix(30))))
        try Terminal.tell("")
    }

    /// Asks on the terminal. What was typed before the question does not count. Throws a failure with status 14 for another answer
    /// than yes.
    func ask() throws {
        let question = "Type yes if both machines show this number: "
        guard try Terminal.confirms(question, forgetsTyped: true) else {
            throw Failure(
                .mismatch, "the numbers were not confirmed; nothing was added",
                hint:
                    "begin again with a new code: sotto device request --name NAME --relay URL --uri --send"
            )
        }
    }
}

extension MeetingTable {
    /// Returns the result of `body`. If it fails, the pairing is ended on both sides.
    func pairing<T: ~Copyable>(_ body: () throws -> T) throws -> T {
        try endingIfFailed {
            do {
                return try body()
            } catch MeetingError.share, MeetingError.proof, MeetingError.order {
                // A message of `sotto meet` is of another person too.
                throw Failure.pairing(ended: true)
            }
        }
    }
}

extension Failure {
    /// The failure of a pairing that ended, or `nil` if `recv` has said why.
    static func pairing(ended byOther: Bool, isHalfway: Bool = false) -> Failure {
        guard byOther || isHalfway else { return Failure(.no, "") }
        return Failure(
            byOther ? .mismatch : .no,
            isHalfway
                ? "the other machine did not finish; this machine is no device"
                : "the pairing was ended: the codes differ, another person tried, or the other side refused",
            hint:
                "begin again with a new code on the new machine: sotto device request --name NAME --relay URL --send"
        )
    }
}
