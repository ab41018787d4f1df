import Arguments
import SottoTool

/// Where a file with a secret goes, which is never overwritten.
struct SecretFileOptions: ArgumentGroup {
    @Option(
        "-o", "--output", value: "file",
        help: "File to make, mode 0600; it is never overwritten. Default: stdout.")
    var path: String?

    /// Opens it before anything is made, so that an existing file is found first. What is `secret` is kept private.
    func open(_ content: Output.Content = .text, secret: Bool = true, quiet: Bool = false) throws
        -> Output
    {
        let output = try Output(path: path, content: content, replacing: false)
        if secret { output.keepPrivate(tool: KeygenTool.toolName, quiet: quiet) }
        return output
    }
}
