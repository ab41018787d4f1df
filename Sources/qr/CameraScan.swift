import Sotto
import SottoQR
import SottoTool

/// `qr scan --camera DEVICE`.
extension ScanCommand {
    /// Reads a camera until there is a content, or, for all, until a signal ends the program.
    func watch(_ device: String) throws {
        guard files.isEmpty else {
            throw Failure(.usage, "--camera is in place of pictures", hint: "leave one of them out")
        }
        if all, output != nil {
            throw Failure(
                .usage, "with --camera and --all nothing tells the end of a file",
                hint: "let the shell write it: > \(output ?? "")")
        }
        let camera: Camera
        do throws(CameraError) {
            camera = try Camera(device: device)
        } catch { throw Failure(error, device: device) }
        func frame() throws(Failure) -> Raster {
            do throws(CameraError) { return try camera.next() } catch {
                throw Failure(error, device: device)
            }
        }
        Terminal.say("qr: note: show the code to \(device)\(all ? "; Ctrl-C ends" : "")")
        if all { try printEach(of: frame, device) } else { try printFirst(of: frame, device) }
    }

    private func symbols(in frame: Raster) throws(Failure) -> [Symbol] {
        do throws(ScanError) {
            return try Picture(raster: frame).symbols(.quick)
        } catch { throw Failure(error) }
    }

    /// The first content that is complete.
    private func printFirst(of frame: () throws(Failure) -> Raster, _ device: String) throws {
        var sighting = Sighting()
        var said = Sighting.News.none
        while true {
            let news: Sighting.News
            let symbols = try symbols(in: frame())
            do throws(CodePartsError) {
                news = try sighting.add(symbols)
            } catch { throw Failure(error) }
            switch news {
            case .none: continue
            case .several(let count):
                // Once, not with every picture.
                if said != news {
                    Terminal.say("qr: note: \(count) codes are seen; show one of them")
                }
            case .parts(let new, let missing, let count):
                Terminal.say(
                    "qr: note: part \(list(new)) of \(count) is seen; \(list(missing)) to come")
            case .code(let symbol): return try write([content(of: symbol, in: device)])
            case .content(let bytes, let parts):
                return try write([content(of: bytes, parts: parts)])
            }
            said = news
        }
    }

    /// Each content once, when it is first seen; parts as they are.
    private func printEach(of frame: () throws(Failure) -> Raster, _ device: String) throws {
        var known: Set<[UInt8]> = []
        while true {
            for symbol in try symbols(in: frame()) where known.insert(symbol.bytes).inserted {
                try write([content(of: symbol, in: device)])
            }
        }
    }

    private func list(_ numbers: [Int]) -> String {
        numbers.map(String.init).joined(separator: ", ")
    }
}
