import Arguments
import Sotto
import SottoTool

struct AnswerCommand: Program {
    static let configuration = CommandConfiguration(
        name: "answer",
        abstract: "Answer a messenger server's challenge: exactly 32 bytes on stdin.",
        usage: """
            keygen answer whisper2 [FILE] < CHALLENGE
            keygen answer kecalek --key PEM [--password SOURCE] < CHALLENGE
            """,
        discussion: """
            The challenge is raw, or a line of base64 (44 characters) or hexadecimal (64). The answer is base64. \
            Any other length is refused: by signing longer texts, a server could obtain signed messages.
            """)

    enum Messenger: String, ExpressibleByArgument, CaseIterable {
        case whisper2, kecalek
    }

    @Option("--key", value: "file", help: "The RSA key for Kecalek's login, a PEM file.")
    var key: String?

    @OptionGroup var password: PasswordOptions

    @OptionGroup var identity: IdentityOptions

    @Argument("messenger", help: "The messenger: whisper2 or kecalek.")
    var messenger: Messenger

    @Argument("file", help: "Identity file, for whisper2. Default: as -i.")
    var file: String?

    func validate() throws {
        switch messenger {
        case .whisper2:
            guard key == nil && password.password == nil else {
                throw UsageError("--key and --password are only for kecalek")
            }
        case .kecalek:
            guard key != nil else {
                throw UsageError("kecalek requires --key, the RSA key for the login")
            }
            guard file == nil, !identity.isGiven else {
                throw UsageError("kecalek takes no identity: use --key for the login key")
            }
        }
    }

    func execute() throws {
        let challenge = try readChallenge()
        let answer: [UInt8]
        if let key {
            answer = try KeyFile.loginKey(at: key, password.password).answer(to: challenge)
        } else {
            answer = try load(identity, file).whisper2Keys().answer(challenge: challenge)
        }
        let output = try Output(path: "-", content: .text)
        try output.writeText(Base64.standard.encode(answer) + "\n")
        try output.finish()
    }

    /// The maximum input length in bytes: the text forms of 32 bytes are shorter.
    private static let limit = 4096

    private func readChallenge() throws -> [UInt8] {
        let input = try Input(path: nil)
        let bytes = try input.readAll(limit: Self.limit)
        guard bytes.count != Whisper2Keys.challengeSize else { return bytes }
        var line = bytes[...]
        if line.last == UInt8(ascii: "\n") { line.removeLast() }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        let text = String(decoding: line, as: UTF8.self)
        let written =
            switch line.count {
            case 44: Base64.standard.decode(text)
            case 64: Sotto.bytes(hex: text)
            default: [UInt8]?.none
            }
        if let written, written.count == Whisper2Keys.challengeSize { return written }
        return bytes
    }
}

struct WorkCommand: Program {
    static let configuration = CommandConfiguration(
        name: "work",
        abstract:
            "Compute the counter for a server's proof of work; the challenge is on stdin.",
        usage: "keygen work --bits N < CHALLENGE",
        discussion: """
            Prints the smallest counter for which SHA-256 of the challenge and the 8-byte counter begins with N zero \
            bits. The challenge is not decoded and has at most 1024 bytes.
            """)

    @Option(
        "--bits", value: "n", help: "Zero bits, 0 to 32; 32 bits take about an hour.", values: .any)
    var bits: Int

    private static let limit = 1024

    func execute() throws {
        guard (0...ProofOfWork.limit).contains(bits) else {
            throw ProofOfWorkError.difficulty(limit: ProofOfWork.limit)
        }
        let challenge = try Input(path: nil).readAll(limit: Self.limit)
        let counter = try ProofOfWork.solve(challenge, bits: bits)
        let output = try Output(path: "-", content: .text)
        try output.writeText("\(counter)\n")
        try output.finish()
    }
}
