import Sotto
import SottoContacts
import SottoState
import SottoTool

/// Encryption of a batch of messages. The calling thread takes the places of the messages in the sessions and stores their
/// rows, both in the order of the input. The threads of the pool encrypt the messages and their rows.
extension Recipients {
    /// The number of messages in a slice of a batch.
    private static let slice = 128

    /// Returns the lines of each message or its failure. `transaction` is `nil` if no message is recorded.
    func seal(
        _ jobs: [Result<Job, Failure>], _ transaction: StateTransaction?
    ) throws -> [Result<[[UInt8]], Failure>] {
        var sealed: [Result<[[UInt8]], Failure>] = []
        sealed.reserveCapacity(jobs.count)
        var start = 0
        for (place, job) in jobs.enumerated() {
            guard let job = try? job.get(), job.changesLater else { continue }
            try seal(jobs[start..<place], transaction, &sealed)
            sealed.append(try result { try seal(alone: job, transaction) })
            start = place + 1
        }
        try seal(jobs[start...], transaction, &sealed)
        return sealed
    }

    /// Encrypts messages that do not change each other, on all threads.
    private func seal(
        _ jobs: ArraySlice<Result<Job, Failure>>, _ transaction: StateTransaction?,
        _ sealed: inout [Result<[[UInt8]], Failure>]
    ) throws {
        let (keys, store) = (keys, store)
        try pool.inOrder(
            jobs.count, slice: Self.slice,
            begin: { slice in
                try jobs.dropFirst(slice.lowerBound).prefix(slice.count).map { job in
                    try result { try plan(job.get(), transaction) }
                }
            },
            make: { plans in
                plans.map { plan in
                    Result { try result { try plan.get().encrypted(keys, store) } }
                }
            },
            end: { results in
                for encrypted in results {
                    sealed.append(
                        try result {
                            let encrypted = try encrypted.get().get()
                            return try record(encrypted, transaction)
                        })
                }
            })
    }

    /// Encrypts a message after all messages before it are stored, and before the next one is planned.
    private func seal(alone job: Job, _ transaction: StateTransaction?) throws -> [[UInt8]] {
        if let group = job.group {
            guard let transaction else {
                throw Failure(.bug, "a message to a group has no transaction")
            }
            return try seal(job, to: group, transaction)
        }
        if job.isAboutGroup {
            // The body can contain keys, so the history does not have it.
            let body = try GroupBody(job.message.body)
            return try job.destinations.flatMap { destination in
                var body = body
                if let person = destination.id, let transaction,
                    try transaction.removeLostRights(from: &body, of: person)
                {
                    directory?.noteLostRights()
                }
                let lines = try tell(
                    body, job, to: destination,
                    job.isRecorded || job.isForOwnDevice ? transaction : nil)
                directory?.noteReached(destination)
                return lines.map { $0.serialized() }
            }
        }
        return try record(plan(job, transaction).encrypted(keys, store), transaction)
    }

    /// Stores the rows of a message. Returns its lines. The recipients who do not get it are reported.
    private func record(
        _ encrypted: EncryptedMessage, _ transaction: StateTransaction?
    ) throws(StateError) -> [[UInt8]] {
        for row in encrypted.rows { try transaction?.record(row) }
        if !encrypted.rows.isEmpty {
            for (message, copies) in encrypted.copies {
                try transaction?.noteCopies(copies, of: message)
            }
        }
        for destination in encrypted.reached { directory?.noteReached(destination) }
        for (name, failure) in encrypted.failures { directory?.noteFailed(name, failure) }
        return encrypted.lines
    }

    /// Encrypts a body about a group for a person. Returns the envelope's line, after the record of the blob that it needs if that
    /// is new.
    private func tell(
        _ body: GroupBody, _ job: Job, to destination: Destination,
        _ transaction: StateTransaction?
    ) throws -> [JSONObject] {
        var body = body
        var upload: (blob: BlobRecord, isNew: Bool)?
        if var file = body.file, file.pointer.place == nil {
            guard let groupFiles, transaction != nil else {
                throw Failure(
                    .usage, "a file with changes of a group needs the state and a relay of your own"
                )
            }
            upload = try groupFiles.place(&file)
            body.file = file
        }
        let draft = Draft(
            body: body.record, extra: job.message.extra, milliseconds: Timestamp.milliseconds(),
            ttl: job.ttl)
        let envelope = try plan(draft, destination.route, transaction).envelope(keys)
        if let member = destination.id {
            try transaction?.noteSealed(body, to: member, in: isHandedOn ? nil : envelope.id)
        }
        var line = destination.line(envelope)
        guard let upload else { return [line] }
        line["blob"] = .string(upload.blob.name)
        return (upload.isNew ? [upload.blob.record] : []) + [line]
    }

    /// Takes the places of a message in the sessions with its recipients.
    func plan(_ job: Job, _ transaction: StateTransaction?) throws -> PlannedMessage {
        let milliseconds =
            job.handedOver.map { $0.time.seconds * 1000 } ?? Timestamp.milliseconds()
        var bodies = try job.destinations.map { try job.body(to: $0, transaction) }
        let again = try uploadAgain(of: job.message.body)
        let uploads = try job.destinations.indices.map {
            try job.upload(to: job.destinations[$0], &bodies[$0]) ?? again
        }
        var deviceCopies: [[PlannedMessage.DeviceCopy]] = []
        let copies = try zip(job.destinations, bodies).map { destination, body in
            let routes = try directory?.devices(
                of: destination, isShort: job.isShort, transaction)
            var devices: [PlannedMessage.DeviceCopy] = []
            defer { deviceCopies.append(devices) }
            return try result {
                var extra = job.message.extra
                if let transaction, job.isRecorded || job.isForOwnDevice,
                    let card = try directory?.card(
                        for: destination, with: body, extra, transaction)
                {
                    extra.append(("card", .object(card)))
                }
                let draft = Draft(
                    body: body,
                    extra: extra + (routes.map { [("list", .integer($0.list))] } ?? []),
                    id: job.handedOver?.id ?? Envelope.newID(), milliseconds: milliseconds,
                    ttl: job.ttl)
                let copy = try plan(draft, destination.route, transaction)
                devices = try (routes?.devices ?? []).map { device in
                    let destination = device.destination
                    return PlannedMessage.DeviceCopy(
                        name: device.name, destination: try? destination.get(),
                        copy: try result {
                            try plan(
                                Draft(
                                    body: body,
                                    extra: extra + [("original", .string(draft.id))],
                                    milliseconds: milliseconds, ttl: job.ttl),
                                destination.get().route, transaction)
                        })
                }
                return copy
            }
        }
        var places: [ConversationPlace?]?
        if let transaction, job.isRecorded, !job.isAboutGroup, job.handedOver == nil {
            places = try job.destinations.map {
                try transaction.place(of: conversation(with: $0, transaction.owner.id))
            }
        }
        return PlannedMessage(
            message: job.message, time: Timestamp(seconds: milliseconds / 1000),
            destinations: job.destinations, bodies: bodies, uploads: uploads, copies: copies,
            deviceCopies: deviceCopies, places: places, isHandedOn: isHandedOn)
    }

    /// Returns the upload of the file of a message that is sent again, if its ciphertext is still here.
    private func uploadAgain(of body: JSONObject) throws(StateError) -> Destination.Upload? {
        guard let blobs, body["type"]?.string == RepeatedMessages.type,
            let message = body["history"]?.array?.first?.object,
            let file = message["body"]?.object.flatMap({ try? MessageBody($0) }),
            case .file(let content) = file.kind, let blob = content.blob, let place = blob.place,
            try blobs.prepareAgain(blob)
        else { return nil }
        return Destination.Upload(
            id: place.id, size: blob.size, digest: blob.digest, relay: place.relay)
    }

    private func conversation(
        with destination: Destination, _ owner: KeyID
    ) -> Conversation {
        if let chat = keys.chats.first?.details["id"]?.string { return .chat(chat) }
        return .peer(destination.id ?? owner)
    }

    func plan(
        _ draft: Draft, _ route: Destination.Route, _ transaction: StateTransaction?
    ) throws -> PlannedMessage.Copy {
        switch route {
        case .suite(let suite, let recipient): return .suite(suite, recipient, draft)
        case .session(let peer):
            guard let transaction else { throw SessionError.nothingToSendWith(peer) }
            return .session(try transaction.prepare(draft, to: peer))
        case .machineOne: return .machineOne(draft)
        }
    }

    /// Encrypts a message for the members of a group. Before it, members get the chain and the changes that they lack.
    private func seal(
        _ job: Job, to route: GroupRoute, _ transaction: StateTransaction
    ) throws -> [[UInt8]] {
        guard let group = try transaction.group(route.id) else {
            throw GroupError.unknown
        }
        guard !job.message.isOfCall else {
            throw Failure.groupCall
        }
        let milliseconds = Timestamp.milliseconds()
        var body = group.sendable(job.message.body)
        if case .timer(let seconds)? = group.state.values["timer"] {
            body = StateTransaction.limited(body, by: seconds)
        }
        let sending = try transaction.prepareMessage(
            to: group, at: Timestamp(seconds: milliseconds / 1000))
        // A member without a route gets no copy.
        let readers = sending.readers.filter(route.reaches)
        let withheld = sending.withheld.filter { !route.isBlocked($0) }
        let lacking = sending.readers.filter(route.misses) + withheld
        // Without readers nothing needs the file at the relay.
        let upload =
            readers.isEmpty
            ? nil : try job.upload(fromOwner: relay, &body) ?? uploadAgain(of: body)
        let blob = upload?.record(to: transaction.owner.device)
        var lines: [JSONObject] = blob.map { [$0.record] } ?? []
        var sealedNames: [String] = []
        let seats = Dictionary(uniqueKeysWithValues: sending.seats.map { ($0.device, $0) })
        var failed: Set<KeyID> = []
        // The message is encrypted first: if it is refused, no member is told anything.
        let draft = Draft(
            body: body, extra: job.message.extra, milliseconds: milliseconds, ttl: job.ttl)
        let sealed = try transaction.seal(draft, sending, to: readers)
        for (member, body) in sending.bodies {
            guard route.reaches(member), let directory else { continue }
            // After a failure the member gets nothing more, so that all of it comes with the next message.
            guard !failed.contains(member) else { continue }
            guard let seat = seats[member] else { continue }
            let person = Correspondent(
                seat, contact: try transaction.readableContact(id: seat.member),
                card: sending.notes[seat.member]?.card,
                isOwn: seat.member == transaction.owner.id)
            let name = person.name
            switch try result({
                // A message before this one in the batch can have changed who is told something.
                let destination =
                    try route.destinations[member]
                    ?? directory.destination(of: seat, person, route.relays, transaction)
                return (
                    lines: try tell(body, .empty, to: destination, transaction),
                    route: destination.route
                )
            }) {
            case .success(let told):
                lines += told.lines
                if body.chain != nil, case .suite = told.route { sealedNames.append(name) }
            case .failure(let failure):
                failed.insert(member)
                directory.noteUnreached(name, failure)
            }
        }
        try transaction.noteWaiting(Array(failed), in: group)
        try transaction.noteOwed(sealed.message, to: lacking, in: group)
        try transaction.notePaid(
            by: job.message.body,
            zip(readers, sealed.envelopes).map { ($0, isHandedOn ? nil : $1.id) }, in: group)
        directory?.noteSealed(sealedNames)
        try directory?.noteWithheld(withheld, from: group, transaction)
        try directory?.noteInvited(group, transaction)
        if sending.readers.isEmpty, withheld.isEmpty {
            try directory?.noteUnread(group, transaction)
        }
        for (member, envelope) in zip(readers, sealed.envelopes) {
            guard var line = route.line(envelope, to: member) else { continue }
            if let blob { line["blob"] = .string(blob.name) }
            lines.append(line)
        }
        try transaction.recordSent(
            sealed.message, state: isHandedOn ? .handedOn : .new)
        func people(_ devices: [KeyID]) -> Int {
            Set(devices.map { route.group.log.member(of: $0) }).subtracting([
                transaction.owner.id
            ]).count
        }
        try directory?.noteReached(
            group, members: people(readers), lacking: people(lacking), transaction)
        return lines.map { $0.serialized() }
    }
}

extension Recipients.Job {
    /// Whether the message is about a group, for one member.
    fileprivate var isAboutGroup: Bool { message.body["type"]?.string == GroupBody.type }

    /// Whether the message takes no step of a session: one with a short time to live, and one for a recipient who may have lost
    /// the session.
    fileprivate var isShort: Bool {
        ttl.isShortTTL || message.body["type"]?.string == RepairBody.type
    }

    /// A job without a message, for what a member is told before a message to the group.
    fileprivate static let empty = Recipients.Job(
        message: MessageText(body: [:], extra: []), ttl: nil, destinations: [], upload: nil,
        composed: nil)

    /// Whether the message changes how later ones are encrypted: a timer sets their lifetimes, and a message to or about a
    /// group has its own order of chain, changes and notes.
    fileprivate var changesLater: Bool {
        group != nil || isAboutGroup || message.body["type"]?.string == "timer"
    }
}

extension Failure {
    /// The refusal of a call to a group.
    static var groupCall: Failure {
        Failure(.usage, "a call is between two people, and this is a group")
    }
}
