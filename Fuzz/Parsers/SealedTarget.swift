import Sotto
import SottoPadding

extension FuzzTarget {
    /// The content of a sealed envelope whose signature and encryption are valid. The bytes are used as the message
    /// record and as the padded frame.
    static let sealed = FuzzTarget("sealed") { bytes in
        guard bytes.count <= Sealed.recordLimit, let frame = try? Padding.frame(bytes) else {
            return
        }
        let record = object(bytes)
        open(frame, as: record)
        if bytes.count <= Padding.buckets.last! { open(bytes, as: record) }
    }

    private static func open(_ frame: [UInt8], as record: JSONObject?) {
        let recipient = AgeRecipient.x25519(reader.ageKey.recipient)
        let file = MemorySink()
        do {
            let stream = try SignedStreamWriter(
                by: reader.signingKey, audience: SignedStream.audience([recipient.text]),
                to: try AgeFile.writer(for: .recipients([recipient]), to: file))
            try stream.write(frame)
            try stream.finish()
        } catch {
            preconditionFailure("\(error)")
        }
        let time = record?["time"]?.string.flatMap { Timestamp($0) }
        let envelope = Envelope(
            id: record?["id"]?.string ?? Envelope.newID(), suite: .sealed, to: reader.id,
            time: time ?? Timestamp(seconds: 0),
            payload: ["age": .string(Base64.standard.encode(file.bytes))])
        guard let message = try? Sealed.open(envelope, with: reader) else { return }
        precondition(Message(record: message.record) == message)
    }
}
