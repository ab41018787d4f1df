import CMagic

/// Recognizes the media type of a file by its content, with libmagic and its database.
///
/// The database is read when the value is created, so that it can be used in a restricted process.
public final class FileType {
    private let magic: magic_t?

    /// Debian's database; without it, libmagic searches others.
    private static let database = "/usr/share/misc/magic.mgc"
    /// The checks that would start a program or unpack the file are left out.
    private static let options = MAGIC_MIME_TYPE | MAGIC_NO_CHECK_COMPRESS | MAGIC_NO_CHECK_ELF

    /// Reads the database. Without one no type is recognized.
    public init() {
        guard let magic = magic_open(Self.options) else {
            self.magic = nil
            return
        }
        guard magic_load(magic, Self.database) == 0 || magic_load(magic, nil) == 0 else {
            magic_close(magic)
            self.magic = nil
            return
        }
        self.magic = magic
    }

    /// Returns the media type of a file with these first bytes, or `nil` if it is unknown.
    public func type(of beginning: [UInt8]) -> String? {
        guard let magic, !beginning.isEmpty,
            let text = magic_buffer(magic, beginning, beginning.count)
        else { return nil }
        let type = String(cString: text)
        return type == "application/octet-stream" || type.hasPrefix("inode/") ? nil : type
    }
}
