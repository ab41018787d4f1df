/// Reed–Solomon codes over GF(256) with the polynomial x⁸ + x⁴ + x³ + x² + 1 (ISO/IEC 18004, §7.5).
enum ReedSolomon {
    private static let exponents: [UInt8] = {
        var (table, value) = ([UInt8](), 1)
        for _ in 0..<255 {
            table.append(UInt8(value))
            value <<= 1
            if value > 255 { value ^= 0x11D }
        }
        return table + table
    }()
    private static let logarithms: [Int] = {
        var table = [Int](repeating: 0, count: 256)
        for power in 0..<255 { table[Int(exponents[power])] = power }
        return table
    }()

    private static func product(_ a: UInt8, _ b: UInt8) -> UInt8 {
        a == 0 || b == 0 ? 0 : exponents[logarithms[Int(a)] + logarithms[Int(b)]]
    }

    /// `a` is not zero.
    private static func inverse(_ a: UInt8) -> UInt8 { exponents[255 - logarithms[Int(a)]] }

    /// Returns the value at α^`power` of a polynomial whose lowest coefficient is first.
    private static func value(_ polynomial: [UInt8], at power: Int) -> UInt8 {
        polynomial.reversed().reduce(0) { product($0, exponents[power % 255]) ^ $1 }
    }

    /// Corrects a block whose last `count` bytes are the error correction. Returns `nil` if it has too many errors.
    static func corrected(_ block: [UInt8], count: Int) -> [UInt8]? {
        let received = Array(block.reversed())
        let syndromes = (0..<count).map { value(received, at: $0) }
        if syndromes.allSatisfy({ $0 == 0 }) { return block }
        let locator = locator(of: syndromes)
        let errors = locator.count - 1
        guard errors * 2 <= count else { return nil }
        // The roots of the locator are the inverses of the positions (Chien's search).
        let places = received.indices.filter { value(locator, at: 255 - $0 % 255) == 0 }
        guard places.count == errors else { return nil }
        var evaluator = [UInt8](repeating: 0, count: count)
        for (i, a) in locator.enumerated() {
            for (j, b) in syndromes.enumerated() where i + j < count {
                evaluator[i + j] ^= product(a, b)
            }
        }
        var result = received
        for place in places {
            // Forney's formula; the derivative has the odd coefficients alone.
            let root = 255 - place % 255
            var slope: UInt8 = 0
            for (power, coefficient) in locator.enumerated() where power % 2 == 1 {
                slope ^= product(coefficient, exponents[root * (power - 1) % 255])
            }
            guard slope != 0 else { return nil }
            let size = product(value(evaluator, at: root), inverse(slope))
            result[place] ^= product(size, exponents[place % 255])
        }
        guard (0..<count).allSatisfy({ value(result, at: $0) == 0 }) else { return nil }
        return result.reversed()
    }

    /// Returns the polynomial of the positions of the errors (Berlekamp and Massey's algorithm).
    private static func locator(of syndromes: [UInt8]) -> [UInt8] {
        var (current, previous): ([UInt8], [UInt8]) = ([1], [1])
        var (length, shift, last): (Int, Int, UInt8) = (0, 1, 1)
        for step in syndromes.indices {
            var difference = syndromes[step]
            for place in 1..<max(1, length + 1) where place < current.count {
                difference ^= product(current[place], syndromes[step - place])
            }
            guard difference != 0 else {
                shift += 1
                continue
            }
            let before = current
            let factor = product(difference, inverse(last))
            let change = [UInt8](repeating: 0, count: shift) + previous.map { product($0, factor) }
            current += [UInt8](repeating: 0, count: max(0, change.count - current.count))
            for place in change.indices { current[place] ^= change[place] }
            if 2 * length <= step {
                (length, previous, last, shift) = (step + 1 - length, before, difference, 1)
            } else {
                shift += 1
            }
        }
        while current.count > 1, current.last == 0 { current.removeLast() }
        return current
    }
}
