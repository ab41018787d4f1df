package import Sotto

/// A parser that reads what strangers write, as a function of bytes that must return whatever they are.
///
/// libFuzzer (`make fuzz`) and the tests, which replay `Fuzz/corpus`, both call ``run``. Some targets also hold the parser
/// to a law, such as that what it reads and writes again is read as the same; a broken one ends the program.
package struct FuzzTarget: Sendable {
    /// The name, which is also the folder of its inputs in `Fuzz/corpus`.
    package let name: String
    /// Parses the bytes.
    package let run: @Sendable ([UInt8]) -> Void

    init(_ name: String, _ run: @escaping @Sendable ([UInt8]) -> Void) {
        self.name = name
        self.run = run
    }

    /// Every target. Each has a folder in `Fuzz/corpus`, and may have words in `Fuzz/dictionary`.
    package static let all = [
        json, envelope, message, card, identity, ratchetMessage, contactURI, recipient, mnemonic,
        ageFile, armor, signedStream, sealed, padding, bundle, shainy, phrase, keyFile, kecalekQR,
        senderKey, messageFlow, whisper2, whisper2URL, whisper2Attachment, mercurio, mercurioKey,
        keptSession, ownFile, tampered, ageHeader, stanza, sshKey, minisign, codePart, picture,
        codeText, profiles, chat, frame, lines, relayURL, directory,
    ]

    /// The identity that the inputs are for: the words of sixteen zero bytes, known to everybody.
    package static let reader = Identity(
        mnemonic: Mnemonic(entropy: SecretBytes(copying: [UInt8](repeating: 0, count: 16))),
        name: "fuzz")

    /// The object that the bytes are; `nil` for anything else.
    static func object(_ bytes: [UInt8]) -> JSONObject? { try? JSON.object(parsing: bytes) }

    /// Reads a source to its end.
    static func drain(_ source: any ByteSource) throws -> Int {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var total = 0
        while true {
            let count = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
            if count == 0 { return total }
            total += count
        }
    }
}
