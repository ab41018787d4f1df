import Sotto
import Testing

struct FieldsTests {
    private let fields = Fields<FieldError>([
        "type": .string("thing"), "v": .integer(1), "key": .base64([1, 2, 3]),
        "hex": .string("0A0b"), "count": .integer(300), "null": .null, "text": .string(""),
        "list": .array([.integer(1), .integer(2)]), "object": .object(["key": .base64([7])]),
        "id": .string("05" + String(repeating: "ab", count: 32)),
        "time": .string("2026-11-22T10:00:00Z"),
    ])

    @Test func membersAreRead() throws {
        try fields.header("thing")
        #expect(try fields["key"].bytes(count: 3) == [1, 2, 3])
        #expect(try fields["key"].secret(count: 3).withBytes { Array($0) } == [1, 2, 3])
        #expect(try fields["hex"].hexBytes(count: 2) == [10, 11])
        #expect(try fields["count"].integer(in: 1...300) == 300)
        #expect(try fields["text"].text() == "")
        #expect(try fields["object"].members()["key"].bytes() == [7])
        #expect(try fields["id"].keyID().publicKey == [UInt8](repeating: 0xAB, count: 32))
        #expect(try fields["time"].time().description == "2026-11-22T10:00:00Z")
        let list: [Int] = try fields["list"].list { (field) throws(FieldError) in
            try field.integer()
        }
        #expect(list == [1, 2])
    }

    @Test func absentAndNullDiffer() {
        #expect(fields["none"].optional == nil && fields["none"].nullable == nil)
        #expect(fields["null"].optional != nil && fields["null"].nullable == nil)
        #expect(throws: FieldError.member("null")) { try fields["null"].optional?.text() }
        #expect(throws: FieldError.member("none")) { try fields["none"].text() }
    }

    @Test func errorsNameTheMember() {
        #expect(throws: FieldError.member("type")) { try fields.header("other") }
        #expect(throws: FieldError.member("none")) { try fields.version("none") }
        #expect(throws: FieldError.member("key")) { try fields["key"].bytes(count: 4) }
        #expect(throws: FieldError.member("key")) { _ = try fields["key"].secret(count: 2) }
        #expect(throws: FieldError.member("hex")) { try fields["hex"].hexBytes(count: 3) }
        #expect(throws: FieldError.member("hex")) { try fields["hex"].keyID() }
        #expect(throws: FieldError.member("count")) { try fields["count"].integer() as UInt8 }
        #expect(throws: FieldError.member("count")) { try fields["count"].integer(in: 0...299) }
        // The elements of an array and the members of an object, too.
        #expect(throws: FieldError.member("list")) {
            try fields["list"].list { (field) throws(FieldError) in try field.text() }
        }
        #expect(throws: FieldError.member("list")) {
            try fields["list"].list(counts: 3...4) { (field) throws(FieldError) in field.name }
        }
        #expect(throws: FieldError.member("object")) {
            try fields["object"].object { (fields) throws(FieldError) in
                try fields["other"].bytes()
            }
        }
        #expect(throws: FieldError.member("other")) {
            try fields["object"].members()["other"].bytes()
        }
    }

    @Test func aLaterVersionIsNamed() {
        #expect(throws: CardError.version(2)) {
            try Fields<CardError>(["type": .string("a"), "v": .integer(2)]).header("a")
        }
    }
}
