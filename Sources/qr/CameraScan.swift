import SottoBytes
import SottoQR
import SottoProgram

/// The implementation of `qr scan --camera DEVICE`.
extension ScanCommand {
    /// Reads a camera until a content is complete or, with `--all`, until a signal ends the program.
    func watch(_ device: String) throws {
        guard files.isEmpty else {
            throw Failure(
                .usage, "--camera cannot be combined with picture files", hint: "omit one of them")
        }
        if all, output != nil {
            throw Failure(
                .usage, "-o cannot be combined with --camera and --all, which have no end",
                hint: "redirect standard output instead: > \(output ?? "")")
        }
        let camera = try ScanProcess(.camera(device: device))
        // The camera is open.
        _ = try camera.symbols()
        Terminal.say("qr: note: show the code to \(device)\(all ? "; Ctrl-C ends" : "")")
        if all { try printEach(of: camera, device) } else { try printFirst(of: camera, device) }
    }

    /// Prints the first complete content.
    private func printFirst(of camera: ScanProcess, _ device: String) throws {
        var collector = PartCollector()
        var reported = PartCollector.Update.none
        while true {
            let update: PartCollector.Update
            let symbols = try camera.symbols()
            do throws(CodePartsError) {
                update = try collector.add(symbols)
            } catch { throw Failure(error) }
            switch update {
            case .none: continue
            case .several(let count):
                // Reported once, not for every picture.
                if reported != update {
                    Terminal.say("qr: note: \(count) codes are visible; show only one of them")
                }
            case .parts(let new, let missing, let count):
                Terminal.say(
                    "qr: note: part \(list(new)) of \(count) was read; \(list(missing)) missing")
            case .code(let symbol): return try write([content(of: symbol, in: device)])
            case .content(let bytes, let parts):
                return try write([content(of: bytes, parts: parts)])
            }
            reported = update
        }
    }

    /// Prints each content once, when it is first seen; parts are printed as they are.
    private func printEach(of camera: ScanProcess, _ device: String) throws {
        var known: Set<[UInt8]> = []
        while true {
            for symbol in try camera.symbols() where known.insert(symbol.bytes).inserted {
                try write([content(of: symbol, in: device)])
            }
        }
    }

    private func list(_ numbers: [Int]) -> String {
        numbers.map(String.init).joined(separator: ", ")
    }
}
