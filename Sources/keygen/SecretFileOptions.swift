import Arguments
import SottoTool

/// The output file of a secret. It is never overwritten.
struct SecretFileOptions: ArgumentGroup {
    @Option(
        "-o", "--output", value: "file",
        help: "File to create, mode 0600; an existing file is not overwritten. Default: stdout.")
    var path: String?

    /// Opens the output before any other work, so that an existing file is reported first. With `secret`, other users
    /// cannot read it.
    func open(_ content: Output.Content = .text, secret: Bool = true, quiet: Bool = false) throws
        -> Output
    {
        let output = try Output(path: path, content: content, replacing: false)
        if secret { output.keepPrivate(tool: KeygenTool.toolName, quiet: quiet) }
        return output
    }
}
