/// A number for people, of seconds say: at most three decimals, without the zeros at the end.
func decimal(_ number: Double) -> String {
    guard let thousandths = Int64(exactly: (number * 1000).rounded()), thousandths >= 0 else { return "\(number)" }
    let fraction = thousandths % 1000
    guard fraction > 0 else { return "\(thousandths / 1000)" }
    var digits = String(fraction + 1000).dropFirst()
    while digits.last == "0" { digits = digits.dropLast() }
    return "\(thousandths / 1000).\(digits)"
}
