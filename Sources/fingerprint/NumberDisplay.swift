import Sotto
import SottoTool

/// Shows the number of each key.
struct NumberDisplay {
    enum Form {
        case record(words: Bool)
        /// Digits or words, with pictures on request.
        case text(words: Bool, randomart: Bool, qr: Bool)
    }

    let keys: ComparedKeys
    let form: Form

    func run() throws {
        let (theirs, mine) = try keys.load()
        let output = try Output(path: "-", content: .text)
        for (name, key) in mine {
            let number = try Number(of: key, with: theirs, style: keys.style)
            try show(number, of: mine.count > 1 ? name : nil, output)
        }
        try output.finish()
    }

    private func show(_ number: Number, of name: String?, _ output: Output) throws {
        let phrase = Fingerprint.words(of: number.digits)
        switch form {
        case .record(let words):
            var record = number.record
            if words { record["words"] = .array(phrase.map(JSON.string)) }
            try output.writeLine(record)
        case .text(let words, let randomart, let qr):
            var line = words ? phrase.joined(separator: " ") : Fingerprint.grouped(number.digits)
            if let name { line += "  " + name }
            var lines = [line]
            if randomart { lines += Randomart.lines(ofDigits: number.digits) }
            for line in lines { try output.writeText(line + "\n") }
            guard qr else { return }
            try output.flush()
            var drawing = ToolRun("qr", [], input: Array(number.digits.utf8))
            drawing.showsOutput = true
            try drawing.output()
        }
    }
}
