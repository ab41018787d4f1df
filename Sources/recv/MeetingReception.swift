import Glibc
import Sotto
import SottoClient
import SottoTool
import SottoWire

/// `recv --meeting`: makes or joins the place of a meeting, and prints what arrives there for `contact meet`.
struct MeetingReception {
    private let place: MeetingWatch.Place
    /// The addresses of the relay that the argument names, or `nil` for the user's relay.
    private let named: [RelayURL]?
    private let identity: IdentityChoice
    private let relay: AskedRelay
    private let quiet: Bool

    /// Reads `new`, `NUMBER` or `NUMBER@HOST:PORT`. Throws a usage failure for any other text.
    init(_ text: String, identity: IdentityChoice, relay: AskedRelay, quiet: Bool) throws(Failure) {
        (self.identity, self.relay, self.quiet) = (identity, relay, quiet)
        let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        if text == "new" {
            place = .new
        } else if let number = Int64(parts[0]), MeetingCode.numbers.contains(number) {
            place = .number(number)
        } else {
            throw Failure(
                .usage, "--meeting needs new, a number, or a number and a relay",
                hint: "the number is the beginning of the code: sotto recv --meeting 417")
        }
        guard parts.count > 1, relay.url == nil else {
            named = nil
            return
        }
        do throws(RelayAddressError) {
            named = try MeetingWatch.relays(
                host: String(parts[1]), authorities: relay.authorities)
        } catch {
            guard case .invalid = error else { throw error.failure }
            throw Failure(.usage, "\(parts[1]) is not the host, or the host and port, of a relay")
        }
    }

    func run() throws {
        let output = try Output(path: nil, content: .text)
        let watch = MeetingWatch(place, at: try relays()) { [quiet] notice in
            if !quiet { Self.say(notice) }
        }
        try watch.run(while: Self.hasReader) { record in
            try output.writeLine(record.record)
        }
        guard Self.hasReader() else { throw Failure(.closedPipe, "") }
        try output.finish()
    }

    private func relays() throws -> [RelayURL] {
        try named ?? [relay.find(for: identity)]
    }

    private static func say(_ notice: MeetingWatch.Notice) {
        switch notice {
        case .unchecked(let relay):
            Terminal.note(
                "the certificate of \(relay) cannot be checked; the code protects the meeting")
        case .unencrypted(let relay):
            Terminal.note("\(relay) is not encrypted by TLS; the code protects the meeting")
        case .lost(let relay):
            Terminal.note("the connection to \(relay) was lost; trying again")
        }
    }

    /// Whether a program still reads the standard output.
    private static func hasReader() -> Bool {
        var state = pollfd(fd: 1, events: 0, revents: 0)
        return poll(&state, 1, 0) <= 0 || state.revents & Int16(POLLERR) == 0
    }
}
