import Sotto
import SottoTool

/// The number of one card or of two.
struct Number {
    /// 30 or 60 digits.
    let digits: String
    /// The record of `--json`.
    let record: JSONObject

    init(of mine: Fingerprint, with theirs: Fingerprint?, style: Fingerprint.Style) throws(Failure)
    {
        var record = JSONObject([
            ("v", .integer(1)), ("type", .string("fingerprint")),
            ("style", .string(style.rawValue)), ("id", .string(mine.userID)),
        ])
        if let theirs {
            guard theirs.key != mine.key else {
                throw Failure(
                    .usage, "the two cards are the same card",
                    hint: "give your own card and the other person's card")
            }
            digits = Fingerprint.safetyNumber(mine, theirs, style: style)
            record["with"] = .string(theirs.userID)
            record["safetyNumber"] = .string(digits)
        } else {
            digits = mine.digits
            record["key"] = .string(hex(mine.key))
            record["fingerprint"] = .string(digits)
        }
        self.record = record
    }
}
