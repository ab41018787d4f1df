import Sotto
import TestSupport
import Testing

struct IdentityTests {
    func failure(_ record: JSONObject) -> IdentityError? {
        do throws(IdentityError) {
            _ = try Identity(record: record)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: Wordlist.allCases)
    func anIdentityIsReadBackFromItsRecord(_ wordlist: Wordlist) throws {
        let words = Mnemonic(randomWordCount: 12, wordlist: wordlist)
        let made = Identity(mnemonic: words, name: "Žofie")
        let read = try Identity(record: JSON.object(parsing: made.record.serialized()))
        #expect(read.record == made.record)
        #expect(read.id == made.id && read.name == "Žofie" && read.isConsistent())
        #expect(try read.mnemonic().sentenceText() == words.sentenceText())
        #expect(read.card().record == made.card().record)
    }

    @Test func aMissingOrMalformedMemberIsNamed() {
        for name in ["type", "v", "sign", "age", "pq", "words"] {
            var record = People.alice.record
            record[name] = nil
            #expect(failure(record) == .member(name))
            record[name] = .bool(true)
            #expect(failure(record) == .member(name))
        }
        var record = People.alice.record
        record["language"] = .string("klingon")
        #expect(failure(record) == .member("language"))
    }

    @Test func aLaterVersionIsRefused() {
        var record = People.alice.record
        record["v"] = .integer(2)
        #expect(failure(record) == .version(2))
    }

    @Test func anIdThatDoesNotMatchTheKeysIsRefused() {
        var record = People.alice.record
        record["id"] = People.bob.record["id"]
        #expect(failure(record) == .inconsistent)
        record = People.alice.record
        record["sign"] = People.bob.record["sign"]
        #expect(failure(record) == .inconsistent)
    }

    @Test func exchangedKeysOrWordsAreFoundByIsConsistent() throws {
        for name in ["age", "pq", "words"] {
            var record = People.alice.record
            record[name] = People.bob.record[name]
            #expect(try !Identity(record: record).isConsistent(), "\(name)")
        }
    }

    @Test func anIdIs66CharactersInEitherCase() {
        let text = People.alice.id.description
        #expect(text.utf8.count == 66 && text.hasPrefix("05"))
        #expect(KeyID(text) == People.alice.id)
        #expect(KeyID("05" + text.dropFirst(2).uppercased()) == People.alice.id)
        for wrong in ["", "05", text + "0", String(text.dropLast()), "04" + text.dropFirst(2)] {
            #expect(KeyID(wrong) == nil)
        }
    }
}
