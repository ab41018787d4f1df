import Sotto
import SottoClient
import SottoContacts
import SottoMessages
import SottoState
import SottoTool
import SottoWire

/// `recv --card`: prints the card from the directory for an id, or for the id of a contact or card, after the successions of the
/// id; or the revocation in place of the card.
struct CardRequest {
    /// An id, a card or the name of a contact.
    let owner: String
    let identity: IdentityChoice
    let lockTimeout: Double
    let relay: AskedRelay

    func run() throws {
        let id =
            try KeyID(owner)
            ?? AddressBook(identity.load, lockTimeout: lockTimeout).find(owner, for: .reading).id
        let relay = try relay.find(for: identity)
        var records: [JSONObject] = []
        do throws(ClientError) {
            records = [try CardLookup(id).run(at: relay).record].compactMap(\.self)
        } catch {
            // A switch over the error in place of patterns: the compiler of 6.3.1 ends with those.
            switch error {
            case .revoked(let revocation): records = [revocation.record]
            case .noCard: records = try SuccessionLookup(id).run(at: relay).map(\.record)
            default: break
            }
            guard !records.isEmpty else { throw error }
        }
        if records.first?["type"]?.string == "contact" {
            // A relay that does not answer could also withhold them.
            let successions = try? SuccessionLookup(id).run(at: relay, timeout: 5)
            records = (successions ?? []).map(\.record) + records
        }
        let output = try Output(path: nil, content: .text)
        for record in records { try output.writeLine(record) }
        try output.finish()
    }
}

/// `recv --card-of`: prints the cards from the directory with the id of an account in another messenger.
struct CardsRequest {
    let account: String
    let identity: IdentityChoice
    let relay: AskedRelay

    func run() throws {
        let cards = try CardSearch(account).run(at: relay.find(for: identity))
        let output = try Output(path: nil, content: .text)
        for card in cards { if let record = card.record { try output.writeLine(record) } }
        try output.finish()
    }
}

/// `recv --room`: prints the record of a room from the directory.
struct RoomRequest {
    let door: KeyID
    let identity: IdentityChoice
    let relay: AskedRelay
    let quiet: Bool

    func run() throws {
        let relay = try relay.find(for: identity)
        let record: JSONObject
        do throws(ClientError) {
            record = try RoomLookup(door).run(at: relay)
        } catch {
            if quiet, case .noRoom = error { throw Failure(.no, "") }
            throw error
        }
        let output = try Output(path: nil, content: .text)
        try output.writeLine(record)
        try output.finish()
    }
}

/// `recv --turn`: prints credentials for the relay's TURN servers.
struct TurnRequestCommand {
    let identity: IdentityChoice
    let relay: AskedRelay
    let quiet: Bool

    func run() throws {
        // A wrong address is reported before the passphrase prompt.
        let given = try relay.given()
        let identity = try identity.load()
        let relay = try given ?? relay.find(fallback: identity.relay)
        let credentials: TurnCredentials
        do throws(ClientError) {
            credentials = try TurnRequest(.identity(identity)).run(at: relay)
        } catch {
            if quiet, case .noTurn = error { throw Failure(.no, "") }
            throw error
        }
        let output = try Output(path: nil, content: .text)
        try output.writeLine(credentials.record(at: .now()))
        try output.finish()
    }
}
