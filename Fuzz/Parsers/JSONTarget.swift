import Sotto

extension FuzzTarget {
    /// A JSON value. The output for a value is parsed again and gives the same output, in both forms.
    ///
    /// The value is equal too. The canonical form can change the type of a number, and that of 1e20 has digits that exceed
    /// 64 bits; such forms are only compared.
    static let json = FuzzTarget("json") { bytes in
        guard let value = try? JSON(parsing: bytes) else { return }
        let text = value.serialized()
        do throws(JSONError) {
            let again = try JSON(parsing: text)
            precondition(again == value && again.serialized() == text)
        } catch {
            preconditionFailure("\(error)")
        }
        let canonical = value.canonical()
        do throws(JSONError) {
            let again = try JSON(parsing: canonical)
            precondition(again.canonical() == canonical)
        } catch {
            guard case .numberOutOfRange = error else { preconditionFailure("\(error)") }
        }
    }
}
