import ArgumentParser
import Sotto
import SottoTool

struct LoginKeyCommand: Program {
    static let configuration = CommandConfiguration(
        commandName: "login-key",
        abstract: "Make the RSA key with which Kecalek's clients log in, or print its public half.",
        usage: """
            keygen login-key [--bits N] [--password SOURCE | --unprotected] -o PEM
            keygen login-key --public PEM [--password SOURCE]
            """)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Length of the key: 2048, 3072 or 4096 bits.", valueName: "n"))
    var bits = RSALoginKey.Size.bits3072.rawValue

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "File to make, mode 0600; it is never overwritten. Default: stdout.",
            valueName: "file"))
    var output: String?

    @OptionGroup var password: PasswordOptions

    @Flag(help: "Write the key without a password.")
    var unprotected = false

    @Option(
        name: .customLong("public"),
        help: ArgumentHelp("Print the public half of the key in this file.", valueName: "file"),
        completion: .file())
    var publicHalf: String?

    func validate() throws {
        guard RSALoginKey.Size(rawValue: bits) != nil else {
            throw ValidationError("--bits is 2048, 3072 or 4096")
        }
        guard !unprotected || password.password == nil else {
            throw ValidationError("--unprotected and --password exclude each other")
        }
        guard publicHalf == nil || output == nil && !unprotected else {
            throw ValidationError("--public goes without -o and --unprotected")
        }
    }

    func execute() throws {
        if let publicHalf {
            let key = try KeyFile.loginKey(at: publicHalf, password.password)
            let output = try Output(path: "-", content: .text)
            try output.writeText(key.publicPEM())
            return try output.finish()
        }
        let output = try Output(path: output, content: .text, replacing: false)
        output.keepPrivate(tool: KeygenTool.toolName)
        guard let size = RSALoginKey.Size(rawValue: bits) else { return }
        let pem: String
        if unprotected {
            pem = RSALoginKey(size: size).pem()
        } else {
            let password = try newSecret("password", password.password)
            pem = RSALoginKey(size: size).pem(password: password)
        }
        try output.write(Array(pem.utf8))
        try output.finish()
    }
}
