import CConfusables

/// Returns the skeleton of a text (UTS 39, section 4): in Normalization Form D, with each character replaced by its prototype,
/// and in Normalization Form D again. Texts that look alike have the same skeleton; case counts.
package func skeleton(of text: String) -> String {
    var prototypes = String.UnicodeScalarView()
    for scalar in nfd(text).unicodeScalars { append(prototypeOf: scalar, to: &prototypes) }
    return nfd(String(prototypes))
}

/// Appends the prototype of a character, or the character itself if it has none.
private func append(
    prototypeOf scalar: Unicode.Scalar, to text: inout String.UnicodeScalarView
) {
    let table = confusables
    let entries = UnsafeBufferPointer(start: table.entries, count: table.count)
    var (low, high) = (0, entries.count)
    while low < high {
        let middle = (low + high) / 2
        if entries[middle].scalar < scalar.value { low = middle + 1 } else { high = middle }
    }
    guard low < entries.count, entries[low].scalar == scalar.value else {
        return text.append(scalar)
    }
    let (start, count) = (Int(entries[low].start), Int(entries[low].count))
    for codePoint in UnsafeBufferPointer(start: table.prototypes + start, count: count) {
        // The table has no surrogate.
        text.append(Unicode.Scalar(codePoint)!)
    }
}
