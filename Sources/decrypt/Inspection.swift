import Sotto
import SottoContacts
import SottoMessages
import SottoTool

/// Describes an age file without a key.
struct Inspection {
    let file: String?
    let isJSON: Bool
    let output: String?

    func run() throws {
        let input = try Input(path: file)
        let output = try Output(path: output, content: .text, inputs: [input])
        let source = PeekingSource(input)
        try source.skipByteOrderMark()
        guard try AgeFormat.isAge(source.peek(InputDecryption.beginningSize)) else {
            throw Failure(.malformed, "the input is not an age file")
        }
        let file = try AgeInspection(source)
        if isJSON {
            try output.writeLine(record(file))
        } else {
            try output.writeText(text(file))
        }
        try output.finish()
    }

    private func record(_ file: AgeInspection) -> JSONObject {
        func number(_ count: Int) -> JSON { .integer(Int64(count)) }
        let recipients = file.recipients.map { recipient in
            var record = JSONObject([("type", .string(recipient.type))])
            record["workFactor"] = recipient.logN.map(number)
            return JSON.object(record)
        }
        var record = JSONObject([
            ("v", .integer(1)), ("type", .string("age-file")),
            ("version", .string(AgeInspection.version)), ("armor", .bool(file.isArmored)),
            ("recipients", .array(recipients)),
        ])
        record["postQuantum"] = file.isPostQuantum.map(JSON.bool)
        record["namesAudience"] = .bool(file.namesAudience)
        record["sizes"] = .object(
            JSONObject([
                ("header", number(file.headerSize)), ("overhead", number(file.overhead)),
                ("armor", number(file.armorSize)), ("plaintext", number(file.plaintextSize)),
                ("total", number(file.size)),
            ]))
        return record
    }

    private func text(_ file: AgeInspection) -> String {
        let protection =
            switch file.isPostQuantum {
            case true?: "post-quantum"
            case false?: "not post-quantum"
            case nil: "post-quantum unknown, because a recipient has an unknown type"
            }
        let armor = file.isArmored ? ", in ASCII armor" : ""
        var lines = ["\(AgeInspection.version), \(protection)\(armor)", ""]
        for recipient in file.recipients {
            let note = Self.notes[recipient.type].map { "  \($0)" } ?? ""
            let work =
                recipient.logN.map { logN in
                    ", work factor \(logN)"
                        + (logN > AgeScrypt.maximumLogN ? ", above the limit of decrypt" : "")
                } ?? ""
            lines.append("recipient  \(recipient.type)\(note)\(work)")
        }
        if file.namesAudience {
            lines.append(
                "           and an encrypted list of the recipients, for a signature inside")
        }
        lines.append("")
        var sizes = [("header", file.headerSize), ("overhead", file.overhead)]
        if file.isArmored { sizes.append(("armor", file.armorSize)) }
        sizes += [("plaintext", file.plaintextSize), ("total", file.size)]
        let width = String(file.size).count
        for (name, size) in sizes {
            let label = name + String(repeating: " ", count: 11 - name.count)
            let padding = String(repeating: " ", count: width - String(size).count)
            lines.append("\(label)\(padding)\(size) bytes")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Descriptions of recipient types whose name does not describe them.
    private static let notes = [
        "X25519": "a classic age1 key", "mlkem768x25519": "an age1pq key or card",
        "scrypt": "a passphrase", "ssh-ed25519": "an SSH key", "ssh-rsa": "an SSH key",
        "piv-p256": "a key on a YubiKey", "p256tag": "a hardware key",
        "mlkem768p256tag": "a hardware key",
    ]
}
