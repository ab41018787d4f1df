import Foundation
import TestSupport
import Testing

/// The units for the user's service manager, and the line for cron.
@Suite struct UserUnitTests {
    private static let folder = "share/systemd/user"

    /// systemd itself reads the units and reports nothing. The programs need not be installed.
    @Test(.needs(.systemdAnalyze)) func systemdAcceptsTheUnits() throws {
        let scratch = TemporaryDirectory()
        let names = try Repository.names(in: Self.folder)
        #expect(names == ["sotto-reader.service", "sotto-recv.service"])
        for name in names {
            let unit = try Repository.text("\(Self.folder)/\(name)")
            #expect(unit.contains("LoadCredential=passphrase:%h/.config/sotto/passphrase"))
            let local = unit.replacingOccurrences(of: "/usr/local/bin/sotto-", with: "/bin/true ")
            scratch.write(name, Array(local.utf8))
        }
        let run = try Command(
            path: Peer.systemdAnalyze.path,
            ["--user", "verify", "--man=no"] + names.map { scratch($0) },
            environment: [
                "XDG_RUNTIME_DIR": scratch.path, "HOME": scratch.path, "PATH": "/usr/bin:/bin",
                "LC_ALL": "C",
            ], directory: scratch.path
        ).run()
        #expect(run.stderr.isEmpty && run.text.isEmpty, "\(run.stderr)\(run.text)")
    }

    /// The shell command in a unit gives the passphrase to both programs only if the credential has one.
    @Test(arguments: [("\n", ""), ("secret\n", "--identity-passphrase @FILE:passphrase")])
    func theCredentialIsUsedIfItIsNotEmpty(_ content: String, _ options: String) throws {
        let scratch = TemporaryDirectory()
        scratch.write("passphrase", Array(content.utf8))
        let unit = try Repository.text("\(Self.folder)/sotto-recv.service")
        let line = try #require(
            unit.split(separator: "\n").first { $0.hasPrefix("ExecStart=/bin/sh -c '") })
        let script = line.dropFirst("ExecStart=/bin/sh -c '".count).prefix { $0 != "'" }
            .replacingOccurrences(of: "%d/", with: "")
            .replacingOccurrences(of: "$$", with: "$")
            .replacingOccurrences(of: "/usr/local/bin/sotto-recv", with: "echo recv")
            .replacingOccurrences(
                of: "| /usr/local/bin/sotto-decrypt -q \"$@\" > /dev/null",
                with: "; echo decrypt \"$@\"")
        let run = try Command(
            path: "/bin/sh", ["-c", script, "sotto-recv"],
            environment: ["PATH": "/usr/bin:/bin"], directory: scratch.path
        ).run()
        let end = options.isEmpty ? "" : " " + options
        #expect(
            run.lines == ["recv -q --again" + end, "recv -q --follow" + end, "decrypt" + end],
            "\(run.stderr)")
    }
}
