package import Sotto

/// A parser of untrusted input, as a function of bytes that must return for every input.
///
/// libFuzzer (`make fuzz`) and the tests, which replay `Fuzz/corpus`, call ``run``. Some targets also check a property,
/// for example that a value that is read is written and read back unchanged. A violation ends the program.
package struct FuzzTarget: Sendable {
    /// The name, which is also the name of its folder in `Fuzz/corpus`.
    package let name: String
    /// Parses the bytes.
    package let run: @Sendable ([UInt8]) -> Void

    init(_ name: String, _ run: @escaping @Sendable ([UInt8]) -> Void) {
        self.name = name
        self.run = run
    }

    /// All targets. Each has a folder in `Fuzz/corpus`, and may have words in `Fuzz/dictionary`.
    package static let all = [
        json, envelope, message, body, card, identity, ratchetMessage, contactURI, recipient,
        mnemonic,
        ageFile, armor, signedStream, sealed, padding, bundle, shainy, phrase, keyFile, kecalekQR,
        senderKey, messageFlow, whisper2, whisper2URL, whisper2Attachment, mercurio, mercurioKey,
        keptSession, ownFile, tampered, ageHeader, stanza, sshKey, minisign, codePart, picture,
        codeText, scanRecord, profiles, chat, chatScreen, frame, flowWire, lines, relayURL,
        directory,
        groupChange, groupBody, groupCopy, groupChain, room, meeting, devices,
    ]

    /// The recipient of the inputs. Its words are those of sixteen zero bytes and are public.
    package static let reader = Identity(
        mnemonic: Mnemonic(entropy: SecretBytes(copying: [UInt8](repeating: 0, count: 16))),
        name: "fuzz")

    /// Returns the JSON object of the bytes, or `nil` if they are not one.
    static func object(_ bytes: [UInt8]) -> JSONObject? { try? JSON.object(parsing: bytes) }

    /// Reads a source to its end and returns the number of bytes.
    static func drain(_ source: any ByteSource) throws -> Int {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var total = 0
        while true {
            let count = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
            if count == 0 { return total }
            total += count
        }
    }

    /// Reads a source to its end and returns the bytes.
    static func collect(_ source: any ByteSource) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var bytes: [UInt8] = []
        while true {
            let count = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }
}
