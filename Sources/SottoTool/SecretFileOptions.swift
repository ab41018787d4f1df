public import Arguments

/// The output file of a secret. It is never overwritten.
public struct SecretFileOptions: ArgumentGroup {
    /// The file to create.
    @Option(
        "-o", "--output", value: "file",
        help: "File to create, mode 0600; an existing file is not overwritten. Default: stdout.")
    public var path: String?

    /// Creates the options with none given.
    public init() {}

    /// Opens the output before any other work, so that an existing file is reported first. With `secret`, other users
    /// cannot read it. `tool` is the name in messages.
    public func open(
        _ content: Output.Content = .text, tool: String, secret: Bool = true, quiet: Bool = false
    ) throws -> Output {
        let output = try Output(path: path, content: content, replacing: false)
        if secret { output.keepPrivate(tool: tool, quiet: quiet) }
        return output
    }
}
