public import Arguments
import Sotto
public import SottoState
import SottoTool

extension IdentityStore.Point: ExpressibleByArgument {
    /// Parses the number of a message, or a time.
    public init?(argument: String) {
        if argument.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(argument) {
            self = .number(number)
        } else if let time = Timestamp(argument: argument) {
            self = .time(time)
        } else {
            return nil
        }
    }

    /// The forms of a point.
    public static var argumentForm: String {
        "the number of a message, \(Timestamp.argumentForm)"
    }
}
