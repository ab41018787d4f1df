import Foundation
import Testing

/// Checks the order of the core's folders: code uses only declarations of its own folder and of those before it.
struct FolderTests {
    /// The folders of the target `Sotto`, from those that need nothing to those that need the others.
    static let order = [
        "Encoding", "Secrets", "Keys", "Chunks", "SignedStream", "Age", "Blobs", "Minisign",
        "Identity",
        "Fingerprint", "Records", "Bodies", "Ratchet", "Groups", "Suites", "Meeting",
    ]

    struct File {
        let path: String
        let folder: String
        /// The names that are declared at the top level.
        let declared: Set<String>
        /// The names that are declared at any level.
        let own: Set<String>
        /// All identifiers.
        let used: Set<String>
    }

    static let files: [File] = LayerTests.files.compactMap { path, lines in
        let parts = path.split(separator: "/").map(String.init)
        guard parts.count == 3, parts[0] == "Sotto" else { return nil }
        var (declared, own, used): (Set<String>, Set<String>, Set<String>) = ([], [], [])
        for line in lines {
            let words = identifiers(in: line)
            used.formUnion(words)
            for (keyword, name) in zip(words, words.dropFirst()) where keywords.contains(keyword) {
                own.insert(name)
                if line.first != " " { declared.insert(name) }
            }
        }
        return File(path: path, folder: parts[1], declared: declared, own: own, used: used)
    }

    private static let keywords: Set<String> = [
        "struct", "class", "enum", "protocol", "typealias", "func", "let", "var", "case",
        "associatedtype",
    ]

    /// Returns the identifiers of a line of code, without comments and the text of string literals.
    static func identifiers(in line: String) -> [String] {
        var code = ""
        var isText = false
        var characters = line.makeIterator()
        while let character = characters.next() {
            if isText, character == "\\" {
                _ = characters.next()
                continue
            }
            if character == "\"" { isText.toggle() }
            code.append(isText || character == "\"" ? " " : character)
        }
        code = code.components(separatedBy: "//")[0]
        // A type of swift-crypto has the name of one here.
        code = code.replacingOccurrences(of: "Curve25519.KeyAgreement", with: "Curve25519")
        return code.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init)
    }

    @Test func everyFolderHasAPlace() {
        #expect(Set(Self.files.map(\.folder)) == Set(Self.order))
    }

    @Test func theDesignShowsTheOrder() throws {
        let design = try String(
            contentsOf: LayerTests.sources.deletingLastPathComponent()
                .appendingPathComponent("DESIGN.md"), encoding: .utf8)
        #expect(design.contains("\n    " + Self.order.joined(separator: " ← ") + "\n"))
    }

    @Test func foldersUseOnlyThoseBeforeThem() {
        var homes: [String: Set<String>] = [:]
        for file in Self.files {
            for name in file.declared { homes[name, default: []].insert(file.folder) }
        }
        #expect(homes["SecretBytes"] == nil && homes["Card"] == ["Identity"])
        for file in Self.files {
            guard let place = Self.order.firstIndex(of: file.folder) else { continue }
            let folderNames = Self.files.filter { $0.folder == file.folder }
                .reduce(into: Set<String>()) { $0.formUnion($1.own) }
            for name in file.used.subtracting(folderNames) {
                guard let home = homes[name], home.count == 1, let folder = home.first,
                    let other = Self.order.firstIndex(of: folder)
                else { continue }
                #expect(other <= place, "\(file.path) uses \(name) of the folder \(folder)")
            }
        }
    }
}
