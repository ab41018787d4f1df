import Arguments
import Sotto
import SottoTool

/// A validated command line of `fingerprint`.
enum FingerprintPlan {
    case show(NumberDisplay)
    case check(NumberCheck)

    /// Checks the options. Throws ``UsageError``, and a failure with status 64.
    init(_ tool: FingerprintTool) throws {
        guard (tool.key == nil) == (tool.user == nil),
            (tool.withKey == nil) == (tool.withUser == nil)
        else { throw UsageError("a raw key requires a user id") }
        guard tool.key == nil || tool.cards.isEmpty, tool.withKey == nil || tool.other == nil
        else { throw UsageError("use a card or a raw key, not both") }
        guard tool.cards.count(where: { $0 == "-" }) < 2 else {
            throw UsageError("stdin can be only one of the cards")
        }
        if tool.key != nil, tool.other == nil {
            for option in ["-i", "--identity-passphrase"] {
                try tool.given.refuse(option, with: "raw keys alone")
            }
        }
        let keys = ComparedKeys(
            own: try Self.own(tool), other: try Self.other(tool), style: tool.style,
            identity: tool.identity.choice)
        if let number = tool.check {
            guard !tool.cards.contains("-") || number != "-" else {
                throw UsageError("stdin can be the card or the number, not both")
            }
            guard tool.cards.count < 2 else { throw UsageError("--check accepts only one card") }
            self = .check(
                NumberCheck(keys: keys, number: number, isJSON: tool.json, quiet: tool.quiet))
        } else {
            self = .show(NumberDisplay(keys: keys, form: try Self.form(tool)))
        }
    }

    func run() throws {
        switch self {
        case .show(let display): try display.run()
        case .check(let check): try check.run()
        }
    }

    private static func form(_ tool: FingerprintTool) throws -> NumberDisplay.Form {
        guard tool.json else {
            return .text(words: tool.words, randomart: tool.randomart, qr: tool.qr)
        }
        for option in ["--randomart", "--qr"] { try tool.given.refuse(option, with: "--json") }
        return .record(words: tool.words)
    }

    private static func own(_ tool: FingerprintTool) throws -> ComparedKeys.Own {
        if let key = tool.key, let user = tool.user {
            return .raw(try raw(key, user, tool.style))
        }
        return tool.cards.isEmpty ? .identity : .cards(tool.cards)
    }

    private static func other(_ tool: FingerprintTool) throws -> ComparedKeys.Other? {
        if let key = tool.withKey, let user = tool.withUser {
            return .raw(try raw(key, user, tool.style))
        }
        return tool.other.map { .card($0) }
    }

    private static func raw(
        _ text: String, _ user: String, _ style: Fingerprint.Style
    ) throws(Failure) -> Fingerprint {
        let size = style == .signal ? 33 : 32
        guard let key = bytes(hex: text), key.count == size else {
            throw Failure(
                .usage, "a raw key of style \(style.rawValue) must be \(size) bytes in hexadecimal")
        }
        return Fingerprint(userID: user, key: key)
    }
}
