import Foundation
package import Testing

/// A program or a package outside of the project that a test needs, for example to compare with.
package struct Peer: Sendable {
    package let name: String
    /// The program, or its name if it is not installed.
    package let path: String
    private let isInstalled: Bool

    /// The first of some programs in `PATH`.
    private init(_ programs: String...) {
        let found = programs.lazy.compactMap(Programs.find).first
        (name, path, isInstalled) = (programs[0], found ?? programs[0], found != nil)
    }

    /// A peer that is not a program in `PATH`.
    package init(_ name: String, path: String, isInstalled: Bool) {
        (self.name, self.path, self.isInstalled) = (name, path, isInstalled)
    }

    private init(_ name: String, file path: String) {
        self.init(name, path: path, isInstalled: FileManager.default.fileExists(atPath: path))
    }

    package static let age = Peer("age")
    package static let ageKeygen = Peer("age-keygen")
    package static let bash = Peer("bash")
    package static let chromium = Peer("chromium", file: "/usr/bin/chromium")
    package static let compiler = Peer("cc", "clang")
    package static let coturn = Peer("turnserver")
    package static let coturnClient = Peer("turnutils_uclient")
    package static let curl = Peer("curl")
    package static let fish = Peer("fish")
    package static let git = Peer("git")
    package static let jq = Peer("jq")
    /// The sources of all locales, and the program localedef.
    package static let locales = Peer("locales", file: "/usr/share/i18n/locales/tr_TR")
    package static let mandoc = Peer("mandoc")
    package static let minisign = Peer("minisign")
    package static let openSSL = Peer("openssl")
    package static let plproxy = Peer(
        "PL/Proxy", path: "", isInstalled: PostgresCluster.hasProxy)
    package static let postgres = Peer(
        "PostgreSQL", path: PostgresCluster.programs ?? "",
        isInstalled: PostgresCluster.programs != nil)
    package static let python = Peer("python3")
    /// The environment that Scripts/peers creates: PyNaCl, cryptography, mnemonic, websockets, jsonschema and Pillow.
    package static let pythonPackages = Peer(".build-peers", file: Peers.python)
    package static let qrencode = Peer("qrencode")
    package static let sshKeygen = Peer("ssh-keygen")
    package static let systemdAnalyze = Peer("systemd-analyze")
    package static let tmux = Peer("tmux")
    /// The texts of Unicode's own test of normalization.
    package static let unicodeData = Peer(
        "unicode-data", file: "/usr/share/unicode/NormalizationTest.txt.bz2")
    package static let unshare = Peer("unshare")
    package static let zbarimg = Peer("zbarimg")
    package static let zsh = Peer("zsh")

    /// Whether all peers must be present, as in .ci/run.
    package static let areRequired = environment("SOTTO_PEERS") != nil

    /// Whether a test with these peers runs. Throws if one is missing although all are required.
    package static func arePresent(_ peers: [Peer], required: Bool) throws(Missing) -> Bool {
        let missing = peers.filter { !$0.isInstalled }.map(\.name)
        if required, !missing.isEmpty { throw Missing(names: missing) }
        return missing.isEmpty
    }

    /// Peers that are required and missing.
    package struct Missing: Error, CustomStringConvertible {
        let names: [String]
        package var description: String {
            "\(names.joined(separator: ", ")) missing: run Scripts/deps and Scripts/peers"
        }
    }
}

extension Trait where Self == ConditionTrait {
    /// Runs a test only with these peers. Without one of them the test is shown as skipped; if `SOTTO_PEERS` is set, it
    /// fails.
    package static func needs(
        _ peers: Peer..., sourceLocation: SourceLocation = #_sourceLocation
    ) -> Self {
        .enabled(
            "needs \(peers.map(\.name).joined(separator: ", "))", sourceLocation: sourceLocation
        ) {
            try Peer.arePresent(peers, required: Peer.areRequired)
        }
    }
}
