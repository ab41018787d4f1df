import Sotto
import SottoContacts
import SottoState
import SottoTool

/// The signers that `--from` requires.
struct DemandedSigners {
    let all: [Correspondent]
    /// Whisper2 accounts without a signing key: their messages can be decrypted but not authenticated.
    let bare: [Whisper2Contact]

    init(_ arguments: [String], _ book: AddressBook) throws {
        var all: [Correspondent] = []
        var bare: [Whisper2Contact] = []
        for argument in arguments {
            if RecipientArgument.isWhisper2(argument),
                case let account = try book.whisper2(argument), account.signingKey == nil
            {
                bare.append(account)
            } else {
                all.append(try book.find(argument))
            }
        }
        (self.all, self.bare) = (all, bare)
    }

    func find(_ signer: SessionID) -> Correspondent? { all.first { $0.id == signer } }

    /// Returns the signer that has this account, or `nil`.
    func find(_ account: WhisperID) -> Correspondent? {
        all.first { $0.profiles.whisper2?.id == account }
    }

    /// Throws unless `signer` is one of the required signers, or none is required.
    func check(_ signer: SessionID) throws(Failure) {
        guard all.isEmpty || find(signer) != nil else {
            throw Failure(
                .untrusted, "signed by \(signer), which is not the required signer",
                hint: "show the number of the signing key: fingerprint \(signer)")
        }
    }
}

/// Decides whether a message is shown, depending on its sender.
struct SenderPolicy {
    /// The owner of the identity, whose messages to the own mailbox are accepted.
    let owner: SessionID?
    let signers: DemandedSigners
    /// The policy of `--trust`.
    let policy: TrustPolicy?

    enum Decision {
        /// The message is shown.
        case accepted
        /// The message waits until the user decides about its sender.
        case request
        /// The message is dropped.
        case blocked
    }

    /// Decides about a message, and sets the name and trust of its sender in it.
    ///
    /// Without `--trust` and `--from`, messages of unknown senders become requests if the address book has contacts.
    /// Throws a failure with status 12 for a known sender who does not satisfy the policy.
    func decide(
        _ message: inout Message, contact: Contact?, hasContacts: Bool
    ) throws(Failure) -> Decision {
        if contact?.isBlocked == true { return .blocked }
        guard let sender = message.from else { return try decideUnproven(&message) }
        try signers.check(sender)
        message.name = nil
        message.trust = contact?.trust ?? .unverified
        if let contact, !contact.name.isEmpty { message.name = contact.name }
        if let signer = signers.find(sender) {
            if message.name == nil, let name = signer.card?.name, !name.isEmpty {
                message.name = name
            }
            if message.trust == .unverified { message.trust = .trusted }
        }
        if sender == owner {
            message.name = message.name ?? "me"
            message.trust = .verified
        }
        let policy =
            policy ?? (signers.all.isEmpty && hasContacts ? .firstUse : TrustPolicy.any)
        switch (policy, message.trust) {
        case (.any, _), (.firstUse, .trusted), (.firstUse, .verified), (.verified, .verified):
            return .accepted
        case (.firstUse, .unverified): return .request
        case (.verified, .unverified), (.verified, .trusted):
            throw Failure(
                .untrusted, "the sender's key, \(sender), has not been verified",
                hint: "compare the safety number: fingerprint --with \(sender)")
        }
    }

    /// A message without an authenticated sender is shown unless `--from` or `--trust` requires one.
    private func decideUnproven(_ message: inout Message) throws(Failure) -> Decision {
        message.name = nil
        message.trust = .unverified
        guard signers.all.isEmpty, policy == nil || policy == .any else {
            throw Failure(.untrusted, "the sender of the message is not authenticated")
        }
        return .accepted
    }
}
