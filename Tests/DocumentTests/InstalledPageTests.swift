import Foundation
import TestSupport
import Testing

/// The pages that `make install` writes.
struct InstalledPageTests {
    private static let places = [
        "/usr/local/share/sotto", "/usr/local/libexec", "/usr/local/bin:", "/usr/local/bin ,",
    ]

    /// An installation elsewhere has pages that name its own places.
    @Test func installedPagesNameThePlacesOfTheInstallation() throws {
        let scratch = TemporaryDirectory()
        let run = try Command(
            path: "/bin/sh",
            [
                "-c", "exec make -s install-pages PREFIX=/opt/sotto DESTDIR=\"$1\"", "sh",
                scratch.path,
            ],
            environment: ["PATH": "/usr/bin:/bin"], directory: Repository.root.path
        ).run()
        #expect(run.status == 0 && run.stderr.isEmpty, "\(run.stderr)")
        for source in try Repository.names(in: "man") {
            let name = source.hasPrefix("sotto") ? source : "sotto-" + source
            let folder = "opt/sotto/share/man/man\(source.suffix(1))"
            let page = String(decoding: try scratch.read("\(folder)/\(name)"), as: UTF8.self)
            #expect(!Self.places.contains { page.contains($0) }, "\(source)")
            let text = try Repository.text("man/\(source)")
            #expect(page.count(where: \.isNewline) == text.count(where: \.isNewline), "\(source)")
        }
        let cookbook = "opt/sotto/share/man/man7/sotto-cookbook.7"
        let page = String(decoding: try scratch.read(cookbook), as: UTF8.self)
        #expect(page.contains("PATH=/opt/sotto/share/sotto/examples:/opt/sotto/bin:/usr/bin:/bin"))
    }
}
