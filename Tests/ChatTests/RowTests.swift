import Foundation
import Testing

/// The rows of what the chat shows and does, each with the screens that show it: a file of Screens, and the title of a screen in it.
struct RowTests {
    static let rows: [(row: String, screens: [String: [String]])] = [
        (
            "list: names, unread, last line, time, verified",
            ["list": ["40 columns", "80 columns", "160 columns"]]
        ),
        (
            "list: long names, wide characters and emoji",
            ["list-long": ["24 columns", "40 columns", "80 columns", "160 columns"]]
        ),
        (
            "list: requests with claimed names, invitations",
            ["list": ["80 columns"], "questions": ["the first question"]]
        ),
        (
            "list: arrows, number, filter",
            ["list": ["typing filters", "the arrow keys choose", "a number opens"]]
        ),
        ("list: mail of all conversations", ["list-news": ["a message of the group has come"]]),
        (
            "list and header: what another terminal changes",
            [
                "elsewhere-changes": [
                    "bob is verified, and carol is removed", "another key of bob", "in the list",
                    "the key is accepted, with another name, and carol is added", "a group",
                    "no contact, no group, and a request", "a conversation with a former contact",
                ]
            ]
        ),
        ("list: who is online", ["online": ["bob is online", "a minute without a signal"]]),
        (
            "header: verified, forward secrecy, presence, typing, relay",
            [
                "header": [
                    "a contact with a session", "verified, online and typing",
                    "the relay is gone, and the typing has ended", "the relay is back",
                ]
            ]
        ),
        ("header: members and rank", ["group": ["a group"]]),
        (
            "messages: one mark that changes",
            ["marks": ["typed", "stored here", "stored by the relay", "read"]]
        ),
        ("messages: not sent", ["not-sent": ["back in the line"], "refused": ["refused"]]),
        (
            "messages: replies, edits, deletions, reactions, pins, files, voice",
            [
                "conversation-40": ["40 columns"], "conversation-80": ["80 columns"],
                "conversation-160": ["160 columns"],
            ]
        ),
        (
            "messages: previews of pictures",
            ["picture": ["the preview", "no room for it"], "picture-bomb": ["two of three"]]
        ),
        (
            "messages: unread line, only what was shown is marked",
            [
                "unread": ["the first unread messages", "they are marked", "nothing is marked"],
                "unread-many": ["the first unread message is at the top"],
                "unread-thousands": ["opened again", "marked by a command"],
            ]
        ),
        (
            "messages: the whole history",
            ["pages": ["after fifteen pages", "the beginning", "a new message moves nothing"]]
        ),
        ("groups: who did what", ["group-events": ["who did what"]]),
        ("groups: a deleted one", ["group-deleted": ["the open one says so", "the list"]]),
        (
            "groups: who types",
            ["group-typing": ["a sender who is no member types", "two members type"]]
        ),
        ("doing: a paste is one message", ["paste": ["the paste is in the line", "one message"]]),
        ("doing: Up edits", ["up": ["the last own message", "Up again selects"]]),
        ("doing: an error leaves the words for the keys", ["error-and-mode": ["a change"]]),
        (
            "doing: a selected message",
            [
                "selection": [
                    "the newest is selected", "a reply", "info",
                    "the message of bob is not deleted", "a deletion is asked",
                    "all commands",
                ]
            ]
        ),
        (
            "doing: commands on messages and settings",
            [
                "commands": [
                    "/reply -3 yes", "/react 👍", "/edit three", "/pin -1", "/unpin #1", "/pins",
                    "/forward -1 carol", "/file ~/a\\ b", "/save", "/search two words", "/timer 7d",
                    "/receipts on", "/info", "/verify 12345 67890", "//slash",
                ]
            ]
        ),
        (
            "doing: commands that ask or move",
            [
                "commands-shown": [
                    "/delete", "/copy -1", "/older", "/block", "/accept davy", "/list",
                    "/open carol",
                    "/unlock", "/lock",
                ]
            ]
        ),
        (
            "doing: commands of groups",
            [
                "group-commands": [
                    "/members", "/grant caro 05cacaca", "/invite dave", "/remove caro 05cacaca",
                    "/leave",
                ]
            ]
        ),
        ("doing: what a command lacks", ["command-errors": ["/nothing", "/accept", "/delete"]]),
        (
            "doing: completion",
            ["completion": ["a command and a name", "several commands", "a path with a space"]]
        ),
        ("doing: /help", ["help": ["help"]]),
        (
            "questions: chords, later, again",
            [
                "questions": [
                    "Ctrl-Y accepts", "the next question is new, so the key has no effect",
                    "Ctrl-N declines",
                ],
                "questions-later": [
                    "no question is left", "both are asked again", "a typed line is no answer",
                ],
            ]
        ),
        (
            "locked: once, without echo",
            ["locked": ["locked", "typed without an echo", "a wrong one"]]
        ),
        (
            "locked: later, and nothing typed is taken",
            ["locked-later": ["locked meanwhile", "the text is kept", "back"]]
        ),
        ("locked: without a keyring", ["no-keyring": ["a wrong one", "the list", "the commands"]]),
        (
            "a changed key: the commands, and its messages wait",
            [
                "key-change": ["the key changed", "accepted"],
                "new-key-requests": ["accepted, and its message waits"],
            ]
        ),
        ("another recv receives", ["elsewhere": ["one line, and the messages"]]),
        (
            "troubles: relay, disk, a message that cannot be opened",
            [
                "reception": ["send works, recv does not", "recv works again"],
                "refused": ["later the relay is gone"], "error-record": ["an error record"],
                "not-sent": ["marked, because something else is typed"],
            ]
        ),
        (
            "bad input: line feeds, controls, bidi, long names",
            [
                "hostile-texts": ["the end", "the line feeds"],
                "hostile-names": ["the list", "a conversation", "a group"],
            ]
        ),
        (
            "bad input: reactions, ids",
            [
                "hostile-reactions": ["reactions"], "hostile-ids": ["the page decides"],
                "hostile-million": ["the message and the others are shown"],
            ]
        ),
        ("children that die", ["restart": ["the header says it"]]),
        (
            "kill -9 of a stage",
            ["killed": ["decrypt was killed", "its messages are decrypted again"]]
        ),
        ("a full disk", ["not-sent": ["back in the line"]]),
        ("a wrong clock", ["clock": ["a day back", "a year ahead"]]),
        ("a relay that hangs", ["silent": ["ten seconds", "send has given up"]]),
        ("voice", ["conversation-80": ["80 columns"]]),
        ("mute and unmute", ["commands": ["/mute", "/unmute"]]),
        (
            "a name of a group is no fact, and a question is whole",
            ["names-40": ["40 columns"], "names-80": ["80 columns"]]
        ),
    ]

    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Screens")

    @Test func eachRowHasItsScreens() throws {
        for (row, files) in Self.rows {
            for (file, titles) in files {
                let text = try String(
                    contentsOf: Self.folder.appendingPathComponent(file + ".txt"), encoding: .utf8)
                let found = text.split(separator: "\n").filter { $0.hasPrefix("==== ") }
                for title in titles {
                    #expect(
                        found.contains { $0 == "==== \(title)" || $0.hasPrefix("==== \(title) (") },
                        "\(row): \(file): \(title)")
                }
            }
        }
    }

    @Test func eachFileOfScreensHasARow() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        let named = Set(Self.rows.flatMap { $0.screens.keys.map { "\($0).txt" } })
        #expect(Set(files) == named)
    }
}
