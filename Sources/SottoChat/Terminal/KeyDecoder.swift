/// Makes keys and pastes of the bytes of a terminal.
///
/// It reads UTF-8, the control sequences of ECMA-48 as xterm and tmux send them, and bracketed pastes. Sequences that no ``Key`` has
/// are consumed whole, so that their bytes never become text. What it keeps is bounded.
package struct KeyDecoder: Sendable {
    /// The greatest length of a paste in bytes; the rest is dropped.
    package static let pasteLimit = 256 << 10
    /// The greatest length of a control sequence.
    private static let sequenceLimit = 64
    /// The greatest length of a string, such as the answer to a query.
    private static let stringLimit = 4 << 10
    private static let interrupt: UInt8 = 0x03
    private static let escape: UInt8 = 0x1B

    private enum State: Sendable {
        case ground
        /// After an escape.
        case escape
        /// In a character after an escape that is not ASCII: Alt with the character.
        case alt
        /// After `ESC [` or `ESC ESC [`.
        case control
        /// After `ESC O`.
        case shift
        /// In a string that ends with BEL or ST, such as the answer to a query.
        case string
        case paste
        /// In a paste that can be a passphrase.
        case secretPaste
    }

    private var state = State.ground
    /// The bytes of the present sequence, paste or incomplete character.
    private var bytes: [UInt8] = []
    private var length = 0
    private var out: [TerminalInput] = []
    private var text = ""
    /// Whether text can be a passphrase, and the text since the last key then.
    private var isSecret = false
    private var secret: TypedPassphrase?

    /// Creates a decoder.
    package init() {}

    /// Whether a sequence is pending. It ends if nothing follows within 50 ms, and an escape is then a separate key.
    package var isPending: Bool {
        switch state {
        case .escape, .alt, .control, .shift, .string: true
        case .ground, .paste, .secretPaste: false
        }
    }

    /// Takes bytes. Returns what they complete. With `secretly`, text is only in memory that is wiped: ``TerminalInput/secret(_:)``.
    package mutating func decode(
        _ bytes: some Sequence<UInt8>, secretly: Bool = false
    ) -> [TerminalInput] {
        isSecret = secretly
        for byte in bytes { take(byte) }
        return result()
    }

    /// Returns what is pending, as nothing follows.
    package mutating func flush() -> [TerminalInput] {
        if isPending { add(state == .escape ? .escape : .unknown) }
        if isPending { enter(.ground) }
        return result()
    }

    private mutating func result() -> [TerminalInput] {
        endText()
        defer { out = [] }
        return out
    }

    private mutating func enter(_ state: State) {
        self.state = state
        bytes = []
        length = 0
    }

    private mutating func add(_ key: Key) {
        endText()
        out.append(.key(key))
    }

    private mutating func endText() {
        if let secret { out.append(.secret(secret)) }
        secret = nil
        guard !text.isEmpty else { return }
        out.append(.key(.text(text)))
        text = ""
    }

    private mutating func take(_ byte: UInt8) {
        switch state {
        case .ground: takePlain(byte)
        case .escape: takeAfterEscape(byte)
        case .alt: takeInAlt(byte)
        case .control: takeControl(byte)
        case .shift:
            enter(.ground)
            add(Self.key(final: byte, parameters: []) ?? .unknown)
        case .string:
            // BEL, or ST as ESC \; the byte after an escape ends the string in any case.
            if byte == 0x07 || bytes.last == Self.escape { return enter(.ground) }
            length += 1
            bytes = [byte]
            guard byte == Self.interrupt || length > Self.stringLimit else { return }
            enter(.ground)
            add(.unknown)
            if byte == Self.interrupt { takePlain(byte) }
        case .paste: takePasted(byte)
        case .secretPaste: takePastedSecretly(byte)
        }
    }

    // MARK: Characters

    private mutating func takePlain(_ byte: UInt8) {
        if !bytes.isEmpty {
            if byte & 0xC0 == 0x80 {
                bytes.append(byte)
                if bytes.count == Self.characterLength(bytes[0]) { endCharacter() }
                return
            }
            endCharacter()
        }
        switch byte {
        case 0x20..<0x7F where isSecret, 0x80...0xFF where isSecret: takeSecretly(byte)
        case Self.escape: enter(.escape)
        case 0x0D: add(.enter)
        case 0x0A: add(.lineBreak)
        case 0x09: add(.tab)
        case 0x08, 0x7F: add(.backspace)
        case 0x01...0x1A: add(.control(Self.letter(byte)))
        case 0x00...0x1F: add(.unknown)
        case 0x20..<0x7F: text.unicodeScalars.append(Unicode.Scalar(byte))
        default:
            bytes = [byte]
            if Self.characterLength(byte) == 1 { endCharacter() }
        }
    }

    private mutating func takeSecretly(_ byte: UInt8) {
        let text = secret ?? TypedPassphrase()
        text.append(byte)
        secret = text
    }

    /// Appends the collected character; bytes that are none become U+FFFD. C1 control characters are dropped.
    private mutating func endCharacter() {
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars
        where !(0x80...0x9F).contains(scalar.value) {
            text.unicodeScalars.append(scalar)
        }
        bytes = []
    }

    private static func characterLength(_ first: UInt8) -> Int {
        switch first {
        case 0xC2...0xDF: 2
        case 0xE0...0xEF: 3
        case 0xF0...0xF4: 4
        default: 1
        }
    }

    private static func letter(_ byte: UInt8) -> Character {
        Character(Unicode.Scalar(byte + 0x60))
    }

    // MARK: Sequences

    private mutating func takeAfterEscape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "["): enter(.control)
        case UInt8(ascii: "O"): enter(.shift)
        case UInt8(ascii: "]"), UInt8(ascii: "P"), UInt8(ascii: "_"), UInt8(ascii: "^"):
            enter(.string)
        case Self.escape: add(.escape)
        case 0x0D, 0x0A:
            enter(.ground)
            add(.lineBreak)
        case 0x7F, 0x08:
            enter(.ground)
            add(.control("w"))
        case UInt8(ascii: "b"):
            enter(.ground)
            add(.wordLeft)
        case UInt8(ascii: "f"):
            enter(.ground)
            add(.wordRight)
        case UInt8(ascii: "/"):
            // Esc, and then a command, can come in one read. Without the slash the command would be a text to send.
            enter(.ground)
            add(.escape)
            takePlain(byte)
        case 0x20..<0x7F:
            enter(.ground)
            add(.alt(Character(Unicode.Scalar(byte))))
        case 0x80...:
            enter(.alt)
            takeInAlt(byte)
        default:
            enter(.ground)
            add(.escape)
            takePlain(byte)
        }
    }

    private mutating func takeInAlt(_ byte: UInt8) {
        guard bytes.isEmpty || byte & 0xC0 == 0x80 else {
            enter(.ground)
            add(.unknown)
            return take(byte)
        }
        bytes.append(byte)
        guard bytes.count == Self.characterLength(bytes[0]) else { return }
        enter(.ground)
        add(.unknown)
    }

    private mutating func takeControl(_ byte: UInt8) {
        switch byte {
        case 0x40...0x7E:
            // The Linux console sends ESC [ [ A for F1.
            if byte == UInt8(ascii: "["), bytes.isEmpty {
                bytes.append(byte)
                return
            }
            let sequence = bytes
            enter(.ground)
            endControl(sequence, final: byte)
        case 0x20...0x3F where bytes.count < Self.sequenceLimit: bytes.append(byte)
        case Self.escape:
            add(.unknown)
            enter(.escape)
        default:
            enter(.ground)
            add(.unknown)
        }
    }

    private mutating func endControl(_ sequence: [UInt8], final: UInt8) {
        let parameters = String(decoding: sequence, as: UTF8.self)
            .split(separator: ";", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
        if final == UInt8(ascii: "~"), parameters == [200] {
            return enter(isSecret ? .secretPaste : .paste)
        }
        // A paste's end without its beginning is no key.
        if final == UInt8(ascii: "~"), parameters == [201] { return }
        add(Self.key(final: final, parameters: parameters) ?? .unknown)
    }

    private static func key(final: UInt8, parameters: [Int]) -> Key? {
        // The second parameter is 1 and the modifiers: 1 Shift, 2 Alt, 4 Ctrl.
        let modifiers = parameters.count > 1 ? max(0, min(parameters[1], 16) - 1) : 0
        let (isAlt, isControl) = (modifiers & 2 != 0, modifiers & 4 != 0)
        switch final {
        case UInt8(ascii: "A"): return isAlt || isControl ? .selectUp : .up
        case UInt8(ascii: "B"): return isAlt || isControl ? .selectDown : .down
        case UInt8(ascii: "C"): return isAlt || isControl ? .wordRight : .right
        case UInt8(ascii: "D"): return isAlt || isControl ? .wordLeft : .left
        case UInt8(ascii: "H"): return .home
        case UInt8(ascii: "F"): return .end
        case UInt8(ascii: "M"): return .enter
        case UInt8(ascii: "Z"): return .backTab
        case UInt8(ascii: "u") where parameters.first == 13:
            return modifiers == 0 ? .enter : .lineBreak
        case UInt8(ascii: "u") where parameters.first == 27: return .escape
        case UInt8(ascii: "~"):
            switch parameters.first {
            case 1, 7: return .home
            case 4, 8: return .end
            case 3: return .delete
            case 5: return .pageUp
            case 6: return .pageDown
            // xterm's modifyOtherKeys.
            case 27 where parameters.count == 3 && parameters[2] == 13: return .lineBreak
            default: return nil
            }
        default: return nil
        }
    }

    // MARK: Pastes

    private static let pasteEnd: [UInt8] = [escape] + Array("[201~".utf8)

    private mutating func takePasted(_ byte: UInt8) {
        // Above the limit only as many bytes are kept as the end needs.
        if length >= Self.pasteLimit, bytes.count >= Self.pasteLimit + Self.pasteEnd.count {
            bytes.remove(at: Self.pasteLimit)
        }
        bytes.append(byte)
        length += 1
        guard byte == UInt8(ascii: "~"),
            bytes.suffix(Self.pasteEnd.count).elementsEqual(Self.pasteEnd)
        else { return }
        bytes.removeLast(Self.pasteEnd.count)
        let pasted = Self.pasted(bytes.prefix(Self.pasteLimit))
        enter(.ground)
        endText()
        if !pasted.isEmpty { out.append(.paste(pasted)) }
    }

    /// Takes a byte of a paste that can be a passphrase. ``bytes`` has the part of the end that was read.
    private mutating func takePastedSecretly(_ byte: UInt8) {
        if byte != Self.pasteEnd[bytes.count] {
            // The part was no end. Only the first byte of an end is an escape.
            let part = bytes
            bytes = []
            for byte in part + [byte] where byte == 0x09 || byte >= 0x20 && byte != 0x7F {
                takeSecretly(byte)
            }
            guard byte == Self.escape else { return }
        }
        bytes.append(byte)
        if bytes.count == Self.pasteEnd.count { enter(.ground) }
    }

    /// Returns a pasted text with line feeds as line ends, without other control characters except tabs.
    private static func pasted(_ bytes: ArraySlice<UInt8>) -> String {
        var text = String.UnicodeScalarView()
        var isAfterReturn = false
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            switch scalar.value {
            case 0x0A where isAfterReturn: break
            case 0x0A, 0x0D: text.append("\n")
            case 0x09: text.append(scalar)
            case 0x00...0x1F, 0x7F...0x9F: break
            default: text.append(scalar)
            }
            isAfterReturn = scalar.value == 0x0D
        }
        return String(text)
    }
}
