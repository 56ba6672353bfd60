import NTApi
import Testing

@Suite struct JSONConcurrencyTests {
    private static let text =
        "{" + (0..<200).map { #""key\#($0)":[\#($0),{"name":"value \#($0)","ratio":\#($0).5}]"# }.joined(separator: ",")
        + "}"

    /// Many tasks read, write, compare and release one document. This is mainly for the thread sanitizer.
    @Test func oneDocumentManyReaders() async throws {
        let expected = Self.text
        let document = try JSON(parsing: Self.text)
        let sums = await withTaskGroup(of: Int.self, returning: [Int].self) { group in
            for task in 0..<16 {
                group.addTask {
                    var sum = 0
                    for round in 0..<50 {
                        let index = (task * 7 + round) % 200
                        sum += document[path: "key\(index)[1].name"]?.string == "value \(index)" ? 1 : 0
                        sum += document["key\(index)"]?[0]?.int == index ? 1 : 0
                        sum += document.keys.count == 200 ? 1 : 0
                        sum += round % 10 != 0 || document.text == expected ? 1 : 0
                        let copy: JSON = [document, document["key\(index)"] ?? .null]
                        sum += copy[0] == document ? 1 : 0
                    }
                    return sum
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(sums == Array(repeating: 250, count: 16))
    }

    @Test func manyDocumentsAtOnce() async {
        let allEqual = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<16 {
                group.addTask { (try? JSON(parsing: Self.text))?.text == Self.text }
            }
            return await group.allSatisfy { $0 }
        }
        #expect(allEqual)
    }
}
