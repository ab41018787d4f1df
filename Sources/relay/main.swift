import ArgumentParser
struct Tool: ParsableCommand { mutating func run() {} }
Tool.main()
