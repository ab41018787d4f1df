import SottoState
import SottoWire

/// An effect that a ``DeliveryState`` asks for. The effects are performed in their order. The result of an effect, if it has one,
/// comes back to the state as a ``DeliveryEvent``.
enum DeliveryEffect: Sendable {
    // Effects on the outbox.

    /// Appends items of the input; ``DeliveryEvent/stored(_:)`` has their numbers.
    case append([Outbox.Item])
    /// Records outcomes, so that their results may be reported.
    case record([(number: Int64, outcome: String)])
    /// Looks for envelopes after a number, and for at most `blobs` blobs; ``DeliveryEvent/looked(isWaiting:blobs:)``.
    case look(after: Int64, blobs: Int)
    /// Reads envelopes after a number, at most `limit`; ``DeliveryEvent/read(_:last:limit:)``.
    case read(after: Int64, limit: Int)
    /// Reads blobs, at most `limit`; ``DeliveryEvent/blobs(_:)``.
    case readBlobs(limit: Int)
    /// Reads the envelopes for this relay that waited for a blob; ``DeliveryEvent/released(_:)``.
    case readReleased(by: String)
    /// Reads the envelopes for all relays that need a blob; ``DeliveryEvent/refused(_:_:)``.
    case readDependents(of: String, Refusal)
    /// Reads the numbers of all items; ``DeliveryEvent/numbers(_:)``.
    case readNumbers
    /// Reads the first numbers of envelopes, at most `limit`; ``DeliveryEvent/first(_:)``.
    case readFirst(limit: Int)
    /// Collects the outcomes that another process recorded, and with `isLast` counts the items that wait;
    /// ``DeliveryEvent/collected(_:left:)``.
    case collect(isLast: Bool)
    /// Takes the lock of the queue; ``DeliveryEvent/locked(_:)``.
    case lock
    /// Releases the lock of the queue.
    case unlock

    // Effects on other parts of this process.

    /// Reports results. Their outcomes were recorded before.
    case report([DeliveryResult])
    /// Lets the input continue after this number of batches.
    case admit(batches: Int)
    /// Asks whether deliveries to other relays will store blobs that are needed here; ``DeliveryEvent/waits(_:)``.
    case askWaits
    /// Solves a puzzle, which takes some seconds; ``DeliveryEvent/solved(_:)``.
    case solve(Response)
    /// Ends the delivery.
    case end(Delivery.Ending)

    // Effects on connections.

    /// Connects; ``DeliveryEvent/connected(generation:)`` or ``DeliveryEvent/failed(_:generation:)``.
    case connect(generation: Int)
    /// Writes lines to the connection.
    case write([UInt8])
    /// Closes the connection.
    case close
    /// Uploads a blob; ``DeliveryEvent/uploaded(_:_:)``.
    case upload(Int64, Outbox.Item)
    /// Lets blobs be tried again after an upload failed.
    case retryUploads
    /// Removes the file of a blob whose outcome is recorded.
    case removeFile(blob: String)
}

/// An event for a ``DeliveryState``.
enum DeliveryEvent: Sendable {
    // Events of other threads.

    /// The input has more items.
    case given([Outbox.Item])
    /// Items of this process are in the outbox.
    case stored([(number: Int64, item: Outbox.Item)])
    /// Another relay got a blob, or the delivery to it ended.
    case other
    /// The input has ended.
    case end
    /// The connection with this number is open.
    case connected(generation: Int)
    /// The connection could not be opened.
    case failed(ClientError, generation: Int)
    /// The relay sent a response.
    case response(Response, requestID: String?, generation: Int)
    /// The connection ended.
    case closed(ClientError, generation: Int)
    /// The upload of a blob ended.
    case uploaded(Int64, BlobUploader.Ending)

    // Results of effects.

    case looked(isWaiting: Bool, blobs: [(number: Int64, item: Outbox.Item)])
    /// `last` is the number of the newest item.
    case read([(number: Int64, item: Outbox.Item)], last: Int64, limit: Int)
    case blobs([(number: Int64, item: Outbox.Item)])
    case released([(number: Int64, item: Outbox.Item)])
    case refused([(number: Int64, item: Outbox.Item)], Refusal)
    case numbers(Set<Int64>)
    case first([Int64])
    /// `left` is the number of items that wait.
    case collected([(number: Int64, outcome: String)], left: Int)
    case locked(Bool)
    case waits(Bool)
    case solved(Request?)
}
