import Glibc
import Sotto
import SottoContacts
import SottoState
import SottoTool

/// The mailboxes that get each message, and the keys for it.
struct Mailboxes {
    /// The protection of the messages.
    enum Method {
        /// A session if one exists or can begin, else `sealed`.
        case best
        case sealed
        case ratchet
        /// `phrase`, for the chat in this file.
        case phrase(chat: String)
    }

    /// Cards, ids and names of contacts.
    let to: [String]
    /// The group that gets the messages, or `nil`.
    let group: String?
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

    /// Whether the messages need the state, also without a history.
    var needsState: Bool {
        if case .ratchet = method { return true }
        return !session.bundles.isEmpty
    }
}

/// A chat that gets each message without an address, and the history that records it.
struct ChatTarget {
    /// The chat's file.
    let path: String
    let identity: IdentityChoice
    /// Seconds to wait for another process that uses the state; `nil` if no state is used.
    let lockTimeout: Double?
}

/// The recipients of messages, and the encryption for them.
struct Recipients {
    /// The recipients that the command line names.
    private enum Named {
        case chat(Destination)
        case mailboxes([Destination])
        case group(GroupRoute)
        /// None: each message names its own.
        case none
    }

    let keys: SuiteKeys
    private let ttl: Int64?
    /// The owner's own relay, or `nil`.
    let relay: String?
    let store: IdentityStore?
    private let named: Named
    let directory: RecipientDirectory?
    /// The blobs of composed messages; `nil` without a state.
    private let blobs: BlobFolder?
    /// The uploads of files about groups; `nil` without a state or a relay of the owner.
    let groupFiles: GroupFileUploads?
    /// The threads that encrypt, besides the calling one.
    let pool = ThreadPool(threads: ThreadPool.size - 1)

    /// A chat needs no identity, so a user without one can write to it. The history has the messages if an identity can
    /// be read without a prompt.
    init(_ chat: ChatTarget) throws {
        keys = SuiteKeys(identity: nil, chats: [try ChatFile.read(chat.path)])
        (ttl, relay) = (nil, nil)
        let book = AddressBook(chat.identity.load, lockTimeout: chat.lockTimeout)
        store = chat.lockTimeout == nil ? nil : try book.storeWithoutPrompt(chat.identity)
        named = .chat(.chat)
        directory = nil
        blobs = nil
        groupFiles = nil
    }

    init(_ mailboxes: Mailboxes) throws {
        let book = AddressBook(mailboxes.identity.load, lockTimeout: mailboxes.lockTimeout)
        let identity = try book.identity()
        var chats: [Chat] = []
        if case .phrase(let path) = mailboxes.method { chats = [try ChatFile.read(path)] }
        keys = SuiteKeys(identity: identity, chats: chats, classic: mailboxes.isClassic)
        ttl = mailboxes.ttl
        relay = identity.relay
        let usesState = mailboxes.lockTimeout != nil || mailboxes.needsState
        store = usesState ? try book.writableStore() : nil
        let directory = try RecipientDirectory(mailboxes, book, store, own: identity.id)
        if let group = mailboxes.group {
            named = .group(try directory.group(group))
        } else {
            named =
                mailboxes.to.isEmpty
                ? .none : .mailboxes(try directory.destinations(mailboxes.to, ttl: ttl))
        }
        self.directory = directory
        let blobs = store == nil ? nil : try BlobFolder(directory: .standard())
        self.blobs = blobs
        groupFiles = blobs.flatMap { blobs in
            identity.relay.map { GroupFileUploads(blobs, to: $0, of: identity.id) }
        }
    }

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
        /// A message with a time to live of 0 is not recorded.
        var isRecorded: Bool { ttl != 0 }

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
            let body = message.body
            guard let transaction, isRecorded, let peer = destination.id, body["expires"] == nil,
                let type = body["type"]?.string, ["text", "data", "file"].contains(type)
            else { return body }
            let seconds = try transaction.timer(for: peer)
            guard seconds > 0 else { return body }
            var limited = body
            limited["expires"] = .object(["after": .integer(seconds), "from": .string("read")])
            return limited
        }
    }

    /// Returns the serialized lines of each message, for each recipient one, or two with a blob, or its failure. The
    /// messages are in the history when this returns, except those with a time to live of 0. A thrown error ends the whole
    /// run: nothing was encrypted.
    func seal(_ messages: [MessageText]) throws -> [Result<[[UInt8]], Failure>] {
        do {
            return try sealWithRoutes(messages)
        } catch is MissingGroupRoute {
            // Another program changed a group meanwhile. Nothing was stored.
            groupFiles?.undo()
            try directory?.findAllRoutes()
            return try sealWithRoutes(messages)
        }
    }

    private func sealWithRoutes(
        _ messages: [MessageText]
    ) throws -> [Result<[[UInt8]], Failure>] {
        // The address book cannot be read within the transaction.
        let jobs = try messages.map { message in try result { try job(message) } }
        let isAnyRecorded = jobs.contains { (try? $0.get())?.isRecorded ?? false }
        guard let store, isAnyRecorded else { return try seal(jobs, nil) }
        let sealed = try store.transaction { transaction in try seal(jobs, transaction) }
        try groupFiles?.finish()
        for job in jobs {
            guard let job = try? job.get(), let digest = job.composed, let ids = job.upload else {
                continue
            }
            try blobs?.name(composed: digest, ids.all)
        }
        return sealed
    }

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

    private func job(_ message: MessageText) throws -> Job {
        let ttl = message.ttl ?? ttl ?? message.typicalTTL
        guard let directory else {
            if message.to != nil { throw Failure.otherRecipient }
            guard case .chat(let chat) = named else { throw Failure(.bug, "no recipient is known") }
            return job(message, ttl: ttl, to: [chat])
        }
        if let group = try group(of: message) {
            guard !ttl.isShortTTL else {
                throw Failure(
                    .usage,
                    "a message to a group needs a time to live of at least \(Envelope.minimumSessionTTL) seconds"
                )
            }
            var job = job(message, ttl: ttl, to: [])
            job.group = group
            return job
        }
        let destinations: [Destination]
        switch (named, message.to) {
        case (.mailboxes(let known), nil):
            let isUsual = ttl.isShortTTL == self.ttl.isShortTTL
            destinations =
                isUsual ? known : try directory.destinations(of: known, ttl: ttl)
        case (.mailboxes(let known), let to?):
            let person = try directory.person(named: to)
            guard known.map(\.id) == [person.id] else { throw Failure.otherRecipient }
            destinations = try directory.destinations(of: known, ttl: ttl)
        case (_, let to?):
            let destination = try directory.destination(directory.person(named: to), ttl: ttl)
            if destination.isUnlisted, message.body["type"]?.string == GroupBody.type {
                // The person is told after the group lists the relay.
                directory.noteUnlisted(1)
                return job(message, ttl: ttl, to: [])
            }
            destinations = [destination]
        case (_, nil):
            throw Failure(
                .malformed, "the record names no recipient",
                hint: "write messages with sotto compose, or name the recipient: --to CARD")
        }
        return job(message, ttl: ttl, to: destinations)
    }

    /// Returns the group that a message is for, or `nil`.
    private func group(of message: MessageText) throws -> GroupRoute? {
        switch (named, message.group) {
        case (.group(let group), nil):
            guard message.to == nil else { throw Failure.otherRecipient }
            return try directory?.group(group.id.description)
        case (.group(let group), let name?):
            guard try directory?.group(name).id == group.id else { throw Failure.otherRecipient }
            return group
        case (.none, let name?):
            guard message.to == nil else {
                throw Failure(.malformed, "the record names both a recipient and a group")
            }
            return try directory?.group(name)
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
