package import SottoContacts
package import Sotto
package import SottoState
package import SottoTool

/// The signers that `--from` requires.
package struct DemandedSigners: Sendable {
    package let all: [Correspondent]

    package init(_ arguments: [String], _ book: AddressBook) throws {
        all = try arguments.map { try book.find($0, for: .reading) }
    }

    package func find(_ signer: KeyID) -> Correspondent? { all.first { $0.id == signer } }

    /// Throws unless `signer` is one of the required signers, or none is required.
    package func check(_ signer: KeyID) throws(Failure) {
        guard all.isEmpty || find(signer) != nil else {
            throw Failure(
                .untrusted, "signed by \(signer), which is not the required signer",
                hint: "show the number of the signing key: sotto fingerprint \(signer)")
        }
    }
}

/// Decides whether a message is shown, depending on its sender.
package struct SenderPolicy: Sendable {
    /// The owner of the identity, whose messages to the own mailbox are accepted.
    package let owner: KeyID?
    package let signers: DemandedSigners
    /// The policy of `--trust`.
    package let policy: TrustPolicy?

    package enum Decision: Sendable {
        /// The message is shown.
        case accepted
        /// The message waits until the user decides about its sender.
        case request
        /// The message is dropped.
        case blocked
    }

    package init(owner: KeyID?, signers: DemandedSigners, policy: TrustPolicy?) {
        self.owner = owner
        self.signers = signers
        self.policy = policy
    }

    /// Decides about a message, and sets the name and trust of its sender in it.
    ///
    /// Without `--trust` and `--from`, messages of unknown senders become requests if the address book has contacts.
    /// Throws a failure with status 12 for a known sender who does not satisfy the policy.
    package func decide(
        _ message: inout Message, contact: Contact?, hasContacts: Bool
    ) throws(Failure) -> Decision {
        if contact?.isBlocked == true { return .blocked }
        guard let sender = message.from, message.authenticated else {
            return try decideUnproven(&message, contact)
        }
        message.name = nil
        message.trust = try trust(in: sender, contact)
        if let contact, !contact.name.isEmpty { message.name = contact.name }
        if message.name == nil, let name = signers.find(sender)?.card?.name, !name.isEmpty {
            message.name = name
        }
        if sender == owner { message.name = message.name ?? "me" }
        return try decide(sender, message.trust, hasContacts: hasContacts)
    }

    /// Throws the failure of ``decide(_:contact:hasContacts:)`` for the authentic messages of a sender.
    package func check(
        _ sender: KeyID, contact: Contact?, hasContacts: Bool
    ) throws(Failure) {
        guard contact?.isBlocked != true else { return }
        _ = try decide(sender, try trust(in: sender, contact), hasContacts: hasContacts)
    }

    private func trust(in sender: KeyID, _ contact: Contact?) throws(Failure) -> Message.Trust {
        try signers.check(sender)
        if sender == owner { return .verified }
        if contact?.doubt == .revoked, let failure = contact?.doubtFailure { throw failure }
        let trust = contact?.trust ?? .unverified
        return trust == .unverified && signers.find(sender) != nil ? .trusted : trust
    }

    private func decide(
        _ sender: KeyID, _ trust: Message.Trust, hasContacts: Bool
    ) throws(Failure) -> Decision {
        let policy =
            policy ?? (signers.all.isEmpty && hasContacts ? .firstUse : TrustPolicy.any)
        switch (policy, trust) {
        case (.any, _), (.firstUse, .trusted), (.firstUse, .verified), (.verified, .verified):
            return .accepted
        case (.firstUse, .unverified): return .request
        case (.verified, .unverified), (.verified, .trusted):
            throw Failure(
                .untrusted, "the sender's key, \(sender), has not been verified",
                hint: "compare the safety number: sotto fingerprint --with \(sender)")
        }
    }

    /// A message without an authenticated sender is shown unless `--from` or `--trust` requires one. If it claims an
    /// account that no contact has, it waits.
    private func decideUnproven(
        _ message: inout Message, _ contact: Contact?
    ) throws(Failure) -> Decision {
        message.name = contact.flatMap { $0.name.isEmpty ? nil : $0.name }
        message.trust = .unverified
        let isDemanded = message.from.map { signers.find($0) != nil } ?? false
        guard signers.all.isEmpty || isDemanded, policy == nil || policy == .any else {
            throw Self.unproven
        }
        let isKnown = message.from == nil || message.name != nil || isDemanded || policy == .any
        return isKnown ? .accepted : .request
    }

    /// Throws the failure for a message that waits for the keys of its sender, if `--from` or `--trust` requires a sender.
    package func checkUnknown() throws(Failure) {
        guard signers.all.isEmpty, policy != .verified else { throw Self.unproven }
    }

    private static let unproven = Failure(
        .untrusted, "the sender of the message is not authenticated")
}

extension SenderPolicy {
    /// Returns the message of a record in the state, with the current trust of its sender.
    package func recall(
        _ record: JSONObject, _ transaction: StateTransaction
    ) throws -> (message: Message, verdict: Decision) {
        guard var message = Message(record: record) else {
            throw Failure(.ioError, "a record in the state is damaged")
        }
        let verdict = try decide(
            &message, contact: try transaction.contact(of: message), hasContacts: false)
        return (message, verdict)
    }
}

extension StateTransaction {
    /// Returns the contact who sent a message, or claims to have sent it in a messenger without proof; else `nil`.
    func contact(of message: Message) throws(StateError) -> Contact? {
        guard let sender = message.from else { return nil }
        return try contact(id: sender)
    }
}

/// The key of the sender is revoked, which no later attempt changes.
struct RevokedSenderError: FailureError {
    let failure: Failure
}
