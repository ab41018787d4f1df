import Arguments
import Sotto
import SottoServer
import SottoTool

/// `relay members`: the members of a relay.
struct MembersCommand: Program {
    static let configuration = CommandConfiguration(
        name: "members",
        abstract: "List the members of a relay: id, day of the last login, and label.",
        usage: "sotto relay members --store FILE [--text | --json]",
        discussion: "The relay may be running. The ids of --members are not listed.")

    @OptionGroup var store: MemberStore

    @OptionGroup var form: OutputForm

    mutating func execute() throws {
        let members = try Membership.members(in: store.location())
        try form.print(
            headings: ["ID", "LAST LOGIN", "LABEL"],
            members.map { member in
                let day = day(of: member.active)
                return (
                    row: [member.id.description, day, member.label],
                    record: JSONObject([
                        ("v", .integer(1)), ("type", .string("member")),
                        ("id", .string(member.id.description)), ("active", .string(day)),
                        ("label", member.label.isEmpty ? nil : .string(member.label)),
                    ])
                )
            })
    }
}

/// `relay invitations`: the codes that a relay knows.
struct InvitationsCommand: Program {
    static let configuration = CommandConfiguration(
        name: "invitations",
        abstract: "List the invitations of a relay: state, day of the expiry, and label.",
        usage: "sotto relay invitations --store FILE [--text | --json]",
        discussion: "The codes themselves are not stored. The relay may be running.")

    @OptionGroup var store: MemberStore

    @OptionGroup var form: OutputForm

    mutating func execute() throws {
        let now = Timestamp.now()
        let invitations = try Membership.invitations(in: store.location())
        try form.print(
            headings: ["STATE", "EXPIRES", "LABEL"],
            invitations.map { invitation in
                let state =
                    invitation.owner != nil ? "used" : invitation.expires > now ? "open" : "expired"
                let day = day(of: invitation.expires)
                return (
                    row: [state, day, invitation.label],
                    record: JSONObject([
                        ("v", .integer(1)), ("type", .string("invitation")),
                        ("state", .string(state)), ("expires", .string(day)),
                        ("id", invitation.owner.map { .string($0.description) }),
                        ("label", invitation.label.isEmpty ? nil : .string(invitation.label)),
                    ])
                )
            })
    }
}

/// Returns the day of a time, in UTC.
private func day(of time: Timestamp) -> String { String(time.description.prefix(10)) }

extension OutputForm {
    /// Prints a list, as a table or as records. Throws a failure with status 1 if it is empty.
    fileprivate func print(
        headings: [String], _ items: [(row: [String], record: JSONObject)]
    ) throws {
        guard !items.isEmpty else { throw Failure(.no, "") }
        let output = try Output(path: "-", content: .text)
        if isText {
            var table = Table(headings: headings, on: output)
            for item in items { table.add(item.row) }
            try output.writeText(table.text)
        } else {
            for item in items { try output.writeRecord(item.record) }
        }
        try output.finish()
    }
}
