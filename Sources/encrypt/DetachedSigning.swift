import Glibc
import Sotto
import SottoTool

/// Signs the input in minisign's format, in a separate file; the input is not encrypted.
struct DetachedSigning {
    let identity: IdentityChoice
    /// The comment; `nil` for the default.
    let trustedComment: String?
    let file: String?
    let output: String?
    let quiet: Bool

    func run() throws {
        let input = try Input(path: file)
        let signer = try identity.load()
        let output = try Output(path: output, content: .text, inputs: [input])
        let hash = MinisignHash()
        try copy(
            from: input, to: hash,
            progress: Progress(tool: EncryptTool.toolName, quiet: quiet || input.isTerminal))
        hash.finish()
        let signature = try MinisignSignature(
            hash: hash.value, trustedComment: trustedComment ?? defaultComment,
            by: signer.signingKey)
        try output.write(Array(signature.text.utf8))
        try output.finish()
    }

    /// The default comment of minisign: the time in seconds, and the file's name if it is printable.
    private var defaultComment: String {
        let timestamp = "timestamp:\(time(nil))"
        guard let path = file, path != "-", let name = path.split(separator: "/").last,
            name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else { return timestamp + "\thashed" }
        return timestamp + "\tfile:\(name)\thashed"
    }
}
