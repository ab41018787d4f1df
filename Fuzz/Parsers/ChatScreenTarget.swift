import Sotto
import SottoBytes
import SottoChat

extension FuzzTarget {
    /// The window of people: each line of the input is an event, by its first byte.
    ///
    /// `k` has bytes of a terminal, `r` a record of the pipeline that the next byte names, `e` ends it, `s` changes the size, and
    /// `t` lets time pass. The screen must stay sound after each.
    static let chatScreen = FuzzTarget("chat-screen") { bytes in
        var stage = ChatScreenStage()
        for line in bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 200) {
            stage.take(line)
            precondition(stage.state.screen().isSound)
        }
    }
}

/// A chat with pipelines that the input gives output.
private struct ChatScreenStage {
    private(set) var state: ChatState
    private var decoder = KeyDecoder()
    private var running: [Pipeline.ID] = []
    private var now: Int64 = 1_795_685_400

    init() {
        var options = ChatOptions(now: Timestamp(seconds: now)) { time in
            let minutes = Int(time.seconds / 60 % 1_440)
            return ChatOptions.LocalTime(
                year: 2026, month: 11, day: 26, hour: abs(minutes / 60), minute: abs(minutes % 60),
                weekday: 4)
        }
        (options.columns, options.rows) = (40, 12)
        options.showsPictures = true
        state = ChatState(options)
        perform(state.start())
        end(Pipeline.ID(1), 0)
    }

    mutating func take(_ line: ArraySlice<UInt8>) {
        guard let kind = line.first else { return }
        let rest = line.dropFirst()
        let pipeline = running.isEmpty ? nil : running[Int(rest.first ?? 0) % running.count]
        switch kind {
        case UInt8(ascii: "k"):
            let inputs = decoder.decode(rest, secretly: state.takesPassphrase) + decoder.flush()
            for input in inputs {
                switch input {
                case .key(let key): give(.key(key))
                case .paste(let text): give(.paste(text))
                case .secret(let text): give(.typed(text))
                }
            }
        case UInt8(ascii: "r"):
            if let pipeline { give(.printed(pipeline, line: Array(rest.dropFirst()))) }
        case UInt8(ascii: "e"):
            if let pipeline { end(pipeline, rest.count % 2 == 0 ? 1 : 0) }
        case UInt8(ascii: "s"):
            give(.resized(columns: Int(rest.first ?? 0), rows: Int(rest.last ?? 0) / 4))
        case UInt8(ascii: "t"):
            now += Int64(rest.count)
            give(.ticked(Timestamp(seconds: now), uptime: now * 1000))
        default: break
        }
    }

    private mutating func end(_ id: Pipeline.ID, _ status: Int32) {
        running.removeAll { $0 == id }
        give(.ended(id, statuses: [status]))
    }

    private mutating func give(_ event: ChatEvent) {
        perform(state.take(event))
        perform(state.take(.shown(state.screen().shown)))
    }

    private mutating func perform(_ effects: [ChatEffect]) {
        for case .start(let pipeline, _) in effects { running.append(pipeline.id) }
    }
}
