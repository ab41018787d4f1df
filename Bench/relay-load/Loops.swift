import NIOCore
import SottoDatabase

/// A closed loop: one send for each answer, with `inFlight` sends on each connection. It measures the highest rate.
///
/// Its times are those of a relay that is never idle. Used only on its event loop, which makes `@unchecked Sendable`
/// safe.
final class ClosedLoop: @unchecked Sendable {
    private let inFlight: Int
    private let seconds: Double
    private var times: [Double] = []

    init(inFlight: Int, seconds: Int) {
        self.inFlight = inFlight
        self.seconds = Double(seconds)
    }

    func run(_ pool: Pool) throws -> Measurement {
        let done = pool.loop.makePromise(of: Void.self)
        pool.loop.execute {
            let end = Monotonic.seconds() + self.seconds
            for connection in pool.connections {
                connection.onStored = { [unowned connection] times in
                    let now = Monotonic.seconds()
                    guard now < end else { return done.succeed() }
                    self.times += times
                    connection.send(from: [Double](repeating: now, count: times.count))
                }
                let now = Monotonic.seconds()
                connection.send(from: [Double](repeating: now, count: self.inFlight))
            }
        }
        try done.futureResult.wait()
        return Measurement(times: times, seconds: seconds)
    }
}

/// An open loop: sends at fixed times, without waiting for answers, over all connections in turn.
///
/// The time of a send counts from when it was due, even if the previous one delayed it: no delay of a client is left
/// out. Used only on its event loop, which makes `@unchecked Sendable` safe.
final class OpenLoop: @unchecked Sendable {
    private let rate: Double
    private let seconds: Double
    private var sent = 0
    private var times: [Double] = []

    /// Creates a loop of `rate` sends in a second over all connections.
    init(rate: Int, seconds: Int) {
        self.rate = Double(rate)
        self.seconds = Double(seconds)
    }

    func run(_ pool: Pool) throws -> Measurement {
        let done = pool.loop.makePromise(of: Void.self)
        pool.loop.execute {
            let start = Monotonic.seconds()
            let total = Int(self.rate * self.seconds)
            for connection in pool.connections {
                connection.onStored = { times in
                    self.times += times
                    if self.times.count == total { done.succeed() }
                }
            }
            let beat = TimeAmount.microseconds(500)
            pool.loop.scheduleRepeatedTask(initialDelay: beat, delay: beat) { task in
                let due = min(total, Int((Monotonic.seconds() - start) * self.rate))
                for number in self.sent..<due {
                    let place = number % pool.connections.count
                    pool.connections[place].send(from: [start + Double(number) / self.rate])
                }
                self.sent = due
                if due == total { task.cancel() }
            }
        }
        try done.futureResult.wait()
        return Measurement(times: times, seconds: seconds)
    }
}
