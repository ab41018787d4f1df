import Dispatch
import Glibc
import Sotto
import SottoWire
import Synchronization
import TestHarness

extension Row {
    /// Clients race for prekeys while the relay is killed.
    static let preKeyRace = Row(
        name: "prekey-race",
        fault: "clients race for one-time prekeys, with kills of the relay",
        goal: "each key one owner, a retry gets the same"
    ) { scale in
        let race = scale.pick(
            small: PreKeyRace(claimants: 8, keys: 200, kills: 1),
            full: PreKeyRace(claimants: 32, keys: 10_000, kills: 80))
        guard let figures = race.run() else { return .broken("no relay") }
        return Outcome(
            race.keys,
            "\(race.claimants) clients, \(race.kills + 1) kills, \(figures.handedOut) keys handed "
                + "out, \(figures.wrongOwners) without one owner, \(figures.otherAnswers) of "
                + "\(figures.retries) retries got another"
                + (figures.endsWithoutKey ? "" : ", and the end is wrong"),
            isGood: figures.handedOut == race.keys && figures.wrongOwners == 0
                && figures.otherAnswers == 0 && figures.endsWithoutKey)
    }

    /// Forged logins over lines and over HTTP.
    static let forgedLogins = Row(
        name: "forged-logins",
        fault: "login replayed, nonce reused, signature for another relay", goal: "refused"
    ) { scale in
        let rounds = scale.pick(small: 5, full: 500)
        guard let subject = RelayUnderTest() else { return .broken("no relay") }
        let address = subject.address
        let seen = Mutex((tried: [(what: String, isRefused: Bool)](), genuine: 0))
        // The relay answers a refused login over HTTP after a second, so a round takes three.
        let clients = DispatchGroup()
        for client in 0..<Self.forgers {
            DispatchQueue(label: "forger").async(group: clients) {
                for _ in stride(from: client, to: rounds, by: Self.forgers) {
                    let bob = Sample.identity()
                    let tried = Self.forgeries(bob, address).map { what, answer in
                        (what, answer == Response.error(Refusal(.loginFailed)))
                    }
                    let isSession = RawClient(address).login(bob)?.isSession == true
                    seen.withLock {
                        $0.tried += tried
                        $0.genuine += isSession ? 1 : 0
                    }
                }
            }
        }
        clients.wait()
        subject.relay.end()
        let (tried, genuine) = seen.withLock { $0 }
        let accepted = tried.filter { !$0.isRefused }
        return Outcome(
            tried.count,
            accepted.isEmpty
                ? "all refused, and \(genuine) of \(rounds) genuine ones accepted"
                : "not refused: \(Set(accepted.map(\.what)).sorted().joined(separator: ", "))",
            isGood: accepted.isEmpty && genuine == rounds && !tried.isEmpty)
    }

    /// The number of clients that forge logins at once.
    private static let forgers = 20

    /// Returns the answers to logins with an owner's signature that is not valid for this nonce and relay.
    private static func forgeries(
        _ bob: Identity, _ address: String
    ) -> [(what: String, answer: Response?)] {
        typealias Ask = (Request) -> Response?
        /// Returns the nonce and a name of the relay from a challenge.
        func challenge(_ ask: Ask) -> (nonce: [UInt8], name: String)? {
            guard case .challenge(let nonce, let names)? = ask(.challenge), let name = names.first
            else { return nil }
            return (nonce, name)
        }
        func login(_ nonce: [UInt8], _ name: String) -> Request {
            .login(Login(key: bob.signingKey, nonce: nonce, relay: name))
        }
        var answers: [(String, Response?)] = []
        for way in ["lines", "HTTP"] {
            func connection() -> Ask {
                guard way == "lines" else { return { HTTPFrame.ask($0, address) } }
                let client = RawClient(address)
                return { client.ask($0) }
            }
            let ask = connection()
            guard let first = challenge(ask) else { return [("no challenge", nil)] }
            let genuine = login(first.nonce, first.name)
            guard ask(genuine)?.isSession == true else { return [("no session", nil)] }
            answers.append(("replayed over \(way)", connection()(genuine)))
            answers.append(("nonce reused over \(way)", ask(login(first.nonce, first.name))))
            let elsewhere = connection()
            guard let second = challenge(elsewhere) else { return [("no challenge", nil)] }
            answers.append(
                (
                    "signature for another relay over \(way)",
                    elsewhere(login(second.nonce, "elsewhere.example:7667"))
                ))
            let later = connection()
            guard challenge(later) != nil else { return [("no challenge", nil)] }
            answers.append(
                ("unknown nonce over \(way)", later(login(randomBytes(32), first.name))))
        }
        return answers
    }
}

/// Sends frames over HTTP, each on a new connection.
enum HTTPFrame {
    static func ask(_ request: Request, _ address: String) -> Response? {
        guard let client = RawClient(reaching: address) else { return nil }
        let body = request.line(requestID: "0").dropLast()
        client.send(
            Array(
                ("POST /api/frames HTTP/1.1\r\nHost: \(address)\r\nConnection: close\r\n"
                    + "Content-Length: \(body.count)\r\n\r\n").utf8) + body)
        while let line = client.line(), line != "\r" {}
        return client.response()
    }
}
