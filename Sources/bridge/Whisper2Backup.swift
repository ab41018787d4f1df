import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoState
import SottoTool

/// A contact in Whisper2's backup of an account's contacts: `{"whisperId","name","publicKey","signingPublicKey"}`, the
/// keys in base64.
struct Whisper2Entry {
    let account: Whisper2Contact
    let name: String

    /// Creates the entry of a contact. `nil` for a contact without a Whisper2 account, or with one that was only
    /// introduced.
    init?(_ contact: Contact) {
        guard let account = contact.profiles.whisper2, !contact.name.isEmpty,
            contact.binding(of: account) != .introduced
        else { return nil }
        self.account = account
        name = contact.name
    }

    /// Reads an entry. Entries without a name, or with the name `displayName`, are accepted too.
    init(_ value: JSON) throws {
        let entry = try Field<Whisper2RecordError>(name: "contacts", value: value).members()
        let id = try entry["whisperId"].text { WhisperID($0) }
        // The URL's parser refuses invalid keys.
        account = try Whisper2AddURL.contact(
            Whisper2AddURL.text(
                Whisper2Contact(
                    id: id, encryptionKey: entry["publicKey"].bytes(count: 32),
                    signingKey: entry["signingPublicKey"].nullable?.bytes(count: 32))))
        let name = (entry["name"].value ?? entry["displayName"].value)?.string ?? ""
        self.name = name.isEmpty ? id.description : name
    }

    /// The entry as JSON.
    var object: JSONObject {
        JSONObject([
            ("whisperId", .string(account.id.description)), ("name", .string(name)),
            ("publicKey", .base64(account.encryptionKey)),
            (
                "signingPublicKey",
                account.signingKey.map { .base64($0) }
            ),
        ])
    }
}

/// The complete backup.
enum Whisper2Backup {
    /// The maximum length of a backup file in bytes.
    static let limit = 64 << 20

    /// Encrypts contacts for the account of the identity's words.
    static func seal(_ entries: [Whisper2Entry], _ identity: Identity) throws
        -> Whisper2ContactsBackup
    {
        let content = JSONObject([("contacts", .array(entries.map { .object($0.object) }))])
        return Whisper2ContactsBackup(
            sealing: content.serialized(), with: try identity.whisper2Keys())
    }

    /// Returns the contacts of a backup in either format.
    static func open(_ bytes: [UInt8], _ identity: Identity) throws -> [JSON] {
        let record = bytes.first == UInt8(ascii: "{") ? try? JSON.object(parsing: bytes) : nil
        let backup =
            try record.map { try Whisper2ContactsBackup(record: $0) }
            ?? Whisper2ContactsBackup(file: bytes)
        guard let backup else {
            throw Failure(.malformed, "the input is too short for a backup of Whisper2's contacts")
        }
        guard let content = backup.open(with: try identity.whisper2Keys()) else {
            throw Failure(
                .noKey, "the backup cannot be decrypted with this identity's words",
                hint: "it belongs to another account or was modified")
        }
        return try Fields<Whisper2RecordError>(JSON.object(parsing: content))["contacts"].array()
    }
}
