import Sotto
import SottoContacts
import SottoState
import SottoTool

/// A group that gets messages, and the routes to its members.
struct GroupRoute {
    let id: GroupID
    /// The place of the last change of the group that the routes know.
    let last: Int64
    /// The members with a route, without the owner.
    let destinations: [SessionID: Destination]
}

extension RecipientDirectory {
    /// Returns the routes to the members of a group, by its name or id. Begins sessions with members whose bundles are here.
    ///
    /// A member without a route is reported and left out. The routes are found again after a change of the group, which another
    /// program can store while this one runs.
    func group(_ name: String) throws -> GroupRoute {
        guard let store else {
            throw Failure(.usage, "a group requires the state directory", hint: "omit --stateless")
        }
        try store.takeGroupFiles()
        if let known = groups[name],
            try store.preview({ try $0.lastPlace(of: known.id) }) == known.last
        {
            return known
        }
        let group = try book.requiredGroup(name)
        guard group.standing == .member else { throw GroupError.notMember }
        let (notes, last) = try store.preview {
            (try $0.notes(of: group), try $0.lastPlace(of: group.id))
        }
        let contacts = Dictionary(
            try store.contacts().map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let relays = group.state.policy.relays(and: try book.identity().relay)
        var destinations: [SessionID: Destination] = [:]
        for member in group.members.map(\.id) where member != own {
            let contact = contacts[member]
            let person = Correspondent(
                id: member, card: contact?.card ?? notes[member]?.card, contact: contact)
            switch try result({ try self.member(person) }) {
            case .success(var destination):
                if contact == nil { destination.relays = relays }
                destinations[member] = destination
            case .failure(let failure):
                warn("\(person.name) does not get the message: \(failure.message)")
            }
        }
        let route = GroupRoute(id: group.id, last: last, destinations: destinations)
        groups[name] = route
        // The messages of --group name it by its id.
        groups[group.id.description] = route
        return route
    }

    /// Reports the members who get the key of a group in a sealed message.
    func noteSealed(_ names: [String]) {
        guard let first = names.first else { return }
        let who = names.count == 1 ? first : "\(names.count) members"
        warn(
            "the key of the group goes to \(who) without forward secrecy: no session exists")
    }
}
