import Glibc
import Sotto
import SottoDatabase
import SottoWire
import TestHarness

extension Row {
    /// The clock is set while the relay runs.
    static let movedClock = Row(
        name: "moved-clock",
        fault: "clock moved by a day, forward and back, while running and at a start",
        goal: "nothing expires early"
    ) { scale in
        guard let shim = Shim.shared else { return .broken("the shim does not compile") }
        var figures: [String] = []
        var isGood = true
        for shift in [86_400, -86_400] {
            let scratch = TemporaryDirectory()
            let clock = scratch("shift")
            // The relay keeps everything for a day.
            guard
                var subject = RelayUnderTest(
                    scratch, options: ["--ttl", "1d"],
                    environment: shim.environment(["FAULT_CLOCK": clock]))
            else { return .broken("no relay") }
            let bob = Sample.identity()
            let kept = StoredItems(bob, subject.address)
            scratch.write("shift", Array("\(shift)".utf8))
            var lost = kept?.opens == true ? [] : ["nonce"]
            // The relay uses the time in its store every minute.
            if scale == .full { sleep(70) }
            lost += kept?.lost(subject.address) ?? ["all"]
            isGood = isGood && lost.isEmpty
            figures.append(
                "\(shift > 0 ? "+" : "−")1 day: "
                    + (lost.isEmpty ? "nothing expired" : lost.joined(separator: ", ") + " expired")
            )
            // A relay that starts with that clock does not accept it either.
            subject.relay.end()
            let environment = shim.environment(["FAULT_CLOCK": clock])
            guard subject.restart(environment: environment) else { return .broken("no start") }
            let isThere = StoredItems.mail(of: bob, subject.address)?.isEmpty == false
            subject.relay.end()
            // It accepts the clock after the operator's confirmation: then the mail expires.
            let accepts = ChildProcess.run(
                "relay",
                [
                    "check", "--listen", "127.0.0.1:0", "--store", scratch("relay.db"),
                    "--accept-clock",
                ], environment: environment)
            guard accepts == 0, subject.restart(environment: environment) else {
                return .broken("the clock is not accepted")
            }
            let isTooOld = StoredItems.mail(of: bob, subject.address)?.isEmpty == true
            isGood = isGood && isThere && isTooOld == (shift > 0)
            subject.relay.end()
        }
        return Outcome(2, figures.joined(separator: "; "), isGood: isGood)
    }
}

/// Items at a relay that could expire.
private struct StoredItems {
    private let bob: Identity
    private let id: String
    private let claim: String
    private let bundle: PreKeyBundle
    private let token: String
    private let waiting: RawClient
    private let nonce: [UInt8]
    private let name: String

    /// Stores an envelope, a claim, a token and a nonce at a relay.
    init?(_ bob: Identity, _ address: String) {
        let client = RawClient(address)
        let envelope = Sample.envelope(to: bob.id)
        guard client.publish(Sample.preKeys(of: bob, oneTime: 1..<3)) == .stored,
            client.ask(.send(envelope)) == .stored,
            case .session(_, let token?, _) = client.login(bob)
        else { return nil }
        claim = Envelope.newID()
        guard let bundle = client.claim(bob.id, claim) else { return nil }
        waiting = RawClient(address)
        guard case .challenge(let nonce, let names) = waiting.ask(.challenge),
            let name = names.first
        else { return nil }
        (self.bob, self.bundle, self.token, self.nonce) = (bob, bundle, token, nonce)
        (self.name, id) = (name, envelope.id)
    }

    /// Returns the items that the relay no longer has.
    func lost(_ address: String) -> [String] {
        var lost: [String] = []
        if Self.mail(of: bob, address) != [id] { lost.append("envelope") }
        let client = RawClient(address)
        if client.claim(bob.id, claim) != bundle { lost.append("claim") }
        if client.ask(.resume(token: token))?.isSession != true { lost.append("session") }
        if client.ask(.send(Sample.envelope(id, to: bob.id))) != .duplicate { lost.append("id") }
        return lost
    }

    /// Whether a nonce that was issued before still opens the mailbox.
    var opens: Bool {
        waiting.ask(.login(Login(key: bob.signingKey, nonce: nonce, relay: name)))?.isSession
            == true
    }

    /// Returns the ids of an owner's mail.
    static func mail(of owner: Identity, _ address: String) -> [String]? {
        let client = RawClient(address)
        guard client.login(owner)?.isSession == true,
            case .messages(let page, _) = client.ask(.fetch(max: 10, after: 0, dead: false))
        else { return nil }
        return page.map { Sample.id(String(decoding: $0.envelope, as: UTF8.self)) }
    }
}
