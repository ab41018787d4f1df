import Foundation
import Sotto
import SottoMessengers
import SottoState
import TestSupport
import Testing

/// A hint, the situation in which a program prints it, and a check after its command was pasted into a shell.
struct HintCase: Sendable, CustomTestStringConvertible {
    /// The string literal in the sources, with `…` for each interpolation and `«…»` for an interpolated command.
    let hint: String
    /// The index of the pasted command, if the hint has several.
    var choice = 0
    /// The person who uses the shell.
    var person = "alice"
    /// The text that is typed after the command.
    var typed: @Sendable (HintWorld) throws -> String = { _ in "" }
    /// Creates the situation and returns the run that prints the hint.
    let situation: @Sendable (HintWorld) throws -> Run
    /// Checks the effect of the pasted command.
    let result: @Sendable (HintWorld, Run) throws -> Void

    var testDescription: String { choice == 0 ? hint : "\(hint) [\(choice)]" }

    init(
        _ hint: String, choice: Int = 0, as person: String = "alice",
        typed: @escaping @Sendable (HintWorld) throws -> String = { _ in "" },
        situation: @escaping @Sendable (HintWorld) throws -> Run,
        result: @escaping @Sendable (HintWorld, Run) throws -> Void
    ) {
        self.hint = hint
        self.choice = choice
        self.person = person
        self.typed = typed
        self.situation = situation
        self.result = result
    }
}

/// Every hint with a command is pasted into a shell, and the command has the described effect.
struct HintTests {
    /// Literals that are not hints, or whose command needs something that a test does not have.
    static let exempt: [String: String] = [
        "sotto fingerprint -i FILE": "printed on paper",
        "sotto qr scan PHOTO | sotto keygen recover… -o FILE": "printed on paper",
        "For another messenger, …: sotto bridge export … -o FILE.": "printed on paper",
        "sotto qr scan --camera /dev/video0 | sotto contact verify … --scan": "needs a camera",
        "scan the contact's code: sotto qr scan --camera /dev/video0 | sotto contact verify … --scan":
            "needs a camera",
        "scan the contact's Whisper2 code: «scanCommand»": "needs a camera",
        "cameras are usually /dev/video0 and so on: ls /dev/video*": "needs a camera",
        "compare the lists on your machines: sotto device list":
            "needs two lists with one number; DeviceDecisionTests make them",
        "recv: note: … is a full device now; to tell your contacts and machines: sotto device announce… --send":
            "needs a device of a day; aDeviceIsFullAfterADay settles one",
        "the list of your devices on your card at … is later than that of this state, and was taken; to see it: sotto device list":
            "needs a second machine; DeviceRecoveryTests take a list",
        "the list of your devices on your card at … is another one with the same number: an attacker can have your words; compare the lists on your machines: sotto device list":
            "needs two lists with one number; DeviceDecisionTests make them",
        "  sotto recv --card … | sotto device restore":
            "needs a relay that gives no answer; DeviceRecoveryTests run it with another",
        "revoked: contacts and relays refuse this identity; to make a new one: sotto keygen -o FILE":
            "has a name to fill in; RotationProgramTests expect it",
        "begin again with a new code: sotto meet, or for a device: sotto device request --name NAME --relay URL --send":
            "waits for another person; MeetTests run the first",
        "if it is yours: sotto device confirm --now … --send":
            "needs a second machine; PairingTests run it",
        "this state was new; your card at … names no other devices; if your list was private, one of them has it: sotto device list --card > card, and here sotto device restore card":
            "needs a lost state of a private list; PrivateListTests run the commands",
        "machine one sends the contacts to this machine: sotto read":
            "needs a second machine; PairingTests run it",
        "if it is an earlier one, begin new sessions: sotto recv --bundle WHO, then sotto encrypt --new-session --to WHO":
            "needs an old state; TwoMachinesTests run the commands",
        "receive first: sotto read": "needs a lost state; DeviceRecoveryTests run it",
        "run on machine one, and then read the mail here: sotto device announce --send":
            "needs the lost state of another device",
        "run on machine one, read the mail here, and try again: sotto device announce NAME --send":
            "has a name to fill in; DeviceRecoveryTests run it",
        "if it is not yours, remove it on machine one: sotto device remove … --send":
            "needs a second machine; DeviceTrustTests remove one",
        "mail of … that was not read here is refused from now on; your other devices can have decisions from it, to list them there: sotto device changes …":
            "needs a second machine; DeviceTrustTests run it",
        "your other devices can have read it before; to list there what it decided: sotto device changes":
            "needs a second machine; DeviceTrustTests run it",
        "to list what it decided about contacts, with the commands that take it back: sotto device changes …":
            "needs a third machine; DeviceGroupTests run it",
        "it was modified, or the state of one side is from a backup; then that side tells the other: sotto contact repair --send":
            "needs a forged message; LostStateTests run it",
        "it is full now; to tell your contacts and machines: sotto device announce --send":
            "needs a third machine; PairingTests run it",
        "device list": "the name of a stored fact",
        "device confirmed": "the name of a stored fact",
        "device objected": "the name of a stored fact",
        "device fork": "the name of a stored fact",
        "list the commands: sotto device --help": "DocumentTests run all helps",
        "list your devices: sotto device list": "needs a second machine; PairingTests run it",
        "list the devices: sotto device list": "needs a second machine; PairingTests run it",
        "remove one first: sotto device list": "needs eight machines",
        "get the card of the person: «cardLookupCommand»":
            "needs the card of a device; DeviceDecisionTests expect the failure",
        "ask its owner to publish the present one, on machine one: sotto keygen public --send":
            "needs an earlier list; DeviceDecisionTests expect the failure",
        "protect it first: sotto keygen passwd …":
            "asks for a passphrase on the terminal; PairingTests expect it",
        "run on the new machine: sotto device request --name NAME --relay URL --send":
            "has a name to fill in; PairingTests run it",
        "use a new place: sotto device request --name NAME --relay URL --send":
            "has a name to fill in; PairingTests run it",
        "begin again with a new code: sotto device request --name NAME --relay URL --uri --send":
            "has a name to fill in; PairingTests run it",
        "begin again with a new code on the new machine: sotto device request --name NAME --relay URL --send":
            "has a name to fill in; PairingTests run it",
        "the last messages to … were not sent, so that the session ends; to see them: sotto history unsent":
            "needs 192 messages that were not sent; whatFollowsManyLostMessagesIsRead expects it",
        "history: … lack copies for some members; to send these: sotto group sync … --send":
            "needs a group with a member who was not reached; UnsentTests send them",
        "to send it: sotto group sync … --send":
            "needs a group with a member who was not reached; UnsentTests send them",
        "new for a day; to make it full: sotto device confirm --now … --send":
            "needs a second machine; PairingTests run it",
        "to receive what machine one sends: sotto recv | sotto decrypt --text":
            "needs a second machine; PairingTests run it",
        "Type this on machine one: sotto device add CODE --send":
            "has a code to fill in; PairingTests run it",
        "run on machine one, and then read the mail here: sotto group sync --send":
            "needs a second machine; DeviceGroupTests expect the failure",
        "to list this again: sotto device changes …":
            "needs a second machine; DeviceTrustTests run it",
        "sotto contact remove …": "undoes what a device decided; DeviceTrustTests run it",
        "sotto contact unverify …": "undoes what a device decided; DeviceTrustTests run it",
        "sotto contact verify … NUMBER": "has a number to fill in",
        "sotto contact block …": "undoes what a device decided",
        "sotto device remove … --send": "needs a second machine; DeviceRecoveryTests print it",
        "device heard": "the name of a stored fact",
        "… is full; to send it your contacts with their trust: sotto device announce … --send":
            "needs a second machine",
        "sotto device confirm --now … --send": "needs a second machine; PairingTests run it",
        "show how to add one: sotto device add --help": "DocumentTests run all helps",
        "… … nothing until another member confirms the group; to ask: sotto group sync … --send":
            "needs a restored group of three; theFirstWhoConfirmsIsOwedTheMessages runs the command",
        "no other member confirmed … since it was restored; to ask: sotto group sync … --send":
            "needs a restored group of three; theFirstWhoConfirmsIsOwedTheMessages runs the command",
        "changes, invitations or grants of … were not sent; to send them: sotto group sync … --send":
            "group.txt runs it",
        "your messages were not shown to …: sotto group sync … | sotto encrypt | sotto send":
            "TellingTests run it",
        "list the relays: sotto group policy … … --send": "MovedMemberTests expect it",
        "ask an admin to list the relays: sotto group policy GROUP … --send":
            "has a group to fill in; MovedMemberTests expect it",
        "… … without a relay; to list: sotto send --list": "needs an envelope that names no relay",
        "contact: … gets no receipts; to send them: sotto contact set … receipts=on":
            "FirstMinuteTests answer the question",
        "another relay can take files: sotto keygen set --relay URL --send":
            "has a relay to fill in; BlobProgramTests expect the failure",
        "the messages before: sotto history …": "ImportTests run it",
        "a new device of yours: …; if it is not yours: sotto device object … --send":
            "needs a second machine; DeviceDecisionTests run the command",
        "… lost its messages; to send it again what was written here: sotto device sync --again … --send":
            "needs a second machine; DeviceMailTests run the command",
        "sotto device sync --again …… --send": "needs a second machine; DeviceMailTests run it",
        "sotto device object …… --send":
            "needs a second machine; DeviceDecisionTests run the command",
        "end the pipe with | sotto encrypt | sotto send; if a group was changed: sotto group sync --send":
            "needs the records as its input; TerminalRecordTests print it",
        "to send it: sotto history repeat … --send":
            "needs a message that is a minute old; aMemberWithAnUnlistedRelayGetsTheMessagesLater runs it",
        "qr drew no code": "an error message",
        "sotto relay": "the name in a certificate",
        "sotto bridge open …": "the beginning of the line about an attached file",
        "sotto decrypt": "the beginning of the line about an attached file",
        "to save it: «savingCommand»":
            "the line about an attached file; BlobProgramTests run its commands",
        "sotto recv… --blob … | … --attachment … -o .":
            "the line about an attached file; BlobProgramTests run its commands",
        "the file is in the home in which it was encrypted; send the message there, without --elsewhere: sotto history repeat NUMBER --send":
            "has a number to fill in; status.txt prints it",
        "the message was sent, or waits: sotto send --list":
            "after /dev/full as output; status.txt prints it",
        "what was read was sent, or waits: sotto send --list":
            "after /dev/full as output; status.txt prints it",
        "a message that was not sent is in the history: sotto history unsent":
            "after /dev/full as output; status.txt runs it",
        "all messages were sent, or wait in the outbox: sotto send --list":
            "needs a relay that is not there; status.txt prints it",
        "to encrypt and send it: sotto encrypt | sotto send":
            "needs the message as its input; status.txt prints it",
        "if it is not sent in a minute: sotto history repeat … --send":
            "has nothing to send before a minute is over; status.txt prints it",
        "create your identity: sotto init":
            "asks for a passphrase on the terminal; FirstMinuteTests run it",
        "unlock it for some hours: sotto keygen unlock…, or give --identity-passphrase @FILE:PATH":
            "asks for a passphrase on the terminal; UnlockTests run it",
        "give a name: sotto meet --name NAME":
            "has a name to fill in; noContactIsReplaced prints it",
        "begin again with a new code: sotto meet": "waits for another person; MeetTests run it",
        "to make the messages: sotto recv --meeting new | sotto contact meet | sotto send":
            "waits for another person; MeetTests run it",
        "the number is the beginning of the code: sotto recv --meeting 417":
            "needs the place of another person; MeetTests run it",
        "to meet this person again: sotto contact unblock …":
            "after a meeting; noContactIsReplaced prints it",
        "… of yours not sent to …; to see what sends them: sotto history unsent …":
            "needs members who did not know each other; NewcomerMessageTests show them",
        "…to decrypt what recv printed: sotto recv --again… | sotto decrypt…":
            "needs a full disk; whatAPipeBroughtIsReadAgain runs it",
        "tell your contacts if this state is new or was restored, or delete what nothing here opens: sotto contact repair --send, or sotto recv --forget all":
            "needs a lost session; UnopenedEnvelopeTests run it",
        "recv: note: … in the inbox cannot be opened here; to delete: sotto recv --forget all…":
            "needs a lost session; UnopenedEnvelopeTests run it",
        "decrypt its envelopes: sotto recv --again | sotto decrypt; or receive with --stateless":
            "needs an inbox of 10,000 envelopes",
        "…: note: a message waits for changes of its group: sotto group sync | sotto encrypt | sotto send":
            "needs a change that did not arrive; aMessageWaitsForTheRankOfItsAuthor runs it",
        "delete it: sotto send --drop …":
            "needs a damaged outbox; aRowOfAnUnknownKindEndsItsDeliveryOnly runs it",
        "to try again: sotto send < /dev/null":
            "needs the relay that is not there; RelayOfIdentityTests run it",
        "whisper2: decrypt the input, an attachment, with the key in this message record, or in the message with this number.":
            "the help of an option",
        "to write a message: sotto encrypt --group … --send":
            "needs a group with members; aNameInPlaceOfAFileIsNamed runs it",
        "to save the files of its messages: sotto save --all …":
            "needs files at a relay; saveFetchesAndSaves saves all of a contact",
        "make one: sotto contact profile set --name NAME": "has a name to fill in",
        "the profile …; to tell your contacts: sotto contact profile send… | sotto encrypt… | sotto send":
            "needs a terminal; onATerminalNothingIsPrintedForATool prints it",
        "make a relay yours: sotto keygen set --relay URL": "has an address to fill in",
        "its operator names them: sotto relay --turn-secret FILE --turn-uri URI":
            "has the file and the server of an operator to fill in; TurnTests start such a relay",
        "sotto: note: the card has no name; to set one: sotto keygen set --name NAME --send":
            "has a name to fill in",
        "none; to set it: sotto keygen set… --name NAME --send": "has a name to fill in",
        "an account in another messenger becomes a contact: sotto contact add --name NAME URL":
            "has a name and a URL to fill in",
        "convert an Ed25519 key: ssh-keygen -i -f FILE": "has the name of a file to fill in",
        "to send it: sotto send --relay tcp://host:port < /dev/null":
            "has an address to fill in; RelayOfIdentityTests run it",
        "send: note: … … in the outbox without a relay: sotto send --relay tcp://host:port < /dev/null":
            "has an address to fill in; RelayOfIdentityTests run it",
        "sotto group grant … WHO | sotto encrypt | sotto send": "has a name to fill in",
        "sotto group grant … … | sotto encrypt | sotto send":
            "printed by a chat without a screen, with both ids; GroupToolTests run it",
        "the identity has no passphrase; to add one: sotto keygen passwd":
            "asks for a passphrase on the terminal",
        "you are the only owner: sotto group role … WHO owner --send, or sotto group delete … --send":
            "has a name to fill in; the tests of group role and group delete run them",
        "A friend: sotto add FILE, or sotto meet. A group: sotto group create NAME WHO --send. Both in another terminal.":
            "words of the chat",
        "sotto chat: hint: unlock it: sotto keygen unlock":
            "asks for a passphrase on the terminal; ChatLockTests print it",
        "unlock it: sotto keygen unlock":
            "asks for a passphrase on the terminal; UnlockTests run it",
        "sotto chat": "the header of the chat", " sotto chat": "the header of the chat",
        "history starts again": "words of the chat", "send starts again": "words of the chat",
        "; to save the file: sotto save …":
            "printed at an end before the relay has answered; VerbTests save files by their numbers",
        "; to delete it only here: sotto history delete …":
            "words of the chat; ObstacleTests print it, and ComposeHints run the command",
        "not everything was sent: send ends with an error": "words of the chat",
        "sotto group accept … | sotto encrypt | sotto send":
            "the chat runs it; GroupChatTests accept invitations",
        "send a file; quote a path with spaces": "words of the chat",
        "send a text that begins with a slash": "words of the chat",
        "send: note: if this relay is no longer used, give up what waits for it: sotto send --drop …":
            "needs a relay whose key is not trusted; CertificateTests drop what waits for it",
        "delete one that you left or did not enter: sotto group forget GROUP":
            "needs 1,000 groups, and has a name to fill in",
        "if you trust …, list …: sotto group policy … … | sotto encrypt | sotto send":
            "needs members who are no contacts; anAdminListsTheRelayOfAMember runs it",
        "make another member owner first: sotto group role … WHO owner | sotto encrypt | sotto send":
            "has a name to fill in; GroupToolTests run it",
        "make another member owner first: sotto group role … WHO owner --send; or give --anyway":
            "has a name to fill in; LeavingTests run it",
        "leave it first: sotto group leave … | sotto encrypt | sotto send":
            "needs members at a relay; c15AFloodOfInvitationsIsDropped leaves and forgets a group",
        "accept or decline them: sotto group list":
            "needs 20 invitations; c15AFloodOfInvitationsIsDropped lists them",
        "a group of more than 100 members causes much mail; announcements are better: sotto group policy … post=admin | sotto encrypt | sotto send":
            "needs a group of more than 100 members",
        "receive it first: sotto recv | sotto decrypt; or give --anyway":
            "needs mail that was received an hour ago; GroupToolTests run it",
        "make one: sotto group door --new-phrase … | sotto encrypt | sotto send":
            "needs a relay; RoomToolTests make a phrase",
        "fetch them with sotto recv | sotto decrypt, and accept again: sotto group accept … | sotto encrypt | sotto send":
            "needs a relay and a long log; GroupFileTests run it",
        "print the records again: sotto group sync | sotto encrypt | sotto send":
            "needs a file that was removed after 30 days",
        "the removed members know the phrase of the door; change it: sotto group door --new-phrase … | sotto encrypt | sotto send":
            "needs a relay; RoomToolTests make a phrase",
        "not in the words: the relay; to set it: sotto keygen set --relay URL…":
            "has an address to fill in",
        "not in the words: the passphrase of the file; to set one: sotto keygen passwd…":
            "asks for a passphrase on the terminal",
        "sotto keygen lock": "a note of keygen unlock, whose own tests run it",
        "sotto keygen lock --all": "needs a full keyring",
        "sotto relay check --store … --accept-clock":
            "needs another clock; the relay's tests run it",
        "sotto keygen public --uri | sotto qr -o code.png":
            "printed by sotto init; FirstMinuteTests run it",
        "sotto add FRIEND": "printed by sotto init, with a name to fill in",
        "sotto say FRIEND hello": "printed by sotto init, with a name to fill in",
        "none; to set it: sotto keygen set… --relay URL": "has an address to fill in",
        "to accept and read: sotto contact accept ……… | sotto decrypt…":
            "is printed on a terminal; aTerminalShowsHowToAcceptARequest pastes it",
        "sotto contact accept … | sotto decrypt":
            "the chat runs it; the hint of contact add has a case",
        "to accept and read: sotto contact accept ……… | sotto bridge open ……":
            "has a URL to fill in; Whisper2ContactTests accept an account",
        "scan the account's code, or add its URL: sotto contact add --name … URL":
            "has a URL to fill in; aPlaceholderCannotBeWrittenTo adds it",
        "add the account's URL with its signing key, skey: sotto contact add --name … URL":
            "has a URL to fill in; theURLWithTheSigningKeyCompletesTheContact adds it",
        "whose messages are not authenticated; to add the signing key: sotto contact add --name … URL":
            "has a URL to fill in; theURLWithTheSigningKeyCompletesTheContact adds it",
        "who cannot be written to; to add the key: sotto contact add --name … URL":
            "has a URL to fill in; aPlaceholderCannotBeWrittenTo adds it",
        "scan the account's code, or give its URL: sotto contact accept … URL":
            "has a URL to fill in; messagesOfUnknownAccountsWaitByWhisperID give it",
        "to read before you decide: sotto contact requests …… | … --preview --text……":
            "is printed on a terminal; aTerminalShowsHowToAcceptARequest pastes it",
        "to read them: «decryptCommand»":
            "is printed on a terminal; TerminalRecordTests run the whole command",
        "recv: note: … dead after five failures; to decrypt: sotto recv --dead… | sotto decrypt…":
            "needs five failures of a command; NothingLostTests run it",
        "give its authority with --ca FILE, or ask its operator for the pin of its key, and then, if it is your relay: sotto keygen set --relay …":
            "has a pin to fill in; CertificateTests expect the whole command",
        "to keep them: «fileCommand»":
            "is printed on a terminal; TerminalRecordTests expect the whole command",
        "…: note: a receipt is due; to mark as read and send it: sotto history read … --send":
            "is printed on a terminal; ShownMessageTests expect the whole command",
        "    sotto contact verify … NUMBER\\n": "printed by sotto add, with the number to fill in",
        "to tell them: sotto contact repair… --send…":
            "is printed on a terminal; LostStateTests tell the contacts",
        "to allow it without a question: sotto contact set … repair=auto":
            "needs a contact who lost a state; LostStateTests expect the whole command",
        "the relay had prekeys of a state that is lost; new ones replace them, and messages that were written with the old ones cannot be opened; to tell your contacts: sotto contact repair --send":
            "needs a relay and a lost state; PreKeyScheduleTests replace the prekeys",
        "you signed something that is later than this state, so it is an earlier one, or a copy of it is used; the next messages begin new sessions; to tell your contacts: sotto contact repair --send":
            "needs a state that was put back; TwoMachinesTests tell the contacts",
        "sotto history repeat …… --send":
            "the line about a lost state; LostStateTests expect the whole command",
        "sotto contact repair --send":
            "printed by sotto init --recover; LostStateTests tell the contacts",
        "sotto group sync --send":
            "printed by sotto init --recover; RestoredGroupTests ask the members",
        "sotto: note: what was encrypted waits in the outbox, and the next send delivers it; to see it: sotto send --list":
            "printed after Ctrl-C; anInterruptedMessageWaitsInTheOutbox runs it",
        "sotto read": "printed by sotto init --recover; VerbTests run it",
        "sotto: note: your identity is …, and its card is not published yet; to see what is missing: sotto whoami":
            "printed after Ctrl-C; anInterruptedInitNamesTheNextStep runs it",
        "  sotto history import state.age":
            "printed by sotto init --recover, with a name to fill in",
        "  sotto history import …": "printed by sotto init --recover after an import that failed",
        "  sotto history export --backup -o state.age":
            "printed by sotto init, for use after the first contact; keygen's hint has a case",
        "with a code from its operator, in a file: sotto recv --relay … --invitation @FILE:code":
            "needs a code of the operator; MemberProgramTests redeem one",
        "sotto recv --relay … --invitation @FILE:code":
            "needs a code of the operator; MemberProgramTests redeem one",
        "  sotto init --relay URL": "has an address to fill in; MemberProgramTests run it",
        "receive it: sotto recv | sotto decrypt": "needs a relay; WaitTests print it",
        "  sotto keygen words": "printed by sotto init; FirstMinuteTests run it",
        "everybody can enter with: sotto group join --nickname NAME … --send":
            "has a name to fill in",
        "sotto group join --nickname … … --send":
            "printed by sotto init for the room of a relay",
        "list them: sotto keygen chat --list": "StoredChatTests list the chats",
        "make an identity of it: sotto bridge import ecp1 …":
            "needs a key of another messenger; the tests of bridge import make one",
        "sotto owner … …": "words from which a user name is made",
        "make a room and its address: sotto group create --preset announcements --public-phrase PHRASE --nickname NAME NEWS --send":
            "has a phrase and names to fill in",
        "  sotto init --relay …": "printed with the code for a friend",
        "to list the tags: sotto relay invitations --store …":
            "needs the store of a relay; MemberProgramTests list invitations",
        "ask its owner for the id, then: sotto recv --card ID | sotto contact add":
            "has an id to fill in",
        "print them again: sotto keygen words":
            "asks for words on the terminal; FirstMinuteTests answer",
        "sotto: note: the words are not confirmed; to do it later: sotto keygen words --confirm":
            "printed by sotto init on a terminal; FirstMinuteTests run it",
        "  sotto keygen unlock": "asks for a passphrase on the terminal; UnlockTests run it",
        "sotto: warning: without a passphrase, a copy of the file is enough to read your messages and to write as you; add one with: sotto keygen passwd":
            "asks for a passphrase on the terminal",
        "sotto: left out, because the folder has a file with this name and length: …; to save one: sotto save NUMBER":
            "has a number to fill in; saveFetchesAndSaves saves one",
        "name the identity file itself: sotto history wipe -i FILE":
            "has a name to fill in, and removes the identity",
        "to remove them without a question: sotto history wipe --yes": "removes the identity",
        "To delete a message only here: sotto history delete": "the help of a subcommand",
        "sotto history --pinned prints the pinned messages.": "the help of a subcommand",
        "… was accepted because this id signed it; compare the safety number: sotto contact show …":
            "needs an accepted succession; RotationTests verify the contact",
        "the key that is offered for … is revoked: sotto contact keep-key …":
            "needs a succession; IdentityNewsTests revoke the new key",
        "to keep that for ever: sotto recv --card … | sotto contact add":
            "needs a relay with a revocation; RotationProgramTests run it",
        "the mail of your former identity was not fetched, because it is locked: sotto keygen unlock …":
            "asks for a passphrase on the terminal",
        "… to your former identity arrived; to read: sotto recv --again… | sotto decrypt…":
            "needs a relay; RotationProgramTests run it",
        "the mail of your former identity was not fetched; to try it: sotto recv… | sotto decrypt…":
            "needs a relay that is not there",
        "a thief of the old key can sign one too: ask … on another channel, then: «acceptKeyCommand», or sotto contact keep-key …":
            "needs a succession; RotationTests run both",
        "compare the safety number with … on another channel: sotto contact show …":
            "needs two successions; RotationTests make them",
        "compare the safety number: sotto contact show …":
            "needs an accepted succession; RotationTests compare the number",
        "make a new one: sotto keygen -o FILE, and give its card to your contacts":
            "has a name to fill in",
        "sotto qr scan PHOTO | sotto send": "printed on paper",
        "and give the same record to contacts: sotto qr scan PHOTO > FILE": "printed on paper",
        "They take it with: sotto contact add FILE": "printed on paper",
        "to print it again: sotto keygen rotate --again":
            "needs an identity that was replaced; RotationTests print it",
        "contacts do not know it yet; to publish it: sotto keygen rotate --again --send …":
            "is printed on a terminal",
        "to copy the contacts: sotto contact export -i … | sotto contact import -i …":
            "RotationTests copy the contacts",
        "to replace it: sotto keygen rotate -o FILE": "has a name to fill in",
        "this is the small picture; to save the whole one: sotto save …":
            "needs a picture at a relay; ProfilePictureTests save it",
        "the whole one, … bytes: sotto save …":
            "needs a picture at a relay; ProfilePictureTests save it",
        "the whole picture is not here any more, so new contacts get only the small one; to give it again: sotto contact profile set --avatar FILE":
            "has a name to fill in",
        "sotto history repeat … --send": "printed in the chat; LostStateTests run it",
        "sotto contact accept-key ……, or sotto contact keep-key …":
            "printed in the chat; KeyChangeTests show it, and TrustHints run both",
        "encrypt a file or pipe, or messages": "a line of the list of tools",
        "send a message to a contact or a group": "a line of the list of tools",
        "…; to end the membership: sotto relay admit --store … --remove …":
            "needs the store of a relay; MemberInvitationTests expect it",
        "the receipts in the file are not sent; to send them: sotto encrypt … --send":
            "the line about a file; VerbTests run it",
        "the receipts are lost, and the senders are not told; next time: sotto history read … --send":
            "what is lost is lost; VerbTests expect the command",
        "history: to send one again, by its number: sotto history repeat NUMBER --send":
            "has a number to fill in; UnsentTests expect it",
        "; those that were handed on or dropped: sotto history unsent --all":
            "the end of a line; UnsentTests expect it",
        "…; to see what sends them: sotto history unsent…":
            "a row of sotto whoami; whoamiNamesWhatIsNotAtTheRelay expects it",
        "… …; to send: sotto send < /dev/null":
            "a row of sotto whoami; whoamiNamesWhatIsNotAtTheRelay expects it",
        "refused: the relay serves only members, and you are not one, or no longer; with a new code from its operator: sotto recv… --invitation @FILE:code":
            "needs a code of the operator; MemberProgramTests redeem one",
        "to read them: sotto history …":
            "needs a group that is not here any more; NameRuleTests expect it",
        "… without a relay; to send what has none: sotto send --relay tcp://host:port < /dev/null":
            "has an address to fill in",
        "these wait until their relays can be reached; to try again: sotto send < /dev/null; to give one up: sotto send --drop ID":
            "has an id to fill in; whoamiNamesWhatIsNotAtTheRelay expects it",
        "sotto say…… …":
            "the command with files; sayRefusesInputThatIsNoText runs it",
        "to add it again, move its identity away: sotto device request --help":
            "needs a removed device; aRemovedMachineHearsOfItAndWritesNoMore expects it",
        "decrypt a file or messages; print only authentic data": "a line of the list of tools",
        "send envelopes through a relay, or keep them until it can be reached":
            "a line of the list of tools",
    ]

    static let cases =
        identityHints + cardHints + trustHints + requestHints + contactHints + composeHints
        + groupHints + fileHints + otherHints

    @Test(arguments: cases)
    func theCommandDoesWhatTheHintSays(_ item: HintCase) throws {
        let world = try HintWorld()
        let run = try item.situation(world)
        let line = try #require(
            run.said.first { HintText.matches($0, item.hint) }, "\(run.status): \(run.stderr)")
        let commands = HintText.commands(in: line)
        try #require(commands.count > item.choice, "\(line)")
        let pasted = try world.paste(
            commands[item.choice], as: item.person, text: item.typed(world))
        #expect(pasted.status == 0, "\(commands[item.choice]): \(pasted.stderr)")
        try item.result(world, pasted)
    }

    /// A new hint with a command needs a case in this folder or an exemption.
    @Test func everyHintInTheSourcesHasACase() throws {
        let known = Set(Self.cases.map(\.hint)).union(Self.exempt.keys)
        let found = try HintText.inSources()
        let missing = found.filter { !known.contains($0.key) }
        #expect(missing.isEmpty, "hints without a case")
        let gone = known.filter { found[$0] == nil }
        #expect(gone.isEmpty, "cases for hints that no longer exist")
    }

    /// An installation has `sotto`, but can lack the short names, and `history` is a command of many shells.
    @Test func everyCommandIsWrittenWithSotto() throws {
        let prose = Self.exempt.filter {
            [
                "an error message", "the help of an option", "a line of the list of tools",
                "words of the chat", "the name of a stored fact",
            ].contains($0.value)
        }
        for literal in try HintText.inSources().keys where prose[literal] == nil {
            #expect(HintText.shortNames(in: literal).isEmpty, "\(literal)")
        }
        #expect(
            HintText.shortNames(in: "get it: sotto recv --card 05 | contact add") == ["contact"])
        #expect(HintText.shortNames(in: "get it: recv --card 05 | sotto contact add") == ["recv"])
        #expect(
            HintText.shortNames(in: "get it: sotto recv --card 05 | sotto contact add").isEmpty)
    }

    @Test func commandsAreFoundInHints() {
        #expect(HintText.commands(in: "get it: recv --card 05ab | contact add").count == 1)
        #expect(HintText.commands(in: "contact accept-key bob, or contact keep-key bob").count == 2)
        #expect(HintText.commands(in: "name a file, with -o").isEmpty)
        #expect(
            HintText.literals(in: #"    hint: "see \(a(b("x"))): contact show \(c)") // "no""#)
                == ["see …: contact show …"])
        #expect(
            HintText.literals(in: #"hint: "get it: \(cardCommand(id))")"#) == [
                "get it: «cardCommand»"
            ])
        #expect(HintText.matches("x: get it: recv --card 05", "get it: «cardCommand»"))
        #expect(!HintText.matches("x: get it", "get it: «cardCommand»"))
    }
}
