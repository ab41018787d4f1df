import Glibc
import SottoChat

/// The screens of the state on the terminal: at most sixty a second, and none while the terminal does not take bytes.
struct ScreenView {
    /// The shortest time between two screens, in milliseconds.
    private static let pause: Int64 = 16

    private var painter: Painter
    /// The bytes that the terminal has not taken.
    private var waiting: ArraySlice<UInt8> = []
    /// The content of the last screen, until ``takeShown()`` returns it.
    private var shown: Screen.Shown?
    private var painted: Int64 = 0
    /// Whether the state can have another screen than the one that is shown.
    var isChanged = true

    init(hasColor: Bool) { painter = Painter(hasColor: hasColor) }

    /// The terminal, if bytes wait for it.
    var polled: pollfd {
        pollfd(
            fd: waiting.isEmpty ? -1 : RawTerminal.descriptor, events: Int16(POLLOUT), revents: 0)
    }

    /// The time until the next screen, or `nil` if there is nothing to show.
    var milliseconds: Int64? {
        guard isChanged, waiting.isEmpty else { return nil }
        return max(0, painted + Self.pause - MonotonicTime.milliseconds())
    }

    /// Shows the present screen, unless one was shown just now.
    mutating func show(_ state: ChatState) {
        flush()
        guard milliseconds == 0 else { return }
        isChanged = false
        painted = MonotonicTime.milliseconds()
        let screen = state.screen()
        shown = screen.shown
        add(painter.paint(screen))
    }

    /// Returns what the last screen shows, once, after the terminal has taken the whole of it.
    mutating func takeShown() -> Screen.Shown? {
        guard waiting.isEmpty else { return nil }
        defer { shown = nil }
        return shown
    }

    /// Writes bytes to the terminal as soon as it takes them.
    mutating func add(_ bytes: [UInt8]) {
        waiting += bytes
        flush()
    }

    /// Paints the next screen whole.
    mutating func forget() {
        painter.forget()
        isChanged = true
    }

    private mutating func flush() {
        while !waiting.isEmpty {
            // A closed terminal takes nothing, and is reported by its input.
            guard let count = RawTerminal.writeSome(waiting) else {
                (waiting, shown) = ([], nil)
                return
            }
            guard count > 0 else { return }
            waiting = waiting.dropFirst(count)
        }
        waiting = []
    }
}
