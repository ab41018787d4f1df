public import Sotto

/// A reason to refuse the accounts on a card.
public enum ProfileError: Error, Sendable, Equatable {
    /// An account is malformed.
    case malformed
    /// An account is not signed by its own key for the id of the card.
    case unproven
}

/// Another messenger in which an identity can have an account, with keys from the same words.
public enum Profile: String, Sendable, CaseIterable {
    /// A user id and an identity key, which is the identity's own Ed25519 key.
    case kecalek
    /// An id that the server assigned, and two keys.
    case whisper2
    /// A separate Session ID, and an RSA key.
    case mercurio
}

/// The accounts of a contact in other messengers: ids and public keys, which the holder pins.
///
/// In a card they are signed with the rest of the card. Accounts from a messenger's own code are as trustworthy as that
/// code.
public struct Profiles: Sendable, Hashable {
    /// The user's id in Kecalek and Message Flow, 1 to 255 bytes; the key is the identity's.
    public var kecalek: String?
    /// The Whisper2 account.
    public var whisper2: Whisper2Contact?
    /// The id of a Whisper2 account whose keys are not known, or `nil`. Only an address book has it, never a card.
    public var whisperID: WhisperID?
    /// The Mercurio account, whose RSA key is signed by its Session ID.
    public var mercurio: MercurioKeyBundle?
    /// For each account, the signature by the account's own key over the id that it belongs to. Without it an attacker
    /// could put another user's account on their own card.
    private(set) var proofs: [Profile: [UInt8]] = [:]

    /// Creates a set of accounts, empty by default.
    public init(
        kecalek: String? = nil, whisper2: Whisper2Contact? = nil,
        whisperID: WhisperID? = nil, mercurio: MercurioKeyBundle? = nil
    ) {
        self.kecalek = kecalek
        self.whisper2 = whisper2
        self.whisperID = whisper2 == nil ? whisperID : nil
        self.mercurio = mercurio
    }

    /// Whether it has no account.
    public var isEmpty: Bool {
        kecalek == nil && whisper2 == nil && whisperID == nil && mercurio == nil
    }

    /// Whether the accounts that both have, have the same keys and names.
    public func agree(with other: Profiles) -> Bool {
        func isSame<T: Equatable>(_ a: T?, _ b: T?) -> Bool { a == nil || b == nil || a == b }
        return isSame(kecalek, other.kecalek) && isSame(whisper2, other.whisper2)
            && isSame(mercurio?.id, other.mercurio?.id)
            && isSame(mercurio?.key, other.mercurio?.key)
    }

    /// The object in a card: `{"kecalek":{"userId"},"whisper2":{"id","key","skey"},"mercurio":{…}}`. `mercurio` is a
    /// ``MercurioKeyBundle``. In an address book, an account in Whisper2 can have only `id`.
    public var object: JSONObject {
        JSONObject([
            ("kecalek", kecalek.map { .object(["userId": .string($0)]) }),
            (
                "whisper2",
                whisper2.map { .object(proven(Self.object($0), .whisper2)) }
                    ?? whisperID.map { .object(["id": .string($0.description)]) }
            ),
            ("mercurio", mercurio.map { .object(proven($0.record, .mercurio)) }),
        ])
    }

    private func proven(_ object: JSONObject, _ profile: Profile) -> JSONObject {
        var object = object
        object["proof"] = proofs[profile].map { .base64($0) }
        return object
    }

    // MARK: Proofs

    /// `"sotto/profile/v1\0" ‖ profile ‖ "\0" ‖ the id's key (32 bytes) ‖` the account's canonical object without
    /// `proof`.
    private func message(_ profile: Profile, of id: KeyID) -> [UInt8] {
        let object =
            switch profile {
            case .kecalek: JSONObject()
            case .whisper2: whisper2.map(Self.object) ?? JSONObject()
            case .mercurio: mercurio?.record ?? JSONObject()
            }
        return Array("sotto/profile/v1\0".utf8) + Array(profile.rawValue.utf8) + [0]
            + id.publicKey + JSON.object(object).canonical()
    }

    /// Signs with the accounts' own keys that they belong to an identity.
    mutating func prove(for identity: Identity) throws(MnemonicError) {
        if whisper2 != nil {
            let keys = try identity.whisper2Keys()
            proofs[.whisper2] = keys.signing.sign(message(.whisper2, of: identity.id))
        }
        if mercurio != nil {
            let own = try identity.mercurioIdentity()
            proofs[.mercurio] = own.signing.sign(message(.mercurio, of: identity.id))
        }
    }

    /// Whether each account has a proof for an id. Kecalek needs none, because its key is the id's key.
    func areProven(for id: KeyID) -> Bool {
        func isProven(_ profile: Profile, by key: [UInt8]?) -> Bool {
            guard let key, let proof = proofs[profile] else { return false }
            return verifySignature(proof, of: message(profile, of: id), by: key)
        }
        return whisperID == nil
            && (whisper2 == nil || isProven(.whisper2, by: whisper2?.signingKey))
            && (mercurio == nil
                || mercurio?.signature != nil
                    && isProven(.mercurio, by: mercurio?.id.publicKey))
    }

    private static func object(_ contact: Whisper2Contact) -> JSONObject {
        JSONObject([
            ("id", .string(contact.id.description)),
            ("key", .base64(contact.encryptionKey)),
            ("skey", contact.signingKey.map { .base64($0) }),
        ])
    }

    /// Reads the object and verifies the signatures in it. Returns `nil` if it is malformed. Unknown messengers are
    /// ignored.
    public init?(_ object: JSONObject) {
        let fields = Fields<FieldError>(object)
        do throws(FieldError) {
            kecalek = try fields["kecalek"].optional?.members()["userId"].text {
                (1...255).contains($0.utf8.count) ? $0 : nil
            }
            if let account = try fields["whisper2"].optional?.members() {
                if account["key"].optional == nil, account["skey"].optional == nil {
                    whisperID = try account["id"].text { WhisperID($0) }
                } else {
                    whisper2 = try Self.whisper2(account)
                }
                proofs[.whisper2] = try? account["proof"].bytes()
            }
            if let account = try fields["mercurio"].optional?.members() {
                guard let bundle = try? MercurioKeyBundle(pinning: account.record) else {
                    return nil
                }
                mercurio = bundle
                proofs[.mercurio] = try? account["proof"].bytes()
            }
        } catch {
            return nil
        }
    }

    private static func whisper2(
        _ fields: Fields<FieldError>
    ) throws(FieldError) -> Whisper2Contact {
        let key = try fields["key"].bytes(count: 32)
        guard !X25519.isLowOrder(key) else { throw .member("key") }
        let signing = try fields["skey"].optional?.bytes(count: 32)
        if let signing, x25519PublicKey(fromEd25519: signing) == nil { throw .member("skey") }
        return Whisper2Contact(
            id: try fields["id"].text { WhisperID($0) }, encryptionKey: key, signingKey: signing)
    }
}

extension Card {
    /// Returns the owner's accounts in other messengers, after verifying the proof of each. A card from a URI names no accounts.
    ///
    /// Throws ``ProfileError``: a card with an account without a valid proof gives no accounts at all.
    public func profiles() throws(ProfileError) -> Profiles {
        if accounts.members.isEmpty { return Profiles() }
        guard let profiles = Profiles(accounts) else { throw .malformed }
        guard profiles.areProven(for: id) else { throw .unproven }
        return profiles
    }
}

extension Identity {
    /// The member of the identity record with the id of the owner's Whisper2 account, which its server assigned.
    private static let whisperIDMember = "whisper2"
    /// The member with the PKCS #8 PEM of the RSA key for Mercurio, which the words do not restore.
    public static let rsaMember = "rsa"

    /// Returns the members of an identity record for these keys.
    public static func members(
        whisperID: WhisperID? = nil, rsaKey: MercurioPrivateKey? = nil
    ) -> JSONObject {
        JSONObject([
            (whisperIDMember, whisperID.map { .string($0.description) }),
            (
                rsaMember,
                rsaKey.map { key in
                    .string(key.pem().withBytes { String(decoding: $0, as: UTF8.self) })
                }
            ),
        ])
    }

    /// Returns the id of the owner's Whisper2 account, or `nil` without such an account. Throws
    /// ``IdentityError/member(_:)`` for a malformed id.
    public func whisperID() throws(IdentityError) -> WhisperID? {
        try Fields<IdentityError>(otherMembers)[Self.whisperIDMember].optional?
            .text { WhisperID($0) }
    }

    /// Returns the RSA key for Mercurio, or `nil` without such a key. Throws ``IdentityError/member(_:)`` for a
    /// damaged key.
    public func rsaKey() throws(IdentityError) -> MercurioPrivateKey? {
        try Fields<IdentityError>(otherMembers)[Self.rsaMember].optional?
            .text { try? MercurioPrivateKey(pem: $0) }
    }

    /// Returns the signed public card with the owner's accounts in other messengers, each proven with its own key. The
    /// default for `relay` is the identity's relay.
    public func card(
        relay: String? = nil, profiles: Profiles, issued: Timestamp? = nil
    ) throws(MnemonicError) -> Card {
        var profiles = profiles
        try profiles.prove(for: self)
        return card(relay: relay, accounts: profiles.object, issued: issued)
    }
}
