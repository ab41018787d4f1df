import Sotto
import SottoClient
import SottoState
import SottoTool
import SottoWire

/// Compares the owner's list of devices with that on the card in the directory of the owner's relay, once for each list.
///
/// A recovered machine one gets the list from there, so an older one is replaced. A later one is taken: the state is an earlier one.
struct DirectoryList {
    let store: IdentityStore
    let relay: RelayURL
    let authorities: String?
    let quiet: Bool

    /// Seconds to wait for the card.
    private static let timeout = 10.0

    /// Compares the lists if the present one was not compared before. A relay that does not answer is asked again by the next `recv`.
    func settle() throws {
        let owner = store.owner
        guard let own = owner.relay.flatMap({ try? RelayURL($0) }), own.name == relay.name,
            let number = try store.preview({ try $0.unpublishedList() })
        else { return }
        var published: DeviceList?
        var hasCard = true
        do throws(ClientError) {
            published = try CardLookup(owner.id).run(at: relay, timeout: Self.timeout).devices
        } catch {
            switch error {
            case .noCard: hasCard = false
            default: return
            }
        }
        if let published {
            switch try store.transaction({ try $0.keep(published) }) {
            case .kept:
                note(
                    "the list of your devices on your card at \(relay) is later than that of this state, and was taken; to see it: sotto device list"
                )
                return try settleKnown()
            case .fork:
                note(
                    "the list of your devices on your card at \(relay) is another one with the same number: an attacker can have your words; compare the lists on your machines: sotto device list"
                )
                return
            case .known, .older: break
            }
        }
        // Without a card in the directory the owner did not want one.
        if hasCard, published?.seq ?? 0 < number {
            // The next `recv` looks whether it counts: of two cards of one second a relay keeps either.
            guard try publish() else { return }
            return note(
                "your card at \(relay) had an earlier list of your devices; the present one was sent"
            )
        }
        try settleKnown()
    }

    private func settleKnown() throws {
        try store.transaction { transaction in
            guard let number = try transaction.unpublishedList() else { return }
            try transaction.noteDirectory(list: number)
        }
    }

    /// Sends the card with `send`, which keeps it if the relay cannot be reached. Returns whether the relay has it.
    private func publish() throws -> Bool {
        guard let card = try store.preview({ try $0.ownCard(issued: .now()) }).record else {
            return false
        }
        var send = ToolRun(
            "send", ["--relay", relay.text, "-q"] + (authorities.map { ["--ca", $0] } ?? []),
            input: card.serialized() + [UInt8(ascii: "\n")])
        send.collectsMessages = true
        return try send.run().status == 0
    }

    private func note(_ text: String) { if !quiet { Terminal.say("recv: note: \(text)") } }
}
