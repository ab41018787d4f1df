import Glibc
import Sotto
import SottoTool

/// Signs the input in minisign's format, in a separate file; the input is not encrypted.
struct DetachedSigning {
    let tool: EncryptTool
    let input: Input

    func run() throws {
        let signer = try tool.identity.load()
        let output = try Output(path: tool.output, content: .text, inputs: [input])
        let hash = MinisignHash()
        try copy(
            from: input, to: hash,
            progress: Progress(
                tool: EncryptTool.toolName, quiet: tool.quiet || input.isTerminal))
        hash.finish()
        let signature = try MinisignSignature(
            hash: hash.value, trustedComment: tool.trustedComment ?? defaultComment,
            by: signer.signingKey)
        try output.write(Array(signature.text.utf8))
        try output.finish()
    }

    /// The default comment of minisign: the time in seconds, and the file's name if it is printable.
    private var defaultComment: String {
        let timestamp = "timestamp:\(time(nil))"
        guard let path = tool.file, path != "-", let name = path.split(separator: "/").last,
            name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else { return timestamp + "\thashed" }
        return timestamp + "\tfile:\(name)\thashed"
    }
}
