import Sotto
import SottoContacts
import SottoState
import SottoTool

/// The signers that `--from` demands.
struct DemandedSigners {
    let all: [Correspondent]
    /// Accounts of Whisper2 without a signing key: what they sent can be opened, and proves nothing.
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

    /// Whoever of them has this account.
    func find(_ account: WhisperID) -> Correspondent? {
        all.first { $0.profiles.whisper2?.id == account }
    }

    /// Throws unless `signer` is one of those demanded, or none are.
    func check(_ signer: SessionID) throws(Failure) {
        guard all.isEmpty || find(signer) != nil else {
            throw Failure(
                .untrusted, "signed by \(signer), which is not the demanded signer",
                hint: "see the number of the key that signed: fingerprint \(signer)")
        }
    }
}

/// What is done with a message for its sender's sake.
struct SenderJudgement {
    /// The owner of the identity, whose notes to oneself are welcome.
    let owner: SessionID?
    let signers: DemandedSigners
    /// What `--trust` says.
    let policy: TrustPolicy?

    enum Verdict {
        /// It is shown.
        case welcome
        /// It waits until somebody decides about its sender.
        case stranger
        /// It is dropped.
        case blocked
    }

    /// Judges a message and writes on it what is known of its sender.
    ///
    /// Without `--trust` and `--from`, strangers are told from others as soon as there are contacts to tell them
    /// from. Throws a failure with status 12 for a sender who is known and not good enough.
    func judge(
        _ message: inout Message, contact: Contact?, hasContacts: Bool
    ) throws(Failure) -> Verdict {
        if contact?.isBlocked == true { return .blocked }
        guard let sender = message.from else { return try judgeUnproven(&message) }
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
            return .welcome
        case (.firstUse, .unverified): return .stranger
        case (.verified, .unverified), (.verified, .trusted):
            throw Failure(
                .untrusted, "the sender's key, \(sender), has not been verified",
                hint: "compare the safety number: fingerprint --with \(sender)")
        }
    }

    /// A message that nothing ties to anybody is shown unless somebody was demanded.
    private func judgeUnproven(_ message: inout Message) throws(Failure) -> Verdict {
        message.name = nil
        message.trust = .unverified
        guard signers.all.isEmpty, policy == nil || policy == .any else {
            throw Failure(.untrusted, "nothing proves who wrote the message")
        }
        return .welcome
    }
}
