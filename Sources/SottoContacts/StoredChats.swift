public import Sotto
import SottoState
import SottoTool

/// The chats that a command line names: by a file, or by a name in the state.
extension AddressBook {
    /// Returns the secret record of the chat that `argument` names: a file, a stored chat, or its id.
    ///
    /// An existing file is used, unless a stored chat has exactly that name too. Throws a failure with status 64 for a name that
    /// is both, and those of ``ChatFile/record(_:)``.
    public func chatRecord(_ argument: String) throws -> JSONObject {
        guard argument != "-", !argument.contains("/") else {
            return try ChatFile.record(argument)
        }
        let isFile = RecipientArgument.isFile(argument)
        let known = try isFile ? knownView { try $0.chats() } : view { try $0.chats() }
        guard let stored = known?.first(where: { $0.isChat(named: argument) }) else {
            return try ChatFile.record(argument)
        }
        guard !isFile else {
            throw Failure(
                .usage, "\(argument) is both a stored chat and a file",
                hint: "for the file use ./\(argument), for the chat its id")
        }
        return stored
    }

    /// Returns the secret record of the stored chat with a name or an id, or `nil`.
    package func storedChat(_ name: String) throws -> JSONObject? {
        try view { try $0.chats() }?.first { $0.isChat(named: name) }
    }

    /// Returns the chat that `argument` names, as ``chatRecord(_:)`` does.
    public func chat(_ argument: String) throws -> Chat {
        try Chat(record: chatRecord(argument))
    }

    /// Returns the secret records of the given chats, and of the stored ones if the identity was read.
    public func chatRecords(_ arguments: [String]) throws -> [JSONObject] {
        let given = try arguments.map { try chatRecord($0) }
        let stored = try knownView { try $0.chats() } ?? []
        return given + stored.filter { record in !given.contains { $0["id"] == record["id"] } }
    }

    /// Stores a chat under its name, which no other chat may have. Throws a failure with status 64.
    package func store(chat record: JSONObject) throws {
        let name = record["name"]?.string ?? ""
        guard try ContactName.checked(name) == name else {
            throw Failure(.usage, "the name begins or ends with a space")
        }
        try writableStore().transaction { transaction in
            let isTaken = try transaction.chats().contains {
                $0["id"] != record["id"] && $0.isChat(named: name)
            }
            guard !isTaken else {
                throw Failure(
                    .usage, "another stored chat has the name \(name)",
                    hint: "give another name with --name NAME")
            }
            try transaction.keep(chat: record)
        }
    }
}

extension JSONObject {
    /// Whether the record is that of the chat with a name or an id.
    fileprivate func isChat(named text: String) -> Bool {
        self["id"]?.string == text.lowercased()
            || NameRule.areSame(self["name"]?.string ?? "", text)
    }
}
