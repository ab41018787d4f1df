import Foundation
import Testing

/// Checks that the manual pages and the systemd unit agree on the paths of a relay's files.
@Suite struct ServicePathTests {
    /// Returns the state directory in the unit, such as `/var/lib/sotto-relay`.
    static func stateDirectory() throws -> String {
        let unit = try Repository.text("share/systemd/sotto-relay.service")
        let line = try #require(
            unit.split(separator: "\n").first { $0.hasPrefix("StateDirectory=") })
        return "/var/lib/" + line.dropFirst("StateDirectory=".count)
    }

    @Test(arguments: ["man/relay.8", "man/sotto-relay.7"])
    func thePagesNameTheDirectoryOfTheUnit(_ page: String) throws {
        let directory = try Self.stateDirectory()
        let paths = try Repository.text(page).matches(
            of: #/\/var\/lib\/[A-Za-z0-9_.\/-]*[A-Za-z0-9]/#
        )
        .map { String($0.output) }
        #expect(!paths.isEmpty)
        for path in paths {
            #expect(path == directory || path.hasPrefix(directory + "/"), "\(page): \(path)")
        }
    }

    @Test func theUnitKeepsTheStoreWhereThePagesSay() throws {
        let unit = try Repository.text("share/systemd/sotto-relay.service")
        #expect(unit.contains("--store %S/sotto-relay/relay.db"))
        let store = try Self.stateDirectory() + "/relay.db"
        for page in ["man/relay.8", "man/sotto-relay.7"] {
            #expect(try Repository.text(page).contains(store), "\(page)")
        }
    }
}
