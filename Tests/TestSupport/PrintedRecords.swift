import Glibc

/// Collects the records that the programs print in the file that the environment variable SOTTO_RECORDS names.
/// `make check` then validates them against share/schema.
enum PrintedRecords {
    private static let file: Int32? = environment("SOTTO_RECORDS").map {
        open($0, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    }

    /// The programs that print the bytes of others, which need not be records: those of a relay and of a QR code.
    private static let others: Set<String> = ["recv", "qr"]

    /// The number of lines at the beginning and at the end of an output that are collected.
    private static let count = 16

    /// Collects complete lines of the output of `command` that begin as a record.
    static func collect(_ output: [UInt8], of command: Command) {
        guard let file, command.path.hasPrefix(Programs.directory + "/"),
            !others.contains(String(command.path.split(separator: "/").last ?? ""))
        else { return }
        let start = Array(#"{"v":1,"type":""#.utf8)
        let end = output.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        let lines = output[..<end].split(separator: UInt8(ascii: "\n"))
            .filter { $0.starts(with: start) }
        let chosen =
            lines.count > 2 * count ? lines.prefix(count) + lines.suffix(count) : lines[...]
        let bytes = chosen.flatMap { $0 + [UInt8(ascii: "\n")] }
        // One write for all lines keeps them whole beside those of other processes.
        let written = bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
        precondition(written == bytes.count, "SOTTO_RECORDS cannot be written")
    }
}
