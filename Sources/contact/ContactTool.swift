import ArgumentParser
import SottoTool

@main
struct ContactTool: Program {
    static let configuration = CommandConfiguration(
        commandName: "contact", abstract: "The address book and its trust.", version: sottoVersion)

    func execute() throws { throw Failure(.bug, "not yet") }
}
