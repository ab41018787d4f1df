/// The chat as a value: it takes events, and returns effects and a screen.
package struct ChatState: Sendable {
    private var options: ChatOptions

    /// Creates the state. ``start()`` gives the first effects.
    package init(_ options: ChatOptions) { self.options = options }

    /// Returns the effects of the beginning.
    package mutating func start() -> [ChatEffect] { [] }

    /// Takes an event. Returns its effects, in their order.
    package mutating func take(_ event: ChatEvent) -> [ChatEffect] { [] }

    /// Returns the present screen.
    package func screen() -> Screen {
        Screen(
            columns: options.columns, rows: Array(repeating: [], count: options.rows), cursor: nil)
    }
}
