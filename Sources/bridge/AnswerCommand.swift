import Arguments
import Sotto
import SottoMessengers
import SottoTool

struct AnswerCommand: Program {
    static let configuration = CommandConfiguration(
        name: "answer",
        abstract: "Answer a messenger server's challenge: exactly 32 bytes on stdin.",
        usage: """
            sotto bridge answer whisper2 [FILE] < CHALLENGE
            sotto bridge answer kecalek --key PEM [--password SOURCE] < CHALLENGE
            """,
        discussion: """
            The challenge is raw, or a line of base64 (44 characters) or hexadecimal (64). The answer is base64. \
            Any other length is refused: by signing longer texts, a server could obtain signed messages.
            """)

    @Option("--key", value: "file", help: "The RSA key for Kecalek's login, a PEM file.")
    var key: String?

    @OptionGroup var password: PasswordOptions

    @OptionGroup var identity: IdentityOptions

    @Argument("messenger", help: "The messenger: whisper2 or kecalek.")
    var messenger: AnswerMode

    @Argument("file", help: "Identity file, for whisper2. Default: as -i.")
    var file: String?

    let given = GivenArguments()

    func checkMode() throws { try given.check(for: messenger) }

    func validate() throws {
        guard messenger != .kecalek || key != nil else {
            throw UsageError("kecalek requires --key, the RSA key for the login")
        }
    }

    func execute() throws {
        let challenge = try readChallenge()
        let answer: [UInt8]
        if let key {
            answer = try KeyFile.loginKey(at: key, password.password).answer(to: challenge)
        } else {
            answer = try identity.load(argument: file).whisper2Keys().answer(challenge: challenge)
        }
        let output = try Output(path: "-", content: .text)
        try output.writeText(Base64.standard.encode(answer) + "\n")
        try output.finish()
    }

    /// The maximum input length in bytes: the text forms of 32 bytes are shorter.
    private static let limit = 4096

    private func readChallenge() throws -> [UInt8] {
        let input = try Input(path: nil)
        let bytes = try input.readText(limit: Self.limit)
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
