import Foundation
import TestSupport

/// The content of a person's state, which is put back into the same files like a snapshot of a file system: nothing shows it.
struct StateSnapshot {
    private static let suffixes = ["", "-wal", "-shm"]

    private let contents: [String: Data]

    init(of party: Party) throws {
        var contents: [String: Data] = [:]
        for suffix in Self.suffixes.dropLast() {
            let path = party.home.files(party.database) + suffix
            guard FileManager.default.fileExists(atPath: path) else { continue }
            contents[suffix] = try Data(contentsOf: URL(fileURLWithPath: path))
        }
        self.contents = contents
    }

    /// Puts the content back. No program may use the state.
    func putBack(to party: Party) throws {
        for suffix in Self.suffixes {
            let path = party.home.files(party.database) + suffix
            guard let content = contents[suffix] else {
                try? FileManager.default.removeItem(atPath: path)
                continue
            }
            guard let file = FileHandle(forWritingAtPath: path) else {
                try content.write(to: URL(fileURLWithPath: path))
                continue
            }
            try file.truncate(atOffset: 0)
            try file.write(contentsOf: content)
            try file.close()
        }
    }
}
