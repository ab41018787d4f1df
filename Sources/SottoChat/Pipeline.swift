import SottoProgram

/// Tools that run in a pipe, each in a session without a terminal.
package struct Pipeline: Sendable, Hashable {
    /// Names a started pipeline in events and effects. No id is used twice.
    package struct ID: Sendable, Hashable {
        package let number: Int

        package init(_ number: Int) { self.number = number }
    }

    /// A tool with its arguments.
    package struct Stage: Sendable, Hashable {
        /// The tool's short name, such as `history`.
        package var tool: String
        package var arguments: [String]

        package init(_ tool: String, _ arguments: [String]) {
            (self.tool, self.arguments) = (tool, arguments)
        }
    }

    package var id: ID
    /// The stages; the standard output of each is the standard input of the next.
    package var stages: [Stage]
    /// Whether the first stage reads what ``ChatEffect/write(_:_:)`` gives, until ``ChatEffect/closeInput(_:)``. Otherwise its
    /// standard input is /dev/null.
    package var takesInput = false
    /// The stage that has the descriptor ``confirmations`` open, as a pipe whose lines arrive as
    /// ``ChatEvent/confirmed(_:line:)``. `nil` if no stage has it.
    package var confirmingStage: Int?

    /// Whether the kernel ends the tools when this program is killed. Those that store what was typed go on.
    package var endsWithChat = false

    /// A descriptor of ``confirmingStage``, which is none of the standard ones and not that of a passphrase.
    package static let confirmations: Int32 = ToolRun.secretSource == "@FD:3" ? 4 : 3

    package init(_ id: ID, _ stages: [Stage], takesInput: Bool = false, confirmingStage: Int? = nil)
    {
        (self.id, self.stages) = (id, stages)
        (self.takesInput, self.confirmingStage) = (takesInput, confirmingStage)
    }
}
