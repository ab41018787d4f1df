/// Returns the words about received files that relays delete within two days, and the commands that save them; `nil` without one.
/// `numbers` are those of the messages. `option` has the option of the identity after a space.
package func warning(ofFiles numbers: [Int64], option: String) -> String? {
    guard !numbers.isEmpty else { return nil }
    let most = 5
    let commands = numbers.prefix(most).map { "sotto save\(option) \($0)" }
    let which =
        numbers.count > most ? "the first \(most)" : numbers.count == 1 ? "it" : "them"
    return counted(numbers.count, "file") + (numbers.count == 1 ? " expires" : " expire")
        + " within two days; to save \(which): " + commands.joined(separator: " && ")
}
