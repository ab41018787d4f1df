import Glibc
public import Sotto

/// A file with the keys of a chat, as created by `keygen chat` or `bridge chat`.
public enum ChatFile {
    private static let limit = 1 << 20

    /// Reads a chat after checking that other users cannot read it. `-` is stdin.
    ///
    /// Throws a failure with status 77 for a file that other users can read, and ``ChatError``.
    public static func read(_ path: String) throws -> Chat { try Chat(record: record(path)) }

    /// Reads the secret record of a chat file, like ``read(_:)``.
    public static func record(_ path: String) throws -> JSONObject {
        var status = stat()
        if path != "-", stat(path, &status) != 0 {
            throw Failure(
                Failure.meaning(of: errno).0,
                "cannot read the chat \(path): \(Failure.text(of: errno))",
                hint: errno == ENOENT ? "create it: sotto keygen chat -o \(shellWord(path))" : nil)
        }
        if path != "-", status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 {
            throw Failure(
                .permission, "other users can read the chat \(path)",
                hint: "chmod 600 \(shellWord(path))")
        }
        var text = try Input(path: path).readText(limit: limit)
        defer { wipe(&text) }
        return try JSON.object(parsing: text)
    }
}
