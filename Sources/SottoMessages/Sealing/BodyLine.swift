package import Sotto
import SottoProgram
import SottoTool

extension MessageBody {
    /// The description of a timer in a group or in a chat with a phrase: only a change of a group sets its timer.
    static let idleTimer = "[tried to set a timer, which has no effect here]"

    /// A description in brackets, or `nil` for text, data and a file. `target` are the words for the message that the body is about.
    func line(about target: String) -> String? {
        switch kind {
        case .text, .data, .file: nil
        case .reaction(_, emoji: ""): "[removed the reaction to \(target)]"
        case .reaction(_, let emoji): "[reacted \(emoji) to \(target)]"
        case .edit(_, let body): "[edited \(target)] \(body.description)"
        case .delete: "[deleted \(target)]"
        case .pin(_, let until): "[pinned \(target)\(until.map { " until \($0)" } ?? "")]"
        case .unpin: "[unpinned \(target)]"
        case .receipt(let receipt):
            receipt.ids.count == 1
                ? "[\(receipt.status.rawValue): \(target)]"
                : "[\(receipt.status.rawValue): \(receipt.ids.count) messages]"
        case .timer(seconds: 0): "[messages are kept]"
        case .timer(let seconds): "[messages are deleted after \(seconds) s]"
        case .typing(.started, _): "[is typing]"
        case .typing(.stopped, _): "[stopped typing]"
        case .presence(let presence, _): "[is \(presence.rawValue)]"
        case .profile(let profile):
            profile.parts.isEmpty
                ? "[removed the profile]"
                : "[sent a profile: \(Self.words(for: profile.parts, name: profile.name))]"
        case .call(let call) where call.kind == .offer && call.reason != nil:
            "[missed \(call.media.map { $0.rawValue + " " } ?? "")call]"
        case .call(let call):
            "[\(call.media.map { $0.rawValue + " " } ?? "")call: \(call.kind.rawValue)]"
        case .history(let repeated):
            "[messages that were sent again: \(max(repeated.messages.count, repeated.ids.count))]"
        case .other(.group):
            groupLine()
        case .other(.devices): "[\(deviceWords)]"
        case .other(.welcome): "[contacts for a new device]"
        case .other(.sync): "[data for an own device]"
        case .other(.repair):
            [repairLine().text, repairLine().command].compactMap(\.self).joined(separator: " ")
        case .system("key-accepted"):
            "[a new key of this contact was accepted; the id before: \(extra["former"]?.string ?? "?")]"
        case .system("keys_updated"):
            "[signed that another key replaces this one: \(extra["next"]?.string ?? "?")]"
        case .system("keys-doubtful"):
            "[the key of this contact counts no more: the succession by which it was accepted is void]"
        case .system("revoked"): "[revoked this key]"
        case .system("verified"): "[the key of this contact was verified]"
        case .system("unverified"): "[the key of this contact is no longer verified]"
        case .system("call"): "[\(CallWords.of(record))]"
        case .system("profile"): "[changed the profile: \(profileChanges)]"
        case .system("device-added"):
            "[uses a new device, \(Self.shown(name: extra["name"]?.string ?? "?")), since \(extra["since"]?.string ?? "?")]"
        case .system("device-removed"):
            "[removed the device \(Self.shown(name: extra["name"]?.string ?? "?"))]"
        case .system("device-fork"):
            "[signed two different lists of devices; ask on another channel]"
        case .system(let event): "[\(event)]"
        case .unknown("sender_key"): "[sent the key of a group]"
        case .unknown(let type):
            "[unsupported message of type \(Self.shown(type: type))]"
                + (extra["text"]?.string.map { " " + $0 } ?? "")
        }
    }

    /// The changes in the sender's list of devices, in words. The sender chose the names.
    private var deviceWords: String {
        let decided = extra["name"]?.string.map(Self.shown(name:)) ?? "?"
        func names(_ member: String) -> String? {
            let names = (extra[member]?.array ?? []).compactMap { $0.string.map(Self.shown(name:)) }
            return names.isEmpty ? nil : names.joined(separator: ", ")
        }
        let isThis = extra["thisDevice"] == .bool(true)
        let words = [
            names("added").map { "uses a new device: \($0)" },
            names("removed").map { "removed the device: \($0)" },
            isThis ? "that is this machine: nobody takes its messages from now on" : nil,
            extra["decided"]?.string.flatMap { KeyID($0) }.map {
                "to list what it decided about contacts, with the commands that take it back: sotto device changes \($0)"
            },
            extra["confirms"].map { _ in "confirmed the device \(decided)" },
            extra["full"].map { _ in
                "it is full now; to tell your contacts and machines: sotto device announce --send"
            },
            extra["objects"].map { _ in "objects to the device \(decided), which stays new" },
        ].compactMap(\.self)
        return words.isEmpty ? "list of devices" : words.joined(separator: "; ")
    }

    /// The parts of a profile that the event `profile` names.
    private var profileChanges: String {
        let parts = (extra["changed"]?.array ?? []).compactMap {
            $0.string.flatMap { OwnerProfile.Part(rawValue: $0) }
        }
        return Self.words(for: parts, name: extra["name"]?.string)
    }

    /// Returns parts of a profile in words. The author chose the name, so it is in quotation marks.
    private static func words(for parts: [OwnerProfile.Part], name: String?) -> String {
        parts.map { part in
            switch part {
            case .name: "name" + (name.map { " " + TargetWords.quoted($0) } ?? "")
            case .about: "description"
            case .avatar: "picture"
            case .phone, .location: part.rawValue
            }
        }.joined(separator: ", ")
    }

    /// Returns a name on one line, in quotation marks if it could be taken for the words around it.
    private static func shown(name: String) -> String {
        guard name.isPlainLine, !name.contains("]") else { return "?" }
        let isWord = name.allSatisfy { $0.isLetter || $0.isNumber || "-_.".contains($0) }
        return isWord && !name.isEmpty ? name : "\"\(name.replacingAll("\"", with: "'"))\""
    }

    /// Returns the description like ``line(about:)``, without the command at its end, and this command or `nil`.
    /// `identity` are the options of the identity for the command, each after a space.
    func lineAndCommand(
        about target: String, identity: String
    ) -> (text: String, command: String?)? {
        switch kind {
        case .other(.group): return groupLine(identity)
        case .other(.repair): return repairLine(identity)
        case .other(.devices) where extra["own"] == .bool(true):
            guard let name = extra["added"]?.array?.first?.string else {
                return ("[\(deviceWords)]", nil)
            }
            return (
                "[\(deviceWords)] if it is not yours:",
                "sotto device object \(shellWord(name))\(identity) --send"
            )
        default: return line(about: target).map { ($0, nil) }
        }
    }

    /// A description of the news that a contact lost a state, and the command that follows it or `nil`.
    private func repairLine(_ identity: String = "") -> (text: String, command: String?) {
        let name = extra["name"]?.string ?? ""
        if extra["own"] == .bool(true) {
            let device = name.isEmpty ? "machine one" : name
            let shown = name.isEmpty ? device : Self.shown(name: name)
            return (
                "[\(shown) lost its messages] to send it again what was written here:",
                "sotto device sync --again \(shellWord(device))\(identity) --send"
            )
        }
        let who = name.isEmpty ? "you" : Self.shown(name: name)
        let unread = extra["unread"]?.integer ?? 0
        guard unread > 0, !name.isEmpty else {
            return ("[\(who) lost the messages of a machine]", nil)
        }
        let what = unread == 1 ? "1 message" : "\(unread) messages"
        return (
            "[\(who) lost the messages of a machine; \(what) of yours may be unread] to send them again:",
            "sotto history repeat \(shellWord(name))\(identity) --send"
        )
    }

    /// A description of the events of a group, and the command that follows it.
    private func groupLine() -> String {
        let (text, command) = groupLine("")
        return [text, command].compactMap(\.self).joined(separator: " ")
    }

    /// A description of the events of a group, and the command that follows it or `nil`. Other people choose the names in it.
    private func groupLine(_ identity: String) -> (text: String, command: String?) {
        let events = (extra["events"]?.array ?? []).compactMap { $0.object }
        // The members who ask for messages, and their group.
        var asking: (group: String, members: [String])?
        let lines = events.map { event in
            func text(_ name: String) -> String? {
                event[name]?.string.flatMap { $0.isPlainLine && !$0.contains("]") ? $0 : "?" }
            }
            func name(_ member: String) -> String? {
                event[member]?.string.map { Self.shown(name: $0) }
            }
            let who =
                name("name") ?? name("nickname") ?? text("who").map { $0.prefix(16) + "…" } ?? "?"
            // The member by whom it was done.
            let author: String? =
                text("byName") == "me"
                ? "you"
                : name("byName") ?? name("byNickname")
                    ?? text("by").map { String($0.prefix(16)) + "…" }
            // The name is already the name of another group or person, or the beginning of one.
            let called = name("called").map { ", and is called \($0) here" } ?? ""
            // A nickname can be "me" too.
            let isOwner = text("name") == "me"
            switch text("event") {
            case "invited":
                let continued = text("continues").map { ", which continues \($0)" } ?? ""
                let local = name("called").map { ", called \($0) here" } ?? ""
                return "invited you to the group \(name("name") ?? "?")\(local)\(continued)"
            case "joined": return isOwner ? "you joined the group" : "\(who) joined the group"
            case "question":
                let id = event["group"]?.string ?? ""
                let member = event["who"]?.string ?? ""
                guard GroupID.isBeginning(id), KeyID(member) != nil else { return "?" }
                asking = (id, (asking?.members ?? []) + [member])
                return "show your messages to \(who)?"
            case "left":
                let person = isOwner ? "you" : who
                if let author, text("by") != text("who") { return "\(author) removed \(person)" }
                return isOwner && author == nil
                    ? "you are no longer a member of the group" : "\(person) left the group"
            case "role":
                let rank = "the rank \(text("role") ?? "?")"
                if let author, text("by") != text("who") {
                    return "\(author) gave \(isOwner ? "you" : who) \(rank)"
                }
                return "\(isOwner ? "you have" : who + " has") \(rank)"
            case "history":
                return "\(who) shows you earlier messages: \(event["count"]?.integer ?? 0)"
            case "fork": return "\(who) signed two different changes with one number"
            case "conversation_deleted": return "\(who) deleted the group"
            case "confirmed": return "\(who) confirmed the group"
            case "renamed":
                let new = "\(name("name") ?? "?")\(called)"
                return author.map { "\($0) named the group \(new)" }
                    ?? "the group has the name \(new)"
            case "changed":
                guard let author else { return "the group was changed" }
                return text("what") == "nickname"
                    ? "\(author) chose a nickname"
                    : "\(author) changed \(Self.changed(in: event))"
            default: return "the group was changed"
            }
        }
        let isInvitation = events.first?["event"]?.string == "invited"
        let name = extra["name"]?.string.map { Self.shown(name: $0) }
        let place = isInvitation ? "" : name.map { $0 + ": " } ?? ""
        let line =
            "[" + place + (lines.isEmpty ? "change of a group" : lines.joined(separator: "; "))
            + "]"
        if let (id, members) = asking {
            let names = members.joined(separator: " ")
            return (
                line + " to show them:",
                "sotto group grant \(id) \(names)\(identity) | sotto encrypt\(identity) | sotto send"
            )
        }
        guard let id = events.first?["id"]?.string, GroupID.isBeginning(id) else {
            return (line, nil)
        }
        return (
            line + " to join:",
            "sotto group accept \(id)\(identity) | sotto encrypt\(identity) | sotto send"
        )
    }

    /// Returns what was changed in a group, by the event.
    private static func changed(in event: JSONObject) -> String {
        switch event["what"]?.string {
        case "policy":
            let policy = event["policy"]?.object ?? [:]
            let rules = ["add", "edit", "post", "pin", "visibility"].compactMap { rule in
                policy[rule]?.string.map { "\(rule)=\(shown(name: $0))" }
            }
            let others = ["relays", "door"].filter { policy[$0] != nil }
            let all = (rules + others).joined(separator: ", ")
            return "the rules" + (all.isEmpty ? "" : ": \(all)")
        case "about": return "the description"
        case "avatar": return "the picture"
        case "timer":
            let end = event["timer"]?.integer.map {
                $0 == 0 ? " to none" : " to \(Lifetime(seconds: $0))"
            }
            return "the lifetime of messages" + (end ?? "")
        default: return "the group"
        }
    }

    /// The text of the body, or a description in brackets.
    package var description: String { description(about: TargetWords.unknown) }

    /// Returns the text of the body, or a description in brackets, with these words for the message that it is about.
    package func description(about target: String) -> String {
        switch kind {
        case .text(let text): text
        case .data(let bytes): "[\(bytes.count) bytes that are not text]"
        case .file(let file): "[\(Self.words(for: file))]" + (file.text.map { " " + $0 } ?? "")
        default: line(about: target) ?? ""
        }
    }

    /// Returns the words for a file: its name, and the length of a voice message.
    private static func words(for file: FileBody) -> String {
        guard file.voice == true else { return "file \(file.name)" }
        let length = file.duration.map { ", \($0 / 60):\($0 % 60 < 10 ? "0" : "")\($0 % 60)" }
        return "voice message \(file.name)" + (length ?? "")
    }

    /// Returns the name of an unknown type, if it is short and on one line.
    private static func shown(type: String) -> String {
        !type.isEmpty && type.utf8.count <= 64 && type.isPlainLine && !type.contains("]")
            ? type : "?"
    }
}
