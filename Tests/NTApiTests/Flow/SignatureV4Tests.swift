import Testing

@testable import NTApi

/// The signing interceptor, against the test vectors that AWS has published.
@Suite struct SignatureV4Tests {
    struct Vector: Sendable, CustomTestStringConvertible {
        var name: String
        var method: String
        var target: String
        var headers: [(name: String, value: String)]
        var body: String
        /// The last part of the string to sign, after algorithm, date and scope.
        var canonicalHash: String
        var signature: String

        init(
            _ name: String, _ method: String, _ target: String, _ headers: [(String, String)], _ body: String,
            canonicalHash: String, signature: String
        ) {
            (self.name, self.method, self.target, self.headers) = (name, method, target, headers.map { ($0, $1) })
            (self.body, self.canonicalHash, self.signature) = (body, canonicalHash, signature)
        }

        var testDescription: String { name }

        /// The token in the suite's context. Other vectors have none.
        var token: String? {
            name.hasSuffix("with-session-token")
                ? "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267" : nil
        }
    }

    /// From the AWS Signature Version 4 Test Suite (Copyright 2019 Amazon.com, Inc. or its affiliates, Apache License
    /// 2.0), in the form in which botocore 1.34.0 contains it.
    static let vectors = [
        Vector(
            "get-vanilla", "GET", "/", [], "",
            canonicalHash: "bb579772317eb040ac9ed261061d46c1f17a8133879d6129b6e1c25292927e63",
            signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        Vector(
            "get-vanilla-query", "GET", "/", [], "",
            canonicalHash: "bb579772317eb040ac9ed261061d46c1f17a8133879d6129b6e1c25292927e63",
            signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        Vector(
            "get-vanilla-query-order-key", "GET", "/?Param1=value2&Param1=Value1", [], "",
            canonicalHash: "704b4cef673542d84cdff252633f065e8daeba5f168b77116f8b1bcaf3d38f89",
            signature: "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1"),
        Vector(
            "get-vanilla-query-order-key-case", "GET", "/?Param2=value2&Param1=value1", [], "",
            canonicalHash: "816cd5b414d056048ba4f7c5386d6e0533120fb1fcfa93762cf0fc39e2cf19e0",
            signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
        Vector(
            "get-vanilla-query-order-value", "GET", "/?Param1=value2&Param1=value1", [], "",
            canonicalHash: "c968629d70850097a2d8781c9bf7edcb988b04cac14cca9be4acc3595f884606",
            signature: "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694"),
        Vector(
            "get-vanilla-query-order-encoded", "GET", "/?Param-3=Value3&Param=Value2&%E1%88%B4=Value1", [], "",
            canonicalHash: "868294f5c38bd141c4972a373a76654f1418a8e4fc18b2e7903ae45e8ae0ec71",
            signature: "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"),
        Vector(
            "get-vanilla-query-unreserved", "GET",
            "/?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
            [], "",
            canonicalHash: "c30d4703d9f799439be92736156d47ccfb2d879ddf56f5befa6d1d6aab979177",
            signature: "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"),
        Vector(
            "get-vanilla-utf8-query", "GET", "/?ሴ=bar", [], "",
            canonicalHash: "eb30c5bed55734080471a834cc727ae56beb50e5f39d1bff6d0d38cb192a7073",
            signature: "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"),
        Vector(
            "get-vanilla-empty-query-key", "GET", "/?Param1=value1", [], "",
            canonicalHash: "1e24db194ed7d0eec2de28d7369675a243488e08526e8c1c73571282f7c517ab",
            signature: "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"),
        Vector(
            "get-vanilla-with-session-token", "GET", "/", [], "",
            canonicalHash: "067b36aa60031588cea4a4cde1f21215227a047690c72247f1d70b32fbbfad2b",
            signature: "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"),
        Vector(
            "get-unreserved", "GET", "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", [], "",
            canonicalHash: "6a968768eefaa713e2a6b16b589a8ea192661f098f37349f4e2c0082757446f9",
            signature: "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"),
        Vector(
            "get-header-value-trim", "GET", "/", [("My-Header1", " value1"), ("My-Header2", " \"a   b   c\"")], "",
            canonicalHash: "a726db9b0df21c14f559d0a978e563112acb1b9e05476f0a6a1c7d68f28605c7",
            signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"),
        Vector(
            "post-vanilla", "POST", "/", [], "",
            canonicalHash: "553f88c9e4d10fc9e109e2aeb65f030801b70c2f6468faca261d401ae622fc87",
            signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        Vector(
            "post-vanilla-query", "POST", "/?Param1=value1", [], "",
            canonicalHash: "9d659678c1756bb3113e2ce898845a0a79dbbc57b740555917687f1b3340fbbd",
            signature: "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"),
        Vector(
            "post-vanilla-empty-query-value", "POST", "/?Param1=value1", [], "",
            canonicalHash: "9d659678c1756bb3113e2ce898845a0a79dbbc57b740555917687f1b3340fbbd",
            signature: "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"),
        Vector(
            "post-header-key-sort", "POST", "/", [("My-Header1", "value1")], "",
            canonicalHash: "9368318c2967cf6de74404b30c65a91e8f6253e0a8659d6d5319f1a812f87d65",
            signature: "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"),
        Vector(
            "post-x-www-form-urlencoded", "POST", "/", [("Content-Type", "application/x-www-form-urlencoded")],
            "Param1=value1",
            canonicalHash: "42a5e5bb34198acb3e84da4f085bb7927f2bc277ca766e6d19c73c2154021281",
            signature: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"),
        Vector(
            "post-x-www-form-urlencoded-parameters", "POST", "/",
            [("Content-Type", "application/x-www-form-urlencoded; charset=utf8")], "Param1=value1",
            canonicalHash: "2e1cf7ed91881a30569e46552437e4156c823447bf1781b921b5d486c568dd1c",
            signature: "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe"),
    ]

    static let canonical = [
        "get-vanilla": """
        GET
        /

        host:example.amazonaws.com
        x-amz-date:20150830T123600Z

        host;x-amz-date
        e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
        """,
        "get-vanilla-query-order-key-case": """
        GET
        /
        Param1=value1&Param2=value2
        host:example.amazonaws.com
        x-amz-date:20150830T123600Z

        host;x-amz-date
        e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
        """,
        "get-header-value-trim": """
        GET
        /

        host:example.amazonaws.com
        my-header1:value1
        my-header2:"a b c"
        x-amz-date:20150830T123600Z

        host;my-header1;my-header2;x-amz-date
        e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
        """,
        "post-x-www-form-urlencoded": """
        POST
        /

        content-type:application/x-www-form-urlencoded
        host:example.amazonaws.com
        x-amz-date:20150830T123600Z

        content-type;host;x-amz-date
        9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e
        """,
    ]

    private let intercepted = InterceptedStub()
    private let date = "20150830T123600Z"
    private let scope = "20150830/us-east-1/service/aws4_request"

    private func signer(_ token: String? = nil) -> SignatureV4 {
        SignatureV4(
            accessKey: "AKIDEXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", sessionToken: token,
            region: "us-east-1", service: "service", date: { [date] in date })
    }

    /// The bytes that are signed are the bytes that are sent.
    @Test(arguments: vectors) func aPublishedVector(_ vector: Vector) async throws {
        intercepted.stub.on(nil).answer { _ in .json([:]) }
        let client = intercepted.client([
            Interceptor(.attempt) { call in
                // The client has set its own values. Replace them by those of the vector.
                var request = call.request
                request.method = vector.method
                request.url = "https://example.amazonaws.com\(vector.target)"
                request.headers = HTTPHeaders(vector.headers)
                request.body = vector.body.isEmpty ? .none : .bytes(Array(vector.body.utf8))
                let signer = self.signer(vector.token)
                signer.sign(&request)
                let canonical = signer.canonical(request).text
                if let text = Self.canonical[vector.name] { #expect(canonical == text) }
                #expect(
                    signer.stringToSign(canonical, date, scope)
                        == "AWS4-HMAC-SHA256\n\(date)\n\(scope)\n\(vector.canonicalHash)")
                return try await call.next(request)
            }
        ])
        #expect(await client.response("").error == nil)
        let sent = try #require(intercepted.stub.requests.first)
        let value = try #require(sent.headers["Authorization"])
        #expect(value.hasPrefix("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/\(scope), SignedHeaders="))
        #expect(value.hasSuffix(", Signature=\(vector.signature)"))
        #expect(sent.headers["X-Amz-Date"] == date && sent.text == vector.body)
    }

    /// Each attempt has its own date. A request to another origin is not signed.
    @Test func eachAttemptIsSignedAnew() async throws {
        let stub = intercepted.stub
        stub.on("GET", "https://api.example/v1/page").answer(
            .status(503), intercepted.redirect(302, to: "https://other.example/page"))
        stub.on("GET", "https://other.example/page").answer(.json([:]))
        var signer = self.signer()
        let minutes = Lock(0)
        signer.date = { "20150830T12\(minutes.withLock { minutes in exchange(&minutes, with: minutes + 1) } + 10)00Z" }
        let client = intercepted.client([signer.interceptor], [.retry(RetryPolicy(base: 0))])
        #expect(await client.response("page").error == nil)
        #expect(stub.requests.map { $0.headers["X-Amz-Date"] } == ["20150830T121000Z", "20150830T121100Z", nil])
        let signatures = stub.requests.map { $0.headers["Authorization"] }
        #expect(signatures[0] != nil && signatures[1] != nil && signatures[0] != signatures[1] && signatures[2] == nil)
    }
}
