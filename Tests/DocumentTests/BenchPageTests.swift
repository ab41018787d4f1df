import Foundation
import TestSupport
import Testing

/// The picture of the results of `make bench`, and the exponents of growth.
@Suite("The page of the bench")
struct BenchPageTests {
    private static func page(_ arguments: [String], _ results: String) throws -> Run {
        try Command(path: Programs.path("bench-page"), arguments).run(
            stdin: .whole(Array(results.utf8)))
    }

    private static func picture(_ results: String, foot: String = "the foot") throws -> String {
        let run = try page(["picture", foot], results)
        #expect(run.status == 0 && run.stderr.isEmpty, "\(run.stderr)")
        return run.text
    }

    // MARK: The fit

    /// Points on a power of the size have exactly its exponent.
    @Test(
        "knows the exponents of exact powers",
        arguments: [
            (0.0, "0.00", "ok"), (0.1, "0.10", "ok"), (0.11, "0.11", "MISSED"),
            (0.5, "0.50", "MISSED"), (1, "1.00", "MISSED"), (2, "2.00", "MISSED"),
            (-1, "-1.00", "ok"), (-0.001, "0.00", "ok"),
        ])
    func exactPowers(_ exponent: Double, _ text: String, _ verdict: String) throws {
        let sizes: [Double] = [1, 10, 300, 20_000, 100_000]
        let results = sizes.map {
            "growth\tthings\tcommand\t0.1\t\($0)\t\(0.2 * pow($0, exponent))\n"
        }
        let run = try Self.page(["growth"], results.joined())
        let line = try #require(run.lines.last)
        #expect(line.hasSuffix("exponent \(padded(text))   goal 0.10: \(verdict)"), "\(line)")
    }

    private func padded(_ text: String) -> String {
        String(repeating: " ", count: max(0, 5 - text.count)) + text
    }

    /// The line has the least squares: three points whose logarithms are 0, 3 and 3 over 0, 1 and 2 have the exponent 1.5.
    @Test("fits a line to points that are not on one")
    func leastSquares() throws {
        let results = zip([1, 10, 100], [1.0, 1000, 1000]).map {
            "growth\tthings\tcommand\t1.05\t\($0)\t\($1)\n"
        }
        #expect(
            try Self.page(["growth"], results.joined()).lines.last?.hasSuffix(
                "exponent  1.50   goal 1.05: MISSED") == true)
    }

    @Test("shows the times at each size, and no exponent of one size")
    func table() throws {
        let results = """
            growth\tthings\tone\t1.05\t10\t0.0000123
            growth\tthings\tone\t1.05\t1000\t1.5
            growth\tthings\ttwo\t0.1\t1000\t0.0789
            growth\tothers\tone\t0.1\t1\t1234
            row\tgroup\tlabel\t1\tms\tpeer\t2
            """
        let lines = try Self.page(["growth"], results).lines.map {
            $0.split(separator: " ").joined(separator: " ")
        }
        #expect(
            lines == [
                "things 10 1,000", "one 12.3 µs 1.50 s exponent 2.54 goal 1.05: MISSED",
                "two - 78.9 ms one size only (goal 0.10)", "others 1",
                "one 1,234 s one size only (goal 0.10)",
            ])
    }

    // MARK: The picture

    /// Pictures/bench.svg was made from Pictures/bench.tsv with `bench-page picture`, and looked at.
    @Test("draws the picture as it was looked at")
    func golden() throws {
        let folder = "Tests/DocumentTests/Pictures/bench"
        let results = try Repository.text(folder + ".tsv")
        let picture = try Self.picture(results, foot: "2026-11-28 · a machine, 2 cores")
        #expect(try Repository.text(folder + ".svg") == picture, "the picture is\n\(picture)")
    }

    /// Checks with another parser of XML that all is inside the picture, and that texts on one line do not overlap, if a letter has
    /// 6 pixels. Prints each text on a line.
    private static let check = """
        import sys, xml.etree.ElementTree as tree
        root = tree.fromstring(sys.stdin.buffer.read())
        space = "{http://www.w3.org/2000/svg}"
        assert root.tag == space + "svg" and root.get("width") == "900", root.attrib
        width, height = 900, float(root.get("height"))
        assert root.get("viewBox") == f"0 0 900 {root.get('height')}"
        rows = {}
        for each in root.iter():
            for name, most in (("x", width), ("x1", width), ("x2", width), ("cx", width), ("y", height), ("y1", height),
                               ("y2", height), ("cy", height)):
                assert 0 <= float(each.get(name, 0)) <= most, each.attrib
            if each.tag == space + "rect" and each.get("width") != "100%":
                assert float(each.get("x")) + float(each.get("width")) <= width, each.attrib
            if each.tag == space + "text":
                length = 6 * len(each.text)
                begin = float(each.get("x")) - {None: 0, "middle": length / 2, "end": length}[each.get("text-anchor")]
                if each.get("class") != "title":
                    assert 0 <= begin and begin + length <= width, each.text
                    rows.setdefault(each.get("y"), []).append((begin, begin + length, each.text))
                print(each.text)
        for row in rows.values():
            row.sort()
            for left, right in zip(row, row[1:]):
                assert left[1] <= right[0], (left, right)
        """

    private static func texts(of picture: String) throws -> [String] {
        let run = try Command(
            path: Peer.python.path, ["-I", "-c", check],
            environment: ["PYTHONIOENCODING": "utf-8"]
        ).run(stdin: .whole(Array(picture.utf8)))
        #expect(run.status == 0, "\(run.stderr)")
        return run.lines
    }

    @Test("draws an XML document with all texts in their places", .needs(.python))
    func layout() throws {
        let results = try Repository.text("Tests/DocumentTests/Pictures/bench.tsv")
        let texts = try Self.texts(of: Self.picture(results))
        for text in ["Sotto against its peers", "sotto", "1.10 ms", "3.09×", "age", "the foot"] {
            #expect(texts.contains(text), "\(text)")
        }
        #expect(texts.contains { $0.hasPrefix("a label") && $0.hasSuffix("…") })
    }

    @Test("escapes what XML does not have in a text", .needs(.python))
    func escaping() throws {
        let label = "<a href='x'>&amp; \"y\"]]>"
        let picture = try Self.picture(
            "row\tg\(label)\t\(label)\t1\tms\tpeer\u{1B}[2J\t2\n", foot: label)
        let texts = try Self.texts(of: picture)
        #expect(texts.filter { $0 == label }.count == 2, "\(texts)")
        #expect(texts.contains("g" + label) && texts.contains("peer\u{FFFD}[2J"))
    }

    @Test("gives long labels and extreme figures no more room than they have", .needs(.python))
    func extremes() throws {
        let long = String(repeating: "long label ", count: 40)
        let results = [
            "row\t\(long)\t\(long)\t123456789\tMiB/s\t\(long)\t1",
            "row\t\(long)\t\(long)\t99999\tms\t\(long)\t0.001",
            "growth\t\(long)\t\(long)\t0.1\t1\t0.000001", "growth\t\(long)\t\(long)\t0.1\t2\t9000",
            "growth\t\(long)\t\(long)\t0.1\t1000000\t0.001",
        ].joined(separator: "\n")
        _ = try Self.texts(of: Self.picture(results, foot: long))
    }

    @Test("draws an empty picture without results, and refuses other lines")
    func refusals() throws {
        #expect(try Self.picture("").contains("the foot"))
        for line in [
            "", "row\tg\tl\t1\tms\tpeer", "row\tg\tl\t0\tms\tpeer\t1", "row\tg\tl\tx\tms\tpeer\t1",
            "growth\ts\tl\t0.1\t-1\t1", "growth\ts\tl\t0.1\t1\tinf", "growth\ts\tl\t0.1\t1\tnan",
            "other\tg",
        ] {
            let run = try Self.page(["growth"], line + "\n")
            #expect(run.status == 65 && run.stderr == "bench-page: not a result: \(line)\n")
        }
        #expect(try Self.page([], "").status == 64)
    }

    @Test("is a picture that README shows", .needs(.python))
    func committed() throws {
        #expect(try Repository.text("README.md").contains("](docs/bench.svg)"))
        #expect(try !Self.texts(of: Repository.text("docs/bench.svg")).isEmpty)
    }
}
