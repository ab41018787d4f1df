import Glibc
import Sotto
import SottoBytes

/// `group-fold < LOG`: folds an abstract log of group changes, to compare the rules with another implementation.
///
/// Each line is `{"id","by","parents":[ids],"act","who","rank","add","door"}`, in any order; `rank` and `add` are 0 to 5.
/// It prints `{"ranks":{member:rank},"add","door","power":{id:rank}}` for the changes that the rules store.
@main
struct GroupFoldBench {
    /// A change as it was read.
    struct Line {
        let id: String
        let by: String
        let parents: [String]
        let act: String
        let who: String
        let rank: GroupRank
        let policy: GroupRules.Policy
        let door: [UInt8]

        /// Reads a line, or returns `nil`.
        init?(_ text: String) {
            guard let object = try? JSON.object(parsing: Array(text.utf8)),
                let id = object["id"]?.string, let by = object["by"]?.string,
                let act = object["act"]?.string
            else { return nil }
            func rank(_ name: String) -> GroupRank {
                GroupRank(rawValue: Int(object[name]?.integer ?? 0)) ?? .nobody
            }
            (self.id, self.by, self.act) = (id, by, act)
            parents = (object["parents"]?.array ?? []).compactMap(\.string)
            who = object["who"]?.string ?? ""
            self.rank = rank("rank")
            door = Array((object["door"]?.string ?? "").utf8)
            policy = GroupRules.Policy(add: rank("add"), door: door.isEmpty ? nil : door)
        }
    }

    static func main() {
        var lines: [Line] = []
        while let text = readLine() {
            if text.isEmpty { continue }
            guard let line = Line(text) else {
                print("group-fold: a line is not a change")
                exit(65)
            }
            lines.append(line)
        }
        var names: [String] = []
        var numbers: [String: Int] = [:]
        func number(of name: String) -> Int {
            if let number = numbers[name] { return number }
            numbers[name] = names.count
            names.append(name)
            return names.count - 1
        }
        var rules = GroupRules()
        var stored: [String: Int] = [:]
        var ids: [String] = []
        var waiting = lines
        var hasProgressed = true
        while hasProgressed {
            hasProgressed = false
            var later: [Line] = []
            for line in waiting {
                let parents = line.parents.compactMap { stored[$0] }
                guard stored[line.id] == nil else { continue }
                guard parents.count == line.parents.count else {
                    later.append(line)
                    continue
                }
                let change = GroupRules.Change(
                    author: number(of: line.by), act: act(of: line, number(of: line.who)))
                if let place = rules.add(change, parents: parents) {
                    stored[line.id] = place
                    ids.append(line.id)
                    hasProgressed = true
                }
            }
            waiting = later
        }
        let fold = GroupFold(rules)
        let ranks = JSONObject(
            fold.ranks.enumerated().map { number, rank in
                (names[number], rank > .nobody ? .integer(Int64(rank.rawValue)) : nil)
            })
        let power = JSONObject(
            ids.enumerated().map { place, id in
                (id, .integer(Int64(fold.power[place].rawValue)))
            })
        let policy = fold.policy
        let result: JSONObject = [
            "ranks": .object(ranks), "add": .integer(Int64(policy.add.rawValue)),
            "door": .string(String(decoding: policy.door ?? [], as: UTF8.self)),
            "power": .object(power),
        ]
        print(String(decoding: JSON.object(result).canonical(), as: UTF8.self))
    }

    static func act(of line: Line, _ who: Int) -> GroupRules.Act {
        switch line.act {
        case "create": .create(line.policy)
        case "invite": .invite([who], line.rank)
        case "join": .join
        case "door-join": .doorJoin(door: line.door)
        case "leave": .leave
        case "remove": .remove([who])
        case "ban": .ban([who])
        case "role": .role(who, line.rank)
        case "policy": .policy(line.policy)
        case "set": .set
        default: .other
        }
    }
}
