import Glibc
import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

extension HintTests {
    /// The warning of a file that its relay deletes soon.
    static let fileHints: [HintCase] = [
        HintCase(
            "sotto save… …",
            situation: { world in
                try world.startRelay()
                try world.publish("alice", "bob")
                try world.addBob()
                mkdir(world.home.files("sent"), 0o755)
                world.home.files.write("sent/picture.txt", Array("sunset\n".utf8))
                for (person, line) in [
                    (
                        "bob",
                        "sotto encrypt -q --to alice.card --attach sent/picture.txt < /dev/null | sotto send -q"
                    ), ("alice", "sotto recv | sotto decrypt -q > /dev/null"),
                ] {
                    let run = try world.paste(line, as: person)
                    #expect(run.status == 0, "\(run.stderr)")
                }
                try world.makeOlder(by: 6 * 86_400)
                return try world.run("recv", [])
            },
            result: { (world, _) throws in
                #expect(try world.home.files.read("picture.txt") == Array("sunset\n".utf8))
                #expect(try world.run("history", ["--expiring"]).status == 1)
            })
    ]
}

extension HintWorld {
    /// Makes the messages in Alice's history older by some seconds.
    func makeOlder(by seconds: Int64) throws {
        let state = try DurableDatabase(
            path: home.files("state-alice/\(id("alice")).db"),
            migrations: [], lockTimeout: 20)
        try state.use { (connection: StateConnection) throws(StateError) in
            try connection.run("UPDATE message SET time = time - ?", seconds)
        }
        try state.close()
    }
}
