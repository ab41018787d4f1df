import Sotto

extension FuzzTarget {
    /// A JSON value: what is written is read again, and is written the same, in both forms.
    ///
    /// The kind of a number may change: 1e2 is written 100, which is read as an integer, and 1e20 is written
    /// with digits that no integer of 64 bits has.
    static let json = FuzzTarget("json") { bytes in
        guard let value = try? JSON(parsing: bytes) else { return }
        expectSame(value.serialized()) { $0.serialized() }
        expectSame(value.canonical()) { $0.canonical() }
    }

    private static func expectSame(_ text: [UInt8], _ write: (JSON) -> [UInt8]) {
        do throws(JSONError) {
            let again = try JSON(parsing: text)
            precondition(write(again) == text)
        } catch {
            guard case .numberOutOfRange = error else { preconditionFailure("\(error)") }
        }
    }
}
