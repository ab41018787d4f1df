import Glibc

/// Returns a number with this many decimals, without a minus sign before zero.
func decimal(_ value: Double, places: Int) -> String {
    let scale = pow(10, Double(places))
    let whole = Int((abs(value) * scale).rounded())
    let sign = value < 0 && whole > 0 ? "-" : ""
    let digits = String(whole / Int(scale))
    guard places > 0 else { return sign + digits }
    let rest = String(whole % Int(scale))
    return sign + digits + "." + String(repeating: "0", count: places - rest.count) + rest
}

/// Returns a whole number with a comma before each three digits.
func grouped(_ value: Double) -> String {
    var text = ""
    for (place, digit) in String(Int(value.rounded())).reversed().enumerated() {
        if place > 0 && place % 3 == 0 && digit != "-" { text.append(",") }
        text.append(digit)
    }
    return String(text.reversed())
}

/// Returns a number with three digits, or as a whole number from 100 on, or with three decimals below 0.1.
func figure(_ value: Double) -> String {
    switch abs(value) {
    case 99.95...: grouped(value)
    case 9.995...: decimal(value, places: 1)
    case 0.0995...: decimal(value, places: 2)
    default: decimal(value, places: 3)
    }
}

/// Returns a time with its unit: µs, ms or s.
func time(_ seconds: Double) -> String {
    switch seconds {
    case 0.9995...: figure(seconds) + " s"
    case 0.000_999_5...: figure(seconds * 1000) + " ms"
    default: figure(seconds * 1_000_000) + " µs"
    }
}
