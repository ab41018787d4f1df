import Glibc

/// `bench-page growth < RESULTS`: prints the growth of each time, with the exponent of its line.
///
/// `bench-page picture FOOT < RESULTS`: prints a picture of all results as SVG, with FOOT, the date and the machine, at its foot.
///
/// ``Results`` describes the lines. The exit status is 65 for other lines.
@main
struct BenchPage {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        switch (words.first, words.count) {
        case ("growth", 1):
            for line in GrowthTable(results: read()).lines { print(line) }
        case ("picture", 2): print(Picture(results: read(), foot: words[1]).text)
        default:
            end("usage: bench-page growth | picture FOOT", status: 64)
        }
    }

    private static func read() -> Results {
        var results = Results()
        do throws(LineError) {
            while let line = readLine() { try results.add(line) }
        } catch {
            end("bench-page: not a result: \(error.line)", status: 65)
        }
        return results
    }

    private static func end(_ message: String, status: Int32) -> Never {
        let line = Array((message + "\n").utf8)
        _ = write(STDERR_FILENO, line, line.count)
        exit(status)
    }
}
