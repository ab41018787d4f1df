import Glibc
import TestSupport

/// The time at which a program is killed, adapted so that most programs are hit, early and late, however busy the
/// machine is.
struct KillMoment {
    private var lifetime = 20_000.0

    /// Microseconds after the start.
    func next(_ random: inout Generator) -> UInt32 {
        UInt32(Double.random(in: 0..<lifetime, using: &random))
    }

    mutating func learn(wasKilled: Bool) { lifetime *= wasKilled ? 1.05 : 0.9 }

    /// Runs a program and kills it at a random moment.
    static func kill(
        _ command: Command, _ stdin: [UInt8], _ moment: inout KillMoment, _ random: inout Generator
    ) throws -> Run {
        let pipeline = try Pipeline([command])
        try pipeline.feed(.whole(stdin))
        pipeline.endInput()
        usleep(moment.next(&random))
        pipeline.signal(SIGKILL)
        let run = try pipeline.finish()[0]
        moment.learn(wasKilled: run.wasKilled == SIGKILL)
        return run
    }
}
