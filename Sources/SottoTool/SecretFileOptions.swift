public import Arguments
import SottoBytes

/// The output file of a secret. It is never overwritten.
public struct SecretFileOptions: ArgumentGroup {
    /// The file to create.
    @Option(
        "-o", "--output", value: "file",
        help:
            "File to create, mode 0600; an existing file is not overwritten. `-` is stdout, the default for what is not secret."
    )
    public var path: String?

    /// Creates the options with none given.
    public init() {}

    /// Opens the output before any other work, so that an existing file is reported first. With `secret`, other users
    /// cannot read it, and it must be named. `tool` is the name in messages.
    public func open(
        _ content: Output.Content = .text, tool: String, secret: Bool = true, quiet: Bool = false
    ) throws -> Output {
        if secret, path == nil { throw Failure.unnamedSecret }
        let output = try Output(path: path, content: content, replacing: false)
        if secret { output.keepPrivate(tool: tool, quiet: quiet) }
        return output
    }
}

extension Failure {
    /// The failure if no output is named for a secret, which could end in a log or on a screen.
    static let unnamedSecret = Failure(
        .usage, "a secret is written only to an output that is named",
        hint: "name a file with -o FILE, or standard output with -o -")
}
