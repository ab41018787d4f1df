import Foundation
import Testing

/// Checks the layers of the architecture: each target imports only targets of lower layers (Package.swift, DESIGN.md).
struct LayerTests {
    /// The layers of our modules; a target with a lower-case name is a program, on layer 4.
    static let layers = [
        "CSodium": 0, "COpenSSL": 0, "CUTF8Proc": 0, "CBotan": 0, "CSQLite": 0, "CQREncode": 0,
        "CZBar": 0,
        "CPNG": 0, "CJPEG": 0, "CMagic": 0, "CSndFile": 0, "CLinux": 0,
        "CPostgres": 0, "CKeyutils": 0, "CSeccomp": 0, "CSottoJPEG": 0, "CSottoSandbox": 0,
        "CWordlists": 0, "CConfusables": 0,
        "SottoBytes": 1, "SottoPadding": 1, "Sotto": 1, "SottoDatabase": 1, "Arguments": 1,
        "SottoProgram": 2, "SottoTool": 2, "SottoWire": 2, "SottoQR": 2, "SottoState": 2,
        "SottoNetwork": 2, "SottoOpenSSL": 2, "SottoMedia": 2,
        "SottoClient": 3, "SottoServer": 3, "SottoContacts": 3, "SottoScan": 3,
        "SottoMessages": 3, "SottoMessengers": 3, "SottoChat": 3,
    ]

    /// The targets of one layer that are built on each other: each may import those before it.
    static let orders = [
        ["SottoBytes", "SottoPadding", "Sotto"], ["SottoBytes", "SottoDatabase"],
        ["SottoProgram", "SottoTool"],
        ["SottoContacts", "SottoMessages"], ["SottoContacts", "SottoMessengers"],
    ]

    /// The targets that may import an external implementation.
    static let owners: [(module: String, targets: Set<String>)] = [
        ("CSodium", ["Sotto", "SottoBytes", "SottoMessengers", "SottoPadding", "SottoQR"]),
        ("COpenSSL", ["SottoOpenSSL"]), ("CUTF8Proc", ["Sotto", "SottoChat"]),
        ("CWordlists", ["Sotto", "SottoBytes"]), ("CConfusables", ["Sotto"]),
        ("CKeyutils", ["SottoTool"]), ("CBotan", ["decrypt"]),
        ("Crypto", ["Sotto", "SottoMessengers", "SottoServer"]),
        ("CryptoExtras", ["Sotto", "SottoMessengers"]),
        ("CQREncode", ["SottoQR"]), ("CPNG", ["SottoQR", "SottoScan"]),
        ("CZBar", ["SottoScan"]), ("CMagic", ["SottoScan"]), ("CSndFile", ["SottoScan"]),
        ("CLinux", ["SottoProgram", "SottoServer", "SottoState"]),
        ("CJPEG", []), ("CSottoJPEG", ["SottoScan"]),
        ("CSeccomp", []), ("CSottoSandbox", ["qr-scan"]), ("CPostgres", ["SottoServer"]),
        ("CSQLite", ["SottoDatabase"]), ("X509", ["SottoServer"]),
        ("SwiftASN1", ["Sotto", "SottoMessengers", "SottoServer"]),
    ]

    /// The system's modules, which any layer may import.
    static let system: Set<String> = [
        "Glibc", "FoundationEssentials", "Foundation", "Synchronization", "Dispatch", "Swift",
    ]

    struct Import: CustomStringConvertible {
        let target: String
        let module: String
        let place: String
        var description: String { "\(place): \(target) imports \(module)" }
        var isProgram: Bool { LayerTests.isProgram(target) }
    }

    static func isProgram(_ target: String) -> Bool { target.first?.isLowercase == true }

    static func layer(of name: String) -> Int? { layers[name] ?? (isProgram(name) ? 4 : nil) }

    static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources")

    /// Every Swift file in Sources, with its path there and its lines.
    static let files: [(path: String, lines: [String])] = {
        let walk = FileManager.default.enumerator(atPath: sources.path)
        return (walk?.allObjects as? [String] ?? []).filter { $0.hasSuffix(".swift") }.sorted()
            .map { path in
                let text = try? String(
                    contentsOf: sources.appendingPathComponent(path), encoding: .utf8)
                return (path, (text ?? "").components(separatedBy: "\n"))
            }
    }()

    static let imports: [Import] = files.flatMap { path, lines in
        lines.enumerated().compactMap { number, line -> Import? in
            var words = line.split(separator: " ").map(String.init)
            while let first = words.first,
                first.hasPrefix("@")
                    || ["public", "package", "internal", "fileprivate", "private"].contains(first)
            {
                words.removeFirst()
            }
            guard words.first == "import", words.count > 1 else { return nil }
            words.removeFirst()
            if ["struct", "class", "enum", "func", "var", "let", "protocol"].contains(words[0]) {
                words.removeFirst()
            }
            let module = String(words[0].split(separator: ".")[0])
            return Import(
                target: String(path.split(separator: "/")[0]), module: module,
                place: "Sources/\(path):\(number + 1)")
        }
    }

    @Test func theSourcesWereFound() {
        #expect(Self.files.count > 50)
        #expect(Self.imports.contains { $0.target == "Sotto" && $0.module == "CSodium" })
        #expect(Self.imports.contains { $0.target == "decrypt" && $0.module == "SottoState" })
    }

    @Test func everyTargetHasALayer() {
        for target in Set(Self.imports.map(\.target)) {
            #expect(Self.layer(of: target) != nil, "add the layer of \(target) to LayerTests")
        }
    }

    @Test func eachLayerImportsOnlyLowerOnes() {
        for item in Self.imports {
            guard let own = Self.layer(of: item.target), let other = Self.layer(of: item.module)
            else { continue }
            let isOrdered = Self.orders.contains { order in
                guard let place = order.firstIndex(of: item.target) else { return false }
                return order[..<place].contains(item.module)
            }
            #expect(other < own || isOrdered, "\(item)")
        }
    }

    /// `pad`, `qr` and `sotto` link no cryptography beyond random bytes and a hash.
    @Test func theCoreStaysOutOfPlainPrograms() {
        for item in Self.imports where ["Sotto", "SottoTool"].contains(item.module) {
            #expect(
                !["pad", "qr", "qr-scan", "sotto", "SottoQR", "SottoScan"].contains(item.target),
                "\(item)")
        }
    }

    /// A program with the core reports the core's errors.
    @Test func programsWithTheCoreReportItsErrors() {
        for (path, lines) in Self.files {
            guard let main = lines.firstIndex(of: "@main"), lines.contains("import SottoTool")
            else {
                continue
            }
            #expect(lines[main + 1].contains(": CoreProgram"), "Sources/\(path)")
        }
    }

    /// The pictures of the layers in DESIGN.md and Package.swift have the same modules.
    @Test(arguments: ["DESIGN.md", "Package.swift"]) func thePictureShowsTheLayers(_ file: String)
        throws
    {
        let root = Self.sources.deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent(file), encoding: .utf8)
        let indent = file == "DESIGN.md" ? "    " : "//   "
        var shown: [String: Int] = [:]
        var layer: Int?
        for line in text.components(separatedBy: "\n") {
            guard line.hasPrefix(indent) else {
                if layer != nil { break }
                continue
            }
            layer = line.dropFirst(indent.count).first?.wholeNumberValue ?? layer
            guard let layer else { continue }
            for word in line.split(whereSeparator: { !$0.isLetter && !$0.isNumber }) {
                let name = String(word)
                if Self.layers[name] != nil, shown[name] == nil { shown[name] = layer }
            }
        }
        #expect(shown == Self.layers)
    }

    /// The folders of the large targets in DESIGN.md are those of the sources.
    @Test func theFoldersAreShown() throws {
        let root = Self.sources.deletingLastPathComponent()
        let design = try String(
            contentsOf: root.appendingPathComponent("DESIGN.md"), encoding: .utf8)
        let lines = design.components(separatedBy: "\n").map {
            $0.split(separator: " ").map(String.init)
        }
        for target in ["SottoState", "SottoServer", "SottoMessages", "SottoChat"] {
            let folders = Set(
                Self.files.filter { $0.path.hasPrefix(target + "/") }
                    .map { $0.path.split(separator: "/") }.filter { $0.count > 2 }
                    .map { String($0[1]) })
            #expect(
                lines.contains { $0.first == target && Set($0.dropFirst()) == folders }, "\(target)"
            )
        }
    }

    @Test func onlyTheOwnersImportAnImplementation() {
        for item in Self.imports {
            guard let owner = Self.owners.first(where: { $0.module == item.module }) else {
                continue
            }
            #expect(owner.targets.contains(item.target), "\(item)")
        }
    }

    @Test func onlyTheNetworkTargetsImportNIO() {
        for item in Self.imports where item.module.hasPrefix("NIO") {
            #expect(
                ["SottoClient", "SottoServer", "SottoNetwork"].contains(item.target), "\(item)")
        }
    }

    /// The libraries that decode pictures of unknown origin run only in the restricted process.
    @Test func onlyTheRestrictedProgramReadsPictures() {
        for item in Self.imports where item.module == "SottoScan" {
            #expect(item.target == "qr-scan", "\(item)")
        }
        for item in Self.imports where item.target == "qr-scan" {
            #expect(
                [
                    "CSottoSandbox", "Glibc", "SottoBytes", "SottoMedia", "SottoQR", "SottoScan",
                ].contains(item.module), "\(item)")
        }
    }

    /// A program that links OpenSSL is four megabytes larger.
    @Test func onlyProgramsForLongFilesLinkOpenSSL() {
        for item in Self.imports where item.module == "SottoOpenSSL" {
            #expect(["bridge", "encrypt", "decrypt"].contains(item.target), "\(item)")
        }
    }

    @Test func onlyTheCommandLineImportsTheArguments() {
        for item in Self.imports where item.module == "Arguments" {
            #expect(
                ["SottoProgram", "SottoTool", "SottoContacts", "SottoMessages"].contains(
                    item.target)
                    || item.isProgram, "\(item)")
        }
    }

    /// The other tools, the relay, the address book and the core know none of the messengers.
    @Test func onlyTheBridgeAndTheContactsImportTheMessengers() {
        for item in Self.imports where item.module == "SottoMessengers" {
            #expect(["bridge", "contact"].contains(item.target), "\(item)")
        }
    }

    /// Messengers are a plug-in: no name and no comment of another target names one. One messenger's protocol is spoken
    /// by the relay and its clients; only its codec names it.
    @Test func onlyThePlugInNamesAMessenger() {
        let names = [
            "kecalek", "shainy", "whisper", "mercurio", "message flow", "messageflow",
            "message-flow",
        ]
        let owners = ["SottoMessengers/", "bridge/", "contact/", "SottoWire/FlowWire.swift"]
        for (path, lines) in Self.files where !owners.contains(where: path.hasPrefix) {
            for (number, line) in lines.enumerated() {
                let line = line.lowercased()
                #expect(!names.contains(where: line.contains), "Sources/\(path):\(number + 1)")
            }
        }
    }

    @Test func argumentsImportsOnlyTheSystem() {
        for item in Self.imports where item.target == "Arguments" {
            #expect(item.module == "Glibc", "\(item)")
        }
    }

    @Test func sottoToolImportsOnlyTheCoreAndArguments() {
        for item in Self.imports where item.target == "SottoTool" {
            #expect(
                ["SottoBytes", "Sotto", "SottoProgram", "Arguments", "CKeyutils", "Glibc"]
                    .contains(item.module),
                "\(item)")
        }
        for item in Self.imports where item.target == "SottoProgram" {
            #expect(
                ["SottoBytes", "SottoPadding", "Arguments", "CLinux", "Glibc", "Synchronization"]
                    .contains(item.module), "\(item)")
        }
    }

    @Test func theCoreImportsNoFilesSocketsOrArguments() {
        let core = ["SottoBytes", "SottoPadding", "Sotto"]
        for item in Self.imports where core.contains(item.target) {
            #expect(
                [
                    "SottoBytes", "SottoPadding", "CSodium", "CWordlists", "CConfusables",
                    "CUTF8Proc", "Crypto", "CryptoExtras", "SwiftASN1",
                    "FoundationEssentials", "Foundation",
                    "Glibc", "Swift", "Synchronization",
                ]
                .contains(item.module), "\(item)")
        }
        let forbidden = ["open(", "fopen(", "socket(", "read(", "write(2", "print(", "getenv("]
        for (path, lines) in Self.files where core.contains(where: { path.hasPrefix($0 + "/") }) {
            for (number, line) in lines.enumerated()
            where !line.trimmingCharacters(in: .whitespaces).hasPrefix("//") {
                for call in forbidden
                where line.contains("Glibc." + call) || line.contains(" print(") {
                    Issue.record("Sources/\(path):\(number + 1): \(call)")
                }
            }
        }
    }

    /// The state of the chat is a value: the loop in `chat` has all I/O.
    @Test func theStateOfTheChatDoesNothingItself() {
        for item in Self.imports where item.target == "SottoChat" {
            #expect(
                [
                    "CUTF8Proc", "Sotto", "SottoBytes", "SottoMedia", "SottoProgram",
                    "Synchronization",
                ].contains(item.module), "\(item)")
        }
        for item in Self.imports where item.target == "chat" {
            #expect(
                ["Arguments", "Glibc", "Sotto", "SottoBytes", "SottoChat", "SottoProgram"]
                    .contains(item.module), "\(item)")
        }
    }

    @Test func everyModuleIsKnown() {
        let known = Self.system.union(Self.owners.map(\.module))
        for item in Self.imports {
            #expect(
                known.contains(item.module) || Self.layer(of: item.module) != nil
                    || item.module.hasPrefix("NIO"),
                "\(item): add the targets that may import it to LayerTests")
        }
    }

    @Test func foundationIsImportedOnlyWhereItsEssentialsAreMissing() {
        for (path, lines) in Self.files {
            for (number, line) in lines.enumerated() {
                let text = line.trimmingCharacters(in: .whitespaces)
                guard text == "import Foundation" || text.hasSuffix(" import Foundation") else {
                    continue
                }
                let before = lines[..<number].suffix(3).map {
                    $0.trimmingCharacters(in: .whitespaces)
                }
                #expect(
                    before.first == "#if canImport(FoundationEssentials)" && before.last == "#else",
                    "Sources/\(path):\(number + 1)")
            }
        }
    }

    @Test func everyFolderOfSourcesIsATarget() throws {
        let manifest = try String(
            contentsOf: Self.sources.deletingLastPathComponent()
                .appendingPathComponent("Package.swift"), encoding: .utf8
        ).filter { !$0.isWhitespace }
        for folder in try FileManager.default.contentsOfDirectory(atPath: Self.sources.path) {
            #expect(
                manifest.contains("name:\"\(folder)\"")
                    || manifest.contains("rogram(\"\(folder)\""),
                "Sources/\(folder) is not a target")
        }
    }

    /// The names in a directory are written to disk by one function, whose error each caller reports.
    @Test func directoriesAreSynchronizedInOnePlace() {
        for (path, lines) in Self.files where path != "SottoBytes/SystemFiles.swift" {
            for (number, line) in lines.enumerated() {
                let isOpened = line.contains("open(") && line.contains("O_DIRECTORY")
                let isIgnored =
                    line.contains("synchronizeDirectory(") && !line.contains("let code = ")
                #expect(!isOpened && !isIgnored, "Sources/\(path):\(number + 1)")
            }
        }
    }

    /// Processes start, folders are read and files are synchronized in one place each.
    @Test(
        arguments: [
            ("posix_spawn(", "SottoProgram/ProgramStart.swift"),
            ("posix_spawnp(", "SottoProgram/ProgramStart.swift"),
            ("opendir(", "SottoBytes/SystemFiles.swift"),
            ("fsync(", "SottoBytes/SystemFiles.swift"),
            ("pwrite(", "SottoBytes/SystemFiles.swift"),
        ])
    func systemCallsAreInOnePlace(_ call: String, _ place: String) {
        let files = Self.files.filter { $0.lines.contains { $0.contains(call) } }.map(\.path)
        #expect(files == [place])
    }

    /// One call links the regular expression engine into a program, which makes each start slower.
    @Test func nothingNeedsRegularExpressions() throws {
        let calls = [
            "firstRange(of:", ".replacing(", ".ranges(of:", ".trimmingPrefix(", "Regex",
            ".firstMatch(",
            ".wholeMatch(",
        ]
        for (path, lines) in Self.files {
            for (number, line) in lines.enumerated() {
                for call in calls {
                    #expect(!line.contains(call), "\(path):\(number + 1): \(call)")
                }
            }
        }
    }
}
