import Glibc
public import Sotto

/// The file of a chat, as `keygen chat` makes it.
public enum ChatFile {
    private static let limit = 1 << 16

    /// Reads a chat file, after checking that nobody else can.
    public static func read(_ path: String) throws -> Chat {
        var status = stat()
        if path != "-", stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_mode & 0o077 != 0
        {
            throw Failure(
                .permission, "others can read the chat \(path)", hint: "chmod 600 \(path)")
        }
        var text = try Input(path: path).readAll(limit: limit)
        defer { wipe(&text) }
        return try Chat(record: try JSON.object(parsing: text))
    }
}
