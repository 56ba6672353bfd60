import Testing

@testable import NTApi

@Suite struct APIArgTests {
    @Test(arguments: [
        (APIArg.url("q", "London"), #"url("q", "London")"#),
        (.query("q", "London"), #"url("q", "London")"#),
        (.url("q", "a\"b\\\n\u{1}"), #"url("q", "a\"b\\\n\u{1}")"#),
        (.url("api_key", "s3cr3t"), #"url("api_key", <redacted>)"#),
        (.url("q", "s3cr3t").secret, #"url("q", <redacted>)"#),
        (.path("token", "s3cr3t"), #"path("token", <redacted>)"#),
        (.form("password", "s3cr3t"), #"form("password", <redacted>)"#),
        (.multipart("a", "b"), #"multipart("a", "b")"#),
        (.multipart("passwd", "s3cr3t"), #"multipart("passwd", <redacted>)"#),
        (.multipart("a", data: [1, 2], fileExtension: "png"), #"multipart("a", 2 bytes, filename: "a.png")"#),
        (.multipart("a", file: "/x/y"), #"multipart("a", file: "/x/y", filename: "y")"#),
        (.data([1, 2], contentType: "a/b"), #"data(2 bytes, "a/b")"#),
        (.data([1, 2]).secret, "data(<redacted>)"),
        (.json(["password": "s3cr3t", "a": 1]), #"json({"password":"<redacted>","a":1})"#),
        (.json("s3cr3t").secret, "json(<redacted>)"),
        (.file("/x"), #"file("/x")"#),
        (.stream(BodyStream(length: 3) { _ in 0 }), "stream(3 bytes)"),
        (.stream(BodyStream { _ in 0 }, contentType: "a/b"), #"stream(unknown length, "a/b")"#),
        (.baseURL("http://u:s3cr3t@h/?token=s3cr3t"), #"baseURL("http://<redacted>@h/?token=<redacted>")"#),
        (.header("Accept", "a"), #"header("Accept", "a")"#),
        (.header("Authorization", "s3cr3t"), #"header("Authorization", <redacted>)"#),
        (.addHeader("cookie", "s3cr3t"), #"addHeader("cookie", <redacted>)"#),
        (.basicAuth("s3cr3t", "s3cr3t"), "basicAuth(<redacted>, <redacted>)"),
        (.bearer("s3cr3t"), "bearer(<redacted>)"),
        (.timeout(1.5), "timeout(1.5)"),
        (.timeout(2, .total), "timeout(2.0, .total)"),
        (.method("PUT"), #"method("PUT")"#),
        (.cachePolicy(.protocol), "cachePolicy(.protocol)"),
        (.option(.rawData), #"option("raw_data")"#),
        (.option("mine", 5), #"option("mine", "5")"#),
        (.option("secret_thing", "s3cr3t"), #"option("secret_thing", <redacted>)"#),
        (
            .handlers([.response, .uploadProgress], on: .background),
            "handlers([.response, .uploadProgress], on: .background)"
        ),
        (.url("q", Double.nan), #"invalid(the value of "q" is not a finite number)"#),
    ]) func printsItselfWithoutSecrets(_ arg: APIArg, _ expected: String) {
        #expect("\(arg)" == expected)
        #expect(!"\(arg)".containsSubstring("s3cr3t"))
    }

    // MARK: From JSON

    @Test func readsEveryKind() throws {
        let args = try APIArg.list(
            parsing: """
                [["url","q","a b"],["url","n",20],["url","d",0.5],["url","b",true],["url","none",null],["path","p","x"],
                 ["form","f","1"],["multipart","m","1"],["multipart_data","d",{"base64":"AQI=","extension":"png"}],
                 ["multipart_data","d",{"text":"é","filename":"x","content_type":"a/b"}],["multipart_data","d",null],
                 ["multipart_file","f",{"path":"/x/y","filename":"z"}],["data",{"text":"x"}],["data",null],["json",null],
                 ["json",{"a":1}],["file",{"path":"/x","content_type":"a/b"}],["file",null],["base_url","http://h"],
                 ["header","A","b"],["add_header","A","c"],["basic_auth","u","p"],["bearer","t"],["timeout",5],
                 ["timeout",0.5,"total"],["method","PUT"],["cache_policy","reload_ignoring_cache"],["option","raw_data"],
                 ["option","mine",3],["response_thread","main"],["upload_progress_thread","current"],
                 ["download_progress_thread","background"],["bearer",null],["timeout",null],
                 ["url","big",18446744073709551617],["form","long",1.123456789012345678]]
                """)
        #expect(
            args.map { "\($0)" } == [
                #"url("q", "a b")"#, #"url("n", "20")"#, #"url("d", "0.5")"#, #"url("b", "true")"#, "suppressed",
                #"path("p", "x")"#, #"form("f", "1")"#, #"multipart("m", "1")"#,
                #"multipart("d", 2 bytes, filename: "d.png")"#, #"multipart("d", 2 bytes, filename: "x", "a/b")"#,
                "suppressed", #"multipart("f", file: "/x/y", filename: "z")"#,
                #"data(1 bytes)"#, "suppressed", "json(null)", #"json({"a":1})"#, #"file("/x", "a/b")"#, "suppressed",
                #"baseURL("http://h")"#, #"header("A", "b")"#, #"addHeader("A", "c")"#,
                "basicAuth(<redacted>, <redacted>)",
                "bearer(<redacted>)", "timeout(5.0)", "timeout(0.5, .total)", #"method("PUT")"#,
                "cachePolicy(.reload_ignoring_cache)", #"option("raw_data")"#, #"option("mine", "3")"#,
                "handlers([.response], on: .main)", "handlers([.uploadProgress], on: .current)",
                "handlers([.downloadProgress], on: .background)", "suppressed", "suppressed",
                #"url("big", "18446744073709551617")"#, #"form("long", "1.123456789012345678")"#,
            ])
    }

    @Test(arguments: [
        ("", "not JSON"), ("[", "not JSON"), ("{}", "array of arrays"), ("5", "array of arrays"), ("[5]", "arg 0"),
        ("[[]]", "arg 0"), ("[[5]]", "arg 0"), (#"[["url","a","b"],["nope"]]"#, "arg 1 (nope)"),
        (#"[["url"]]"#, "2 value"), (#"[["url","a"]]"#, "2 value"), (#"[["url","a","b","c"]]"#, "2 value"),
        (#"[["url",5,"b"]]"#, "name"), (#"[["url","a",[]]]"#, "string, a number"), (#"[["form","a",{}]]"#, "string"),
        (#"[["multipart_data","a",{}]]"#, "base64"), (#"[["multipart_data","a",{"base64":"?"}]]"#, "base64"),
        (#"[["multipart_data","a","b"]]"#, "object"), (#"[["multipart_file","a",{}]]"#, "path"),
        (#"[["data"]]"#, "1 value"), (#"[["data",{},{}]]"#, "1 value"), (#"[["data",{"base64":5}]]"#, "base64"),
        (#"[["json"]]"#, "1 value"), (#"[["json",1,2]]"#, "1 value"), (#"[["file",{"path":5}]]"#, "path"),
        (#"[["base_url"]]"#, "value"), (#"[["base_url",5]]"#, "string"), (#"[["base_url","a","b"]]"#, "value"),
        (#"[["header","a"]]"#, "2 value"), (#"[["basic_auth","a"]]"#, "2 value"), (#"[["bearer",5]]"#, "string"),
        (#"[["bearer","a","b"]]"#, "value"), (#"[["timeout"]]"#, "value"), (#"[["timeout","5"]]"#, "number"),
        (#"[["timeout",5,"lunch"]]"#, "lunch"), (#"[["timeout",5,null]]"#, "null"),
        (#"[["timeout",1,"idle",3]]"#, "value"),
        (#"[["method",5]]"#, "string"), (#"[["method","GET","x"]]"#, "value"), (#"[["cache_policy","nope"]]"#, "nope"),
        (#"[["cache_policy"]]"#, "value"), (#"[["option"]]"#, "value"), (#"[["option",5]]"#, "string"),
        (#"[["option","a",[]]]"#, "string"), (#"[["response_thread","moon"]]"#, "moon"),
        (#"[["response_thread"]]"#, "value"),
        (#"[["response_thread","main","x"]]"#, "value"), (#"[["stream","x"]]"#, "no arg of this kind"),
    ]) func saysWhatIsWrong(_ text: String, _ says: String) throws {
        let error = try #require(thrown { _ = try APIArg.list(parsing: text) })
        #expect(error.code == .invalidRequest && error.domain == .request)
        #expect(error.message.containsSubstring(says), "\(error.message)")
    }
}
