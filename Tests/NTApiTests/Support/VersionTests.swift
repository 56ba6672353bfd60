import NTApi
import Testing

@Test func versionIsSemantic() {
    #expect(ntapiVersion.split(separator: ".").count == 3)
}
