import Sotto
import SottoTool

/// A line of an input.
struct InputLine: Sendable {
    let line: LineReader.Line
    let number: Int
}

/// Reads the lines of an input in batches: those that are available at once, up to a limit.
enum LineBatches {
    /// The maximum length of a line in bytes: more than the largest envelope that a relay accepts.
    static let lineLimit = 1 << 20
    /// The maximum number of lines, and of their bytes, in a batch.
    private static let size = 4_096
    private static let bytes = 4 << 20

    /// Reads all lines. `begin` begins the work on a batch that needs no order, on threads. `process` finishes it, in the order
    /// of the batches. The work on the next batch begins before `process`, unless its lines are still to come.
    static func read<Begun>(
        _ source: any ByteSource, begin: ([InputLine]) -> Begun,
        process: (Begun) throws -> Void
    ) throws {
        FreedMemory.overwrite()
        var reader = LineReader(source, limit: lineLimit)
        var batch: [InputLine] = []
        var length = 0
        var begun: Begun?
        func processBegun() throws {
            if let batch = begun.take() { try process(batch) }
        }
        func advance() throws {
            let next = begin(batch)
            (batch, length) = ([], 0)
            try processBegun()
            begun = next
        }
        do {
            while let line = try reader.next() {
                batch.append(InputLine(line: line, number: reader.number))
                if case .line(let line) = line { length += line.count }
                let mustWait = try reader.mustWait()
                guard mustWait || batch.count == size || length >= bytes else { continue }
                try advance()
                if mustWait {
                    try processBegun()
                    FreedMemory.wipeCache()
                }
            }
        } catch {
            // The complete batch before an error of the input is processed.
            try processBegun()
            throw error
        }
        try advance()
        try processBegun()
    }
}
