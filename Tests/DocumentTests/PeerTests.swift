import Foundation
import TestSupport
import Testing

@Suite("Peers") struct PeerTests {
    @Test("skip a test if one is missing, and fail it if all are required")
    func missing() throws {
        let missing = Peer("none", path: "none", isInstalled: false)
        #expect(try Peer.arePresent([.bash], required: true))
        #expect(try !Peer.arePresent([.bash, missing], required: false))
        #expect(throws: Peer.Missing.self) {
            try Peer.arePresent([.bash, missing], required: true)
        }
    }

    /// A test that looks for a program itself could return early, and would be shown as passed.
    @Test("are looked for in one place")
    func onePlace() throws {
        let folder = Repository.url("Tests").path
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder)
        where path.hasSuffix(".swift") && !path.hasPrefix("TestSupport/Peer.swift") {
            let text = try Repository.text("Tests/" + path)
            for call in ["Programs" + ".find", "isExecutable" + "File", "SOTTO_" + "PEERS"] {
                #expect(!text.contains(call), "\(path): \(call)")
            }
        }
    }
}
