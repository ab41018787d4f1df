import Sotto
import SottoMessengers

extension FuzzTarget {
    /// A Whisper2 message, group message, call, attachment pointer or contacts backup. One that is read is written and
    /// read back unchanged, and is then opened.
    static let whisper2 = FuzzTarget("whisper2") { bytes in
        guard let record = object(bytes) else { return }
        if let message = try? Whisper2Message(record: record) {
            precondition((try? Whisper2Message(record: message.record)) == message)
            open(message)
        }
        if let message = try? Whisper2GroupMessage(record: record) {
            precondition((try? Whisper2GroupMessage(record: message.record)) == message)
            for member in message.messages {
                precondition((try? Whisper2Message(record: member.record)) == member)
            }
        }
        if let call = try? Whisper2Call(record: record) {
            precondition((try? Whisper2Call(record: call.record)) == call)
            _ = try? call.open(
                with: whisper2Reader, as: call.to, from: whisper2Reader.contact(call.frame.from))
        }
        if let pointer = try? Whisper2AttachmentPointer(record: record) {
            precondition((try? Whisper2AttachmentPointer(record: pointer.record)) == pointer)
            _ = try? pointer.fileKey(
                with: whisper2Reader, from: whisper2Reader.contact(.init(symbols: zeros)))
        }
        if let backup = try? Whisper2ContactsBackup(record: record) {
            precondition(Whisper2ContactsBackup(file: backup.file) == backup)
            _ = backup.open(with: whisper2Reader)
        }
    }

    /// The recipient's account.
    private static let whisper2Reader: Whisper2Keys = {
        do { return try reader.whisper2Keys() } catch { preconditionFailure("\(error)") }
    }()

    private static let zeros = [UInt8](repeating: 0, count: 10)

    private static func open(_ message: Whisper2Message) {
        let sender = whisper2Reader.contact(message.frame.from)
        _ = try? message.open(with: whisper2Reader, as: message.to, from: sender)
        let unknown = Whisper2Contact(
            id: sender.id, encryptionKey: sender.encryptionKey, signingKey: nil)
        let opened = try? message.open(
            with: whisper2Reader, as: message.to, from: unknown, allowUnverified: true)
        precondition(opened?.isVerified != true)
        // No field adds a line feed to the signed string.
        precondition(message.frame.canonical.count { $0 == UInt8(ascii: "\n") } == 8)
    }

    /// The URL of a Whisper2 contact, and a WhisperID. One that is read is written and read back unchanged.
    static let whisper2URL = FuzzTarget("whisper2-url") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        if let contact = try? Whisper2AddURL.contact(text) {
            precondition((try? Whisper2AddURL.contact(Whisper2AddURL.text(contact))) == contact)
        }
        if let id = WhisperID(text) {
            _ = id.isChecksumValid
            precondition(WhisperID(id.description) == id)
        }
    }

    /// An attachment. The bytes are read as a blob, and encrypted and decrypted as a file.
    static let whisper2Attachment = FuzzTarget("whisper2-attachment") { bytes in
        let key = SecretBytes(copying: [UInt8](repeating: 0, count: 32))
        do {
            let opened = try collect(Whisper2AttachmentReader(SeekableMemory(bytes), key: key))
            precondition(opened.count + Whisper2Attachment.overhead == bytes.count)
        } catch {}
        do {
            let blob = try collect(Whisper2AttachmentWriter(SeekableMemory(bytes), key: key))
            let file = try collect(Whisper2AttachmentReader(SeekableMemory(blob), key: key))
            precondition(file == bytes)
        } catch {
            preconditionFailure("\(error)")
        }
    }
}
