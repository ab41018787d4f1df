import Arguments
import Sotto
import SottoServer
import SottoTool

/// `relay members`: the members of a relay.
struct MembersCommand: Program {
    static let configuration = CommandConfiguration(
        name: "members",
        abstract:
            "List the members of a relay: id, day of the last login, label, and the member who invited them.",
        usage: "sotto relay members --store FILE [--text | --json]",
        discussion: "The relay may be running. The ids of --members are not listed.")

    @OptionGroup var store: MemberStore

    @OptionGroup var form: OutputForm

    mutating func execute() throws {
        let members = try Membership.members(in: store.location())
        try form.print(
            headings: ["ID", "LAST LOGIN", "LABEL", "INVITED BY"],
            members.map { member in
                let day = day(of: member.active)
                return (
                    row: [
                        member.id.description, day, member.label,
                        member.inviter?.description ?? "",
                    ],
                    record: JSONObject([
                        ("v", .integer(1)), ("type", .string("member")),
                        ("id", .string(member.id.description)), ("active", .string(day)),
                        ("label", member.label.isEmpty ? nil : .string(member.label)),
                        ("inviter", member.inviter.map { .string($0.description) }),
                    ])
                )
            })
    }
}

/// `relay invitations`: the codes that a relay knows.
struct InvitationsCommand: Program {
    static let configuration = CommandConfiguration(
        name: "invitations",
        abstract:
            "List the invitations of a relay: tag, state, day of the expiry, label, and the member who made the code.",
        usage: "sotto relay invitations --store FILE [--text | --json]",
        discussion:
            "The codes themselves are not stored; relay revoke takes a tag. The relay may be running."
    )

    @OptionGroup var store: MemberStore

    @OptionGroup var form: OutputForm

    mutating func execute() throws {
        let now = Timestamp.now()
        let invitations = try Membership.invitations(in: store.location())
        try form.print(
            headings: ["TAG", "STATE", "EXPIRES", "LABEL", "MADE BY"],
            invitations.map { invitation in
                let state =
                    invitation.owner != nil ? "used" : invitation.expires > now ? "open" : "expired"
                let day = day(of: invitation.expires)
                return (
                    row: [
                        hex(invitation.tag), state, day, invitation.label,
                        invitation.inviter?.description ?? "",
                    ],
                    record: JSONObject([
                        ("v", .integer(1)), ("type", .string("invitation")),
                        ("tag", .string(hex(invitation.tag))), ("state", .string(state)),
                        ("expires", .string(day)),
                        ("id", invitation.owner.map { .string($0.description) }),
                        ("label", invitation.label.isEmpty ? nil : .string(invitation.label)),
                        ("inviter", invitation.inviter.map { .string($0.description) }),
                    ])
                )
            })
    }
}

/// `relay revoke`: ends codes that were not used.
struct RevokeCommand: Program {
    static let configuration = CommandConfiguration(
        name: "revoke",
        abstract: "End invitation codes that were not used.",
        usage: "sotto relay revoke --store FILE [-q] TAG ...",
        discussion: """
            TAG is from relay invitations, 32 hexadecimal digits. The relay may be running. A code that was used cannot be \
            ended: the command names its user, whose membership relay admit --remove ends.
            """)

    @OptionGroup var store: MemberStore

    @Argument("tag", help: "The tag of an open code.")
    var tags: [String]

    @Flag("-q", "--quiet", help: "Print only errors.")
    var quiet = false

    mutating func execute() throws {
        let read = try tags.map { text in
            guard let tag = bytes(hex: text), tag.count == 16 else {
                throw Failure(
                    .usage, "\(text) is not a tag",
                    hint:
                        "to list the tags: sotto relay invitations --store \(shellWord(store.path))"
                )
            }
            return tag
        }
        let location = try store.location()
        var missing = false
        for tag in read {
            if try Membership.revoke(tag, in: location) {
                if !quiet { Terminal.say("relay: ended \(hex(tag))") }
            } else {
                missing = true
                Terminal.say("relay: note: \(try reason(against: tag, in: location))")
            }
        }
        if missing { throw Failure(.no, "") }
    }

    /// Returns why no open code has a tag.
    private func reason(against tag: [UInt8], in location: StoreLocation) throws -> String {
        let known = try Membership.invitations(in: location).first { $0.tag == tag }
        guard let user = known?.owner else { return "no code has the tag \(hex(tag))" }
        let fact = "\(hex(tag)) was used by \(user)"
        guard try Membership.members(in: location).contains(where: { $0.id == user }) else {
            return fact + ", who is no member any more"
        }
        return
            "\(fact); to end the membership: sotto relay admit --store \(shellWord(store.path)) --remove \(user)"
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
