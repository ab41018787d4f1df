import Glibc
package import Sotto
package import SottoBytes
import SottoContacts
import SottoState
package import SottoTool

/// The mailboxes that get each message, and the keys for it.
package struct Mailboxes {
    /// The protection of the messages.
    package enum Method {
        /// A session if one exists or can begin, else `sealed`.
        case best
        case sealed
        case ratchet
        /// `phrase`, for the chat in this file or with this name.
        case phrase(chat: String)
    }

    /// Cards, ids and names of contacts.
    package let to: [String]
    /// The group that gets the messages, or `nil`.
    package let group: String?
    /// The time to live at the relay, in seconds, or `nil`.
    let ttl: Int64?
    let method: Method
    let session: SessionBeginning
    /// Whether classic keys are used in place of post-quantum ones.
    let isClassic: Bool
    let trust: TrustPolicy?
    let identity: IdentityChoice
    /// Seconds to wait for another process that uses the state; `nil` if no state is used.
    let lockTimeout: Double?
    let quiet: Bool

    package init(
        to: [String], group: String?, ttl: Int64?, method: Method, session: SessionBeginning,
        isClassic: Bool, trust: TrustPolicy?, identity: IdentityChoice, lockTimeout: Double?,
        quiet: Bool
    ) {
        (self.to, self.group, self.ttl, self.method) = (to, group, ttl, method)
        (self.session, self.isClassic, self.trust) = (session, isClassic, trust)
        (self.identity, self.lockTimeout, self.quiet) = (identity, lockTimeout, quiet)
    }

    /// Whether the messages need the state, also without a history.
    var needsState: Bool {
        if case .ratchet = method { return true }
        return !session.bundles.isEmpty
    }
}

/// A chat that gets each message without an address, and the history that records it.
package struct ChatTarget {
    /// The chat's file, or the name of a stored chat.
    let name: String
    let identity: IdentityChoice
    /// Seconds to wait for another process that uses the state; `nil` if no state is used.
    let lockTimeout: Double?

    /// Returns the chat, without an envelope for it.
    package func chat() throws -> Chat {
        try AddressBook(identity.load, lockTimeout: lockTimeout).chat(name)
    }

    package init(name: String, identity: IdentityChoice, lockTimeout: Double?) {
        (self.name, self.identity, self.lockTimeout) = (name, identity, lockTimeout)
    }
}

/// The recipients of messages, and the encryption for them.
package struct Recipients {
    /// The recipients that the command line names.
    private enum Named {
        case chat
        case mailboxes([Correspondent])
        case group(GroupID)
        /// None: each message names its own.
        case none
    }

    let keys: SuiteKeys
    private let ttl: Int64?
    /// The owner's own relay, or `nil`.
    let relay: String?
    let store: IdentityStore?
    /// Whether messages are in the history before their envelopes are returned.
    package var recordsMessages: Bool { store != nil }
    private let named: Named
    let directory: RecipientDirectory?
    /// The blobs of composed messages; `nil` without a state.
    let blobs: BlobFolder?
    /// The uploads of files about groups; `nil` without a state or a relay of the owner.
    let groupFiles: GroupFileUploads?
    /// Whether the envelopes do not go to `send` in this home, so that nothing is learned of their way.
    let isHandedOn: Bool
    /// The threads that encrypt, besides the calling one.
    package let pool = ThreadPool(beforeWaiting: FreedMemory.wipeCache)

    /// The file of a chat needs no identity, so a user without one can write to it. The history has the messages if an identity can
    /// be read without a prompt. The envelopes have no address, so `send` never gets them.
    package init(_ chat: ChatTarget) throws {
        isHandedOn = true
        (ttl, relay) = (nil, nil)
        let book = AddressBook(chat.identity.load, lockTimeout: chat.lockTimeout)
        keys = SuiteKeys(identity: nil, chats: [try book.chat(chat.name)])
        store = chat.lockTimeout == nil ? nil : try book.storeWithoutPrompt(chat.identity)
        named = .chat
        directory = nil
        blobs = nil
        groupFiles = nil
    }

    package init(_ mailboxes: Mailboxes, isHandedOn: Bool) throws {
        try self.init(
            mailboxes, AddressBook(mailboxes.identity.load, lockTimeout: mailboxes.lockTimeout),
            isHandedOn: isHandedOn)
    }

    /// Creates the recipients that an address book has.
    init(_ mailboxes: Mailboxes, _ book: AddressBook, isHandedOn: Bool) throws {
        self.isHandedOn = isHandedOn
        let identity = try book.identity()
        var chats: [Chat] = []
        if case .phrase(let name) = mailboxes.method { chats = [try book.chat(name)] }
        keys = SuiteKeys(identity: identity, chats: chats, classic: mailboxes.isClassic)
        ttl = mailboxes.ttl
        relay = identity.relay
        let usesState = mailboxes.lockTimeout != nil || mailboxes.needsState
        store = usesState ? try book.writableStore() : nil
        let directory = try RecipientDirectory(mailboxes, book, store, own: identity.id)
        let find: () throws -> Named = {
            if let group = mailboxes.group { return .group(try directory.memberGroup(group).id) }
            return mailboxes.to.isEmpty
                ? .none : .mailboxes(try directory.people(mailboxes.to, ttl: mailboxes.ttl))
        }
        named =
            try store.map {
                try $0.preview {
                    try $0.checkRevocation()
                    return try book.reading(in: $0, find)
                }
            } ?? find()
        self.directory = directory
        let blobs = try store.map { try BlobFolder(directory: $0.directory) }
        self.blobs = blobs
        groupFiles = blobs.flatMap { blobs in
            identity.relay.map { GroupFileUploads(blobs, to: $0, of: identity.device) }
        }
    }

    /// Notes that the envelopes of messages since a time could not be written: they were not handed on.
    package func noteUnwritten(since time: Timestamp) throws {
        guard isHandedOn else { return }
        try store?.transaction { try $0.takeBackHandedOn(since: time) }
    }

    /// The failure to exit with, because some recipients did not get a message that others got; else `nil`.
    package var unreached: Failure? { directory?.unreached }

    /// A message with its recipients.
    struct Job {
        let message: MessageText
        let ttl: Int64?
        let destinations: [Destination]
        /// The group that gets the message in place of ``destinations``.
        var group: GroupRoute?
        /// Makes the ids of the blob that `send` uploads; `nil` without one.
        let upload: BlobIDs?
        /// The digest of the blob if `compose file` stored it.
        let composed: [UInt8]?
        /// A message with a time to live of 0 is not recorded, and neither are the candidates of a call.
        var isRecorded: Bool { ttl != 0 && !message.isTransient && !isForOwnDevice }

        /// Whether the message is for another device of the owner, or asks for what they lack.
        var isForOwnDevice = false

        /// The id and the time of a message that another device of the owner wrote, which is in the history; `nil` for another one.
        var handedOver: (id: String, time: Timestamp)?

        /// Returns the upload of the message's blob for a recipient, and sets its place in the body; `nil` without one.
        func upload(
            to destination: Destination, _ body: inout JSONObject
        ) throws(Failure) -> Destination.Upload? {
            guard upload != nil else { return nil }
            guard destination.id != nil else {
                throw Failure(.bug, "a chat has no mailbox for a blob")
            }
            return try upload(at: destination.recipient?.notedRelay, &body)
        }

        /// Returns the upload of the blob of a message to a group: to the owner's own relay, once for all members. Sets its place
        /// in the body; `nil` without one.
        func upload(
            fromOwner relay: String?, _ body: inout JSONObject
        ) throws(Failure) -> Destination.Upload? {
            guard upload != nil else { return nil }
            guard let relay else {
                throw Failure(
                    .usage, "a file for a group needs a relay of your own",
                    hint: "make a relay yours: sotto keygen set --relay URL")
            }
            return try upload(at: relay, &body)
        }

        private func upload(
            at relay: String?, _ body: inout JSONObject
        ) throws(Failure) -> Destination.Upload {
            guard let ids = upload, var blob = body["blob"]?.object,
                let size = blob["size"]?.integer,
                let digest = blob["digest"]?.string.flatMap({ Base64.standard.decode($0) })
            else { throw Failure(.bug, "the message has no blob to upload") }
            let id = ids.make()
            blob["id"] = .base64(id)
            blob["relay"] = relay.map { .string($0) }
            body["blob"] = .object(blob)
            return Destination.Upload(id: id, size: size, digest: digest, relay: relay)
        }

        /// Returns the body for a recipient: with the lifetime that the timer of the conversation sets.
        func body(
            to destination: Destination, _ transaction: StateTransaction?
        ) throws(StateError) -> JSONObject {
            guard let transaction, isRecorded, handedOver == nil, let peer = destination.id else {
                return message.body
            }
            return StateTransaction.limited(
                message.body, by: try transaction.timer(for: peer))
        }
    }

    /// Returns the serialized lines of each message, for each recipient one, or two with a blob, or its failure. The
    /// messages are in the history when this returns, except those with a time to live of 0. A thrown error ends the whole
    /// run: nothing was encrypted.
    package func seal(_ messages: [MessageText]) throws -> [Result<[[UInt8]], Failure>] {
        let isAnyRecorded = messages.contains { self.ttl(of: $0) != 0 }
        guard let store, isAnyRecorded else {
            let sealed = try seal(
                messages.map { message in try result { try job(message, nil) } }, nil)
            directory?.reportReached()
            return sealed
        }
        let namesGroup = messages.contains { $0.group != nil }
        if namesGroup || isForGroup { try store.takeGroupFiles() }
        let (sealed, composed) = try store.transaction { transaction in
            try reading(in: transaction) {
                try computeSessions(messages, transaction)
                let jobs = try messages.map { message in
                    try result { try job(message, transaction) }
                }
                var sealed = try seal(jobs, transaction)
                let isDone = sealed.lastIndex { (try? $0.get()) != nil }
                if let last = isDone, case .success(let lines) = sealed[last] {
                    sealed[last] = .success(lines + (try dueLines(transaction)))
                }
                return (sealed, jobs.compactMap { try? $0.get() })
            }
        }
        directory?.reportBegunSessions()
        try groupFiles?.finish()
        for job in composed {
            guard let digest = job.composed, let ids = job.upload else { continue }
            try blobs?.name(composed: digest, ids.all)
        }
        directory?.reportReached()
        return sealed
    }

    /// Computes the sessions that begin with the recipients of several messages, on all threads.
    private func computeSessions(
        _ messages: [MessageText], _ transaction: StateTransaction
    ) throws {
        guard let directory, directory.beginsSessions else { return }
        var people: [Correspondent] = []
        if case .mailboxes(let known) = named { people = known }
        for message in messages where message.group == nil && !ttl(of: message).isShortTTL {
            guard messages.count > 1, let to = message.to,
                case .success(let person) = try result({ try directory.person(named: to) })
            else { continue }
            people.append(person)
        }
        let peers = Set(people.filter { $0.contact != nil }.map(\.id))
        if peers.count > 1 { try transaction.computeSessions(with: peers, on: pool) }
    }

    private func reading<T>(
        in transaction: StateTransaction, _ body: () throws -> T
    ) rethrows -> T {
        guard let directory else { return try body() }
        return try directory.book.reading(in: transaction, body)
    }

    /// The time to live of a message, in seconds, or `nil`.
    private func ttl(of message: MessageText) -> Int64? {
        message.ttl(asked: message.ttl ?? ttl)
    }

    private var isForGroup: Bool { if case .group = named { true } else { false } }

    /// Returns the digest of the message's blob if `compose file` stored it and no place in a relay is known.
    private func composedBlob(_ message: MessageText) -> [UInt8]? {
        guard message.upload == nil, let blobs, let blob = message.body["blob"]?.object,
            blob["id"] == nil, let digest = blob["digest"]?.string,
            let bytes = Base64.standard.decode(digest),
            access(blobs.composed(bytes), R_OK) == 0
        else { return nil }
        return bytes
    }

    private func job(
        _ message: MessageText, ttl: Int64?, to destinations: [Destination]
    ) -> Job {
        let composed = destinations.allSatisfy { $0.id != nil } ? composedBlob(message) : nil
        return Job(
            message: message, ttl: ttl, destinations: destinations,
            upload: composed == nil ? message.upload : BlobIDs(), composed: composed)
    }

    private func job(_ message: MessageText, _ transaction: StateTransaction?) throws -> Job {
        let ttl = ttl(of: message)
        guard let directory else {
            if message.to != nil { throw Failure.otherRecipient }
            return job(message, ttl: ttl, to: [.chat])
        }
        if let name = try group(of: message) {
            guard !message.isOfCall else { throw Failure.groupCall }
            guard try !directory.handsOver() else { throw StateError.privateDevices.failure }
            guard !ttl.isShortTTL else {
                throw Failure(
                    .usage,
                    "a message to a group needs a time to live of at least \(Envelope.minimumSessionTTL) seconds"
                )
            }
            guard let transaction else {
                throw Failure(
                    .usage, "a group requires the state directory", hint: "omit --stateless")
            }
            var job = job(message, ttl: ttl, to: [])
            job.group = try directory.group(name, transaction)
            return job
        }
        if message.body["type"]?.string == SyncBody.type {
            // The items for the devices are added to the output of the run.
            var job = job(message, ttl: ttl, to: [])
            job.isForOwnDevice = true
            return job
        }
        if message.isAboutDevices, let to = message.to, try directory.person(named: to).isOwn {
            let devices = try transaction?.otherDevices() ?? []
            var job = job(
                message, ttl: ttl,
                to: try devices.map {
                    try directory.device($0.card, suite: nil, isShort: false, transaction)
                })
            job.isForOwnDevice = true
            return job
        }
        // A recipient who lost a session opens it too, and so does one who has lost nothing.
        let isShort = ttl.isShortTTL || message.body["type"]?.string == RepairBody.type
        let destinations: [Destination]
        switch (named, message.to) {
        case (.mailboxes(let known), let to):
            if let to {
                let person = try directory.person(named: to)
                guard known.map(\.id) == [person.id] else { throw Failure.otherRecipient }
            }
            destinations = try known.map {
                try directory.destination($0, isShort: isShort, transaction)
            }
        case (_, let to?):
            // On another device, a note to oneself is for this one, and a body about a group or a lost state for the first one.
            let isNote =
                KeyID(to) == directory.own
                && ![GroupBody.type, RepairBody.type].contains(message.body["type"]?.string)
            if !isNote, let device = try KeyID(to).flatMap({ try directory.ownDevice($0) }) {
                var job = job(
                    message, ttl: ttl,
                    to: [
                        try directory.device(
                            device.card, suite: nil, isShort: isShort, transaction)
                    ])
                job.isForOwnDevice = true
                return job
            }
            let destination = try directory.destination(
                directory.person(named: to), isShort: isShort, transaction)
            if destination.isUnlisted, message.body["type"]?.string == GroupBody.type {
                // The person is told after the group lists the relay.
                if let transaction, let person = destination.id,
                    let group = try transaction.group(GroupBody(message.body).group)
                {
                    try directory.noteUnlisted([person], of: group, transaction)
                }
                return job(message, ttl: ttl, to: [])
            }
            destinations = [destination]
        case (_, nil):
            throw Failure(
                .malformed, "the record names no recipient",
                hint: "write messages with sotto compose, or name the recipient: --to CARD")
        }
        return try handingOver(job(message, ttl: ttl, to: destinations))
    }

    /// Returns a message without the recipients that it does not reach through machine one, which may run much later: a signal is
    /// dropped. Throws a failure with status 64 for a message that cannot wait, and for one about this device alone.
    private func handingOver(_ job: Job) throws -> Job {
        guard job.destinations.contains(where: \.isHandedOver) else { return job }
        switch job.message.body["type"]?.string {
        case "typing", "presence":
            return self.job(
                job.message, ttl: job.ttl, to: job.destinations.filter { !$0.isHandedOver })
        default:
            guard job.isRecorded, job.message.body.isHandedOver else {
                throw StateError.privateDevices.failure
            }
            return job
        }
    }

    /// Returns the name or id of the group that a message is for, or `nil`.
    private func group(of message: MessageText) throws -> String? {
        switch (named, message.group) {
        case (.group(let group), let name):
            let isSame = try name.map { try directory?.memberGroup($0).id == group } ?? true
            guard message.to == nil, isSame else { throw Failure.otherRecipient }
            return group.description
        case (.none, let name?):
            guard message.to == nil else {
                throw Failure(.malformed, "the record names both a recipient and a group")
            }
            return name
        case (_, nil): return nil
        case (_, _?): throw Failure.otherRecipient
        }
    }
}

extension Failure {
    fileprivate static let otherRecipient = Failure(
        .malformed, "the record names another recipient than the command line",
        hint: "omit the recipient on the command line")
}
