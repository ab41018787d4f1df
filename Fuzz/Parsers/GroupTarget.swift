import Sotto

extension FuzzTarget {
    /// A change of a group, unchanged and with a new signature, without which mutations would fail the signature check. A
    /// change that is read is stored and read back unchanged.
    static let groupChange = FuzzTarget("group-change") { bytes in
        guard var record = object(bytes) else { return }
        read(change: record)
        record["by"] = .string(reader.id.description)
        record["device"] = record["by"]
        SignedRecord.sign(&record, with: reader.signingKey)
        read(change: record)
    }

    private static func read(change record: JSONObject) {
        guard let change = try? GroupChange(record) else { return }
        precondition(change.bytes.count <= GroupChange.limit)
        guard let stored = try? GroupChange(stored: change.bytes) else {
            preconditionFailure("a stored change is not read")
        }
        precondition(stored.id == change.id && stored.bytes == change.bytes)
        guard let log = GroupLog(change) else { return }
        precondition(log.fold().ranks[change.by] == .owner)
    }

    /// A body about a group or a content to a group. One that is read is written and read back unchanged.
    static let groupBody = FuzzTarget("group-body") { bytes in
        if let object = object(bytes), let body = try? GroupBody(object) {
            precondition((try? GroupBody(body.record))?.record == body.record)
            for record in body.changes { read(change: record) }
            for record in body.cards { _ = try? Card(record: record) }
            for message in body.history {
                let place = message["place"]?.object.flatMap { GroupContent.Place($0) }
                guard let place else { continue }
                precondition(GroupContent.Place(place.object) == place)
                precondition(Envelope.isID(place.id(body.group, reader.id)))
            }
            if let chain = body.chain { read(chain: chain) }
            if let room = body.room { _ = try? RoomKeys(room) }
        }
        guard let content = try? GroupContent(bytes) else { return }
        let again = try? GroupContent(content.bytes)
        precondition(again?.heads == content.heads && again?.state == content.state)
        precondition(again?.members == content.members)
    }

    /// A copy of a message to a group, and the message in it.
    static let groupCopy = FuzzTarget("group-copy") { bytes in
        var received = ReceivedGroupChain(chain.distribution)
        if let object = object(bytes), let copy = try? GroupCopy(payload: object) {
            precondition((try? GroupCopy(payload: copy.payload)) == copy)
            let address = GroupCopy.Address(
                id: "fuzz", to: reader.id, time: Timestamp(seconds: 0))
            precondition((try? received.message(in: copy, for: address)) == nil)
        }
        if let message = GroupMessage(bytes) {
            precondition(message.bytes == bytes)
            precondition((try? received.open(message)) == nil && received.iteration == 0)
        }
    }

    /// The distribution of a chain, unchanged and with a new id, without which mutations would fail the check of the id, and the
    /// stored forms of chains.
    static let groupChain = FuzzTarget("group-chain") { bytes in
        if let object = object(bytes) { read(chain: object) }
        if let chain = ReceivedGroupChain(encoded: bytes) { precondition(chain.encoded() == bytes) }
        if let chain = GroupChain(encoded: bytes) { precondition(chain.encoded() == bytes) }
    }

    private static let chain = GroupChain(
        group: GroupID([UInt8](repeating: 7, count: 32)), device: reader.id)

    private static func read(chain object: JSONObject) {
        read(distribution: object)
        let fields = Fields<FieldError>(object)
        guard let group = object["group"]?.string.flatMap({ GroupID($0) }),
            let key = try? fields["signingKey"].bytes(count: 32)
        else { return }
        let place = Array("sotto/chain/v1\0".utf8) + group.bytes + reader.id.publicKey + key
        var object = object
        object["chain"] = .string(hex(sha256(place)))
        read(distribution: object)
    }

    private static func read(distribution object: JSONObject) {
        guard let distribution = try? GroupChainDistribution(object, from: reader.id) else {
            return
        }
        let again = try? GroupChainDistribution(distribution.object(), from: reader.id)
        precondition(again?.chain == distribution.chain && again?.previous == distribution.previous)
        let chain = ReceivedGroupChain(distribution)
        precondition(chain.encoded().count == ReceivedGroupChain.fixedBytes)
        precondition(ReceivedGroupChain(encoded: chain.encoded())?.encoded() == chain.encoded())
    }
}
