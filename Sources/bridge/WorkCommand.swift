import Arguments
import Sotto
import SottoTool

struct WorkCommand: Program {
    static let configuration = CommandConfiguration(
        name: "work",
        abstract:
            "Compute the counter for a server's proof of work; the challenge is on stdin.",
        usage: "sotto bridge work --bits N < CHALLENGE",
        discussion: """
            Prints the smallest counter for which SHA-256 of the challenge and the 8-byte counter begins with N zero \
            bits. The challenge is not decoded and has at most 1024 bytes.
            """)

    @Option(
        "--bits", value: "n", help: "Zero bits, 0 to 32; 32 bits take about an hour.", values: .any)
    var bits: Int

    private static let limit = 1024

    func execute() throws {
        guard (0...ProofOfWork.limit).contains(bits) else {
            throw ProofOfWorkError.difficulty(limit: ProofOfWork.limit)
        }
        let challenge = try Input(path: nil).readText(limit: Self.limit)
        let counter = try ProofOfWork.solve(challenge, bits: bits)
        let output = try Output(path: "-", content: .text)
        try output.writeText("\(counter)\n")
        try output.finish()
    }
}
